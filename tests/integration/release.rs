//! What a release is made with: the archive that the action unpacks, one version in all files, what the crate holds.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest as _, Sha256};

use crate::command::root;
use crate::downloads::served_from;

const TARGETS: [&str; 5] = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-linux-musl",
];

/// The files that name the version, in a place where they may change.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in [
        ".ci/version",
        ".ci/package",
        ".github/action/run.sh",
        ".github/action/checksums.txt",
        "Cargo.toml",
        "Cargo.lock",
        "Containerfile",
        "CHANGELOG.md",
        "docs/azure/install.yml",
        "docs/gitlab/scoregate.gitlab-ci.yml",
        "README.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "schema/scoregate.schema.json",
    ] {
        let to = folder.path().join(name);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        // By a process of its own, so that a script is not "busy" when it is started.
        assert!(Command::new("cp").arg(root().join(name)).arg(&to).status().expect("cp").success());
    }
    std::fs::create_dir_all(folder.path().join("azure/task/node_modules/x")).expect("a folder");
    let task = "{\n  \"version\": {\n    \"Major\": 0,\n    \"Minor\": \"1\",\n    \"Patch\": 0\n  },\n  \"defaultValue\": \"https://github.com/octo-org/scoregate/releases/download\"\n}\n";
    std::fs::write(folder.path().join("azure/task/task.json"), task).expect("a file");
    std::fs::write(folder.path().join("azure/task/node_modules/x/task.json"), "{}").expect("a file");
    std::fs::write(
        folder.path().join("azure/vss-extension.json"),
        "{\n  \"publisher\": \"octo-org\",\n  \"version\": \"0.1.0\"\n}\n",
    )
    .expect("a file");
    folder
}

fn script(folder: &Path, name: &str, arguments: &[&str]) -> Output {
    Command::new(folder.join(".ci").join(name)).args(arguments).current_dir(folder).output().expect("a script")
}

fn version(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let output = script(folder, "version", arguments);
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn one_script_writes_the_version_everywhere() {
    let folder = checkout();
    let place = folder.path();
    assert!(version(place, &["--check"]).0);
    let (fine, said) = version(place, &["--check", "0.2.0"]);
    assert!(!fine && said.contains("Cargo.toml says 0.1.0, not 0.2.0") && said.contains("CHANGELOG.md"), "{said}");
    for wrong in ["latest", "1.0", "v0.2.0"] {
        assert!(!version(place, &[wrong]).0, "{wrong}");
    }

    let (fine, said) = version(place, &["0.2.0"]);
    assert!(fine, "{said}");
    assert!(version(place, &["--check", "0.2.0"]).0);
    assert!(read(place.join("Cargo.toml")).contains("\nversion = \"0.2.0\"\n"));
    assert!(read(place.join("Cargo.lock")).contains("name = \"scoregate\"\nversion = \"0.2.0\"\n"));
    assert!(read(place.join(".github/action/run.sh")).contains("\nPINNED_VERSION=0.2.0\n"));
    assert!(read(place.join("Containerfile")).contains("\nARG VERSION=0.2.0\n"));
    assert!(read(place.join("azure/vss-extension.json")).contains("\"version\": \"0.2.0\""));
    assert!(read(place.join("docs/azure/install.yml")).contains("      VERSION: 0.2.0\n"));
    assert!(read(place.join("docs/gitlab/scoregate.gitlab-ci.yml")).contains("  SCOREGATE_VERSION: \"0.2.0\"\n"));
    let task = read(place.join("azure/task/task.json"));
    assert!(task.contains("\"Major\": 0") && task.contains("\"Minor\": 2") && task.contains("\"Patch\": 0"), "{task}");
    assert_eq!(read(place.join("azure/task/node_modules/x/task.json")), "{}");
    let changelog = read(place.join("CHANGELOG.md"));
    assert!(changelog.contains("## Unreleased\n\n## 0.2.0 (20"), "{changelog}");

    // A file that was forgotten is named.
    std::fs::write(
        place.join("azure/vss-extension.json"),
        "{\n  \"publisher\": \"octo-org\",\n  \"version\": \"0.1.0\"\n}\n",
    )
    .expect("a file");
    let (fine, said) = version(place, &["--check"]);
    assert!(!fine && said.contains("azure/vss-extension.json says 0.1.0, not 0.2.0"), "{said}");

    let here = "https://github.com/octo-org/scoregate";
    let (fine, said) = version(place, &["--check", "--repository", here]);
    assert!(!fine && said.contains("--repository"), "{said}");
    for (address, publisher) in [("https://example.org/a/b", "a"), (here, "octo-org")] {
        assert!(version(place, &["--repository", address]).0);
        let task = read(place.join("azure/task/task.json"));
        assert!(task.contains(&format!("\"{address}/releases/download\"")), "{task}");
        let extension = read(place.join("azure/vss-extension.json"));
        assert!(extension.contains(&format!("\"publisher\": \"{publisher}\"")), "{extension}");
        assert_eq!(read(place.join("Cargo.toml")).matches("\nrepository = ").count(), 1);
    }
    assert!(!version(place, &["--repository", "git@github.com:a/b"]).0);
}

#[test]
fn checksums_are_added_whole_and_once() {
    let folder = checkout();
    let sums = |targets: &[&str]| {
        let line = |target: &&str| format!("{}  scoregate-0.1.0-{target}.tar.gz\n", "ab".repeat(32));
        let text: String = targets.iter().map(line).collect();
        std::fs::write(folder.path().join("SHA256SUMS"), text + &format!("{}  scoregate.cdx.json\n", "cd".repeat(32)))
            .expect("a file");
        version(folder.path(), &["--checksums", "SHA256SUMS"])
    };
    let (fine, said) = sums(&TARGETS[1..]);
    assert!(!fine && said.contains("are needed"), "{said}");
    assert!(sums(&TARGETS).0);
    let table = read(folder.path().join(".github/action/checksums.txt"));
    assert_eq!(table.lines().filter(|line| line.contains("scoregate-0.1.0-")).count(), 5, "{table}");
    assert!(!table.contains("No release has been published"), "{table}");
    let (fine, said) = sums(&TARGETS);
    assert!(!fine && said.contains("does not change"), "{said}");
}

/// From the packed binary to the step that runs it: what `.ci/package` makes is what the action takes.
#[test]
fn the_action_runs_what_a_release_holds() {
    let folder = checkout();
    let place = folder.path();
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    let target = format!("{}-{system}", std::env::consts::ARCH);
    let packed = script(place, "package", &[&target, "--binary", env!("CARGO_BIN_EXE_scoregate")]);
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let asset = format!("scoregate-0.1.0-{target}.tar.gz");
    let archive = place.join("dist").join(&asset);
    let listed = Command::new("tar").arg("-tzf").arg(&archive).output().expect("tar").stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    for name in [
        "scoregate\n",
        "LICENSE-MIT\n",
        "README.md\n",
        "completions/_scoregate\n",
        "completions/scoregate.bash\n",
        "man/scoregate-run.1\n",
        "schema/scoregate.schema.json\n",
    ] {
        assert!(listed.contains(name), "{name} is not in\n{listed}");
    }

    let bytes = std::fs::read(&archive).expect("the archive");
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::write(place.join(".github/action/checksums.txt"), format!("{digest}  {asset}\n")).expect("a file");
    std::fs::create_dir_all(place.join("releases/v0.1.0")).expect("a folder");
    std::fs::copy(&archive, place.join("releases/v0.1.0").join(&asset)).expect("a copy");
    let releases = format!("file://{}/releases", place.display());
    let output = Command::new("bash")
        .arg(place.join(".github/action/run.sh"))
        .current_dir(root())
        .env_clear()
        .env("PATH", served_from(place, &releases, &std::env::var("PATH").unwrap_or_default()))
        .env("RUNNER_TEMP", place)
        .env("SCOREGATE_ACTION_REPOSITORY", "octo-org/scoregate")
        .env("SCOREGATE_ACTION_SUITE", "fixtures/quickstart/scoregate.yaml")
        .env("SCOREGATE_ACTION_OUT", place.join("reports"))
        .output()
        .expect("the script");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("✓ passed") && place.join("reports/junit.xml").is_file(), "{said}");
}

