//! The pipelines that the documents show for other hosts: files that a page shows, commands that exist, scripts that do what they say.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_yaml::Value;

use crate::command::root;

const HOSTS: [&str; 5] = ["azure", "gitlab", "bitbucket", "buildkite", "jenkins"];

fn files() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for host in HOSTS {
        let folder = root().join("docs").join(host);
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("a file");
            found.push((path, text));
        }
    }
    found.sort();
    found
}

fn pages() -> String {
    let read = |path: PathBuf| std::fs::read_to_string(path).expect("a page");
    let start =
        std::fs::read_dir(root().join("docs/start")).expect("a folder").map(|entry| entry.expect("an entry").path());
    start.chain([root().join("docs/sharding.md")]).map(read).collect()
}

#[test]
fn every_file_is_shown_by_a_page() {
    let pages = pages();
    let all = files();
    assert!(all.len() >= 11, "{}", all.len());
    for (path, _) in all {
        let name = path.strip_prefix(root().join("docs")).expect("below docs").display().to_string();
        assert!(pages.contains(&format!("{name}}}}}")), "no page shows docs/{name}");
    }
}

/// Each command that a script starts is a command line of this program.
#[test]
fn every_command_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut checked = 0;
    for (path, text) in files() {
        for line in text.lines() {
            let starts = ["scoregate run ", "scoregate merge "];
            let Some(at) = starts.iter().find_map(|start| line.find(start)) else { continue };
            // Up to the shell's or Groovy's end of it; what holds several arguments is left out.
            let end = [" || ", "'", " >"].iter().filter_map(|end| line[at..].find(end)).min();
            let command =
                line[at..at + end.unwrap_or(line.len() - at)].replace("$SCOREGATE_ARGUMENTS", "").replace('"', "");
            let words: Vec<&str> = command.split_whitespace().skip(1).collect();
            let output = Command::new(env!("CARGO_BIN_EXE_scoregate"))
                .args(&words)
                .current_dir(folder.path())
                .env_clear()
                .output();
            let said = String::from_utf8_lossy(&output.expect("the binary starts").stderr).into_owned();
            assert!(!said.contains("the command line is wrong"), "{}: {command}\n{said}", path.display());
            checked += 1;
        }
    }
    assert!(checked >= 7, "{checked} commands");
}

#[test]
fn inputs_of_the_task_exist_and_scripts_of_azure_get_the_token() {
    let task: Value =
        serde_yaml::from_slice(&std::fs::read(root().join("azure/task/task.json")).expect("a task")).expect("JSON");
    let inputs: Vec<&str> =
        task["inputs"].as_sequence().expect("a list").iter().filter_map(|input| input["name"].as_str()).collect();
    let mut checked = 0;
    for (path, text) in files().into_iter().filter(|(path, _)| path.extension().is_some_and(|kind| kind == "yml")) {
        let value: Value = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let jobs: Vec<&Value> = value["jobs"].as_sequence().into_iter().flatten().chain([&value]).collect();
        for step in jobs.iter().filter_map(|job| job["steps"].as_sequence()).flatten() {
            if step["task"].as_str() == Some("scoregate@0") {
                for key in step["inputs"].as_mapping().into_iter().flat_map(|inputs| inputs.keys()) {
                    assert!(inputs.contains(&key.as_str().expect("a name")), "{}: no input {key:?}", path.display());
                }
                checked += 1;
            }
            let bash = step["bash"].as_str().unwrap_or_default();
            if bash.contains("scoregate run") {
                assert!(step["env"]["SYSTEM_ACCESSTOKEN"].as_str().is_some(), "{}", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 3, "{checked} steps");
}

fn program(folder: &Path, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    // By a process of its own, so that the file is not "busy" when it is started.
    std::fs::write(folder.join("text"), text).expect("a file");
    assert!(Command::new("cp").arg(folder.join("text")).arg(folder.join(name)).status().expect("cp").success());
    std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o755)).expect("a program");
}

#[test]
fn the_buildkite_script_annotates_and_ends_as_the_gate_did() {
    for (code, style) in [(0, "success"), (1, "error"), (3, "warning"), (2, "warning")] {
        for agent_works in [true, false] {
            let folder = tempfile::tempdir().expect("a folder");
            let place = folder.path();
            program(
                place,
                "scoregate",
                &format!(
                    "#!/bin/sh\nmkdir -p scoregate-out\necho '# {code}' > scoregate-out/summary.md\nexit {code}\n"
                ),
            );
            let agent = if agent_works { "cat > said; echo \"$@\" > how" } else { "exit 9" };
            program(place, "buildkite-agent", &format!("#!/bin/sh\n{agent}\n"));
            let path = format!("{}:{}", place.display(), std::env::var("PATH").expect("PATH"));
            let output = Command::new("bash")
                .arg(root().join("docs/buildkite/gate.sh"))
                .current_dir(place)
                .env_clear()
                .env("PATH", path)
                .output()
                .expect("bash");
            assert_eq!(output.status.code(), Some(code));
            let warned = String::from_utf8_lossy(&output.stderr).contains("the annotation was not made");
            assert_eq!(warned, !agent_works);
            if agent_works {
                let read = |name: &str| std::fs::read_to_string(place.join(name)).expect(name);
                assert_eq!(read("how").trim(), format!("annotate --style {style} --context scoregate"));
                assert_eq!(read("said"), format!("# {code}\n"));
            }
        }
    }
}

/// A checksum that does not fit stops the job before the archive is unpacked.
#[test]
fn what_is_fetched_is_checked_before_it_is_unpacked() {
    for (path, text) in files() {
        if let Some(unpacks) = text.find("tar -xzf") {
            let checks = text.find("sha256sum --check --strict").unwrap_or_else(|| panic!("{}", path.display()));
            assert!(checks < unpacks && text.contains("--proto '=https'"), "{}", path.display());
        }
    }
}