/// The workflow builds what the script adds, the action looks for and `cargo binstall` fetches.
#[test]
fn workflow_script_and_manifest_agree() {
    let workflow = read(root().join(".github/workflows/release.yml"));
    let script = read(root().join(".ci/version"));
    let action = read(root().join(".github/action/run.sh"));
    for target in TARGETS {
        assert_eq!(workflow.matches(&format!("target: {target},")).count(), 1, "{target}");
        assert!(script.contains(&format!("\"{target}\"")), "{target}");
        let (_, system) = target.split_once('-').expect("a target");
        assert!(action.contains(&format!("$machine-{system}")), "{target}");
    }
    let manifest = read(root().join("Cargo.toml"));
    assert!(
        manifest
            .contains("pkg-url = \"{ repo }/releases/download/v{ version }/{ name }-{ version }-{ target }.tar.gz\"")
    );
    assert!(
        action.contains("releases/download/v$2/$3") && action.contains("asset=\"scoregate-$version-$target.tar.gz\"")
    );
}

/// `cargo install` builds from what the crate holds: files that the source includes are among them.
#[test]
fn the_crate_holds_all_that_it_is_built_from() {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    let held: std::collections::BTreeSet<&str> = list.lines().collect();
    for name in
        ["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "schema/scoregate.schema.json", "src/main.rs"]
    {
        assert!(held.contains(name), "{name} is not in\n{list}");
    }
    assert!(!held.iter().any(|name| name.starts_with("fixtures/") || name.starts_with(".ci/")), "{list}");
    let mut included = 0;
    for name in held.iter().filter(|name| name.ends_with(".rs")) {
        let text = read(root().join(name));
        // What only tests include need not be there.
        let text = if name.contains("tests") { "" } else { text.split("#[cfg(test)]").next().unwrap_or_default() };
        for macro_name in ["include_str!(\"", "include_bytes!(\""] {
            for rest in text.split(macro_name).skip(1) {
                let file = rest.split('"').next().unwrap_or_default();
                let path = root().join(name).parent().expect("a folder").join(file);
                let path = path.canonicalize().unwrap_or_else(|_| panic!("{name} includes {file}"));
                let path = path.strip_prefix(root().canonicalize().expect("the root")).expect("below the root");
                assert!(held.contains(path.to_str().expect("UTF-8")), "{name} includes {file}");
                included += 1;
            }
        }
    }
    assert!(included > 5, "{included} files");
}
