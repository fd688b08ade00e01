use std::process::Command;

use super::*;

fn environment() -> Env {
    Env::from_pairs([
        // The PATH of the build: tests read no environment.
        ("PATH", option_env!("PATH").unwrap_or("/usr/bin")),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ])
}

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn place(from: &str, path: &str, folder: &Path) -> Box<dyn Place> {
    let headers = BTreeMap::new();
    let env = environment();
    let file = folder.join(path);
    open(&Wanted { from, file, path, put: None, headers: &headers, folder, env: &env }).unwrap()
}

fn wait<T>(answer: BoxFuture<'_, T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(answer)
}

/// What every place promises: absent is told from empty, what was saved is loaded, and nobody overwrites what he has not seen.
fn keeps_its_promises(open: impl Fn() -> Box<dyn Place>) {
    let one = open();
    assert!(matches!(wait(one.load()), Err(StoreError::Absent { .. })), "{}", one.name());
    wait(one.save(b"first", &Mark::Nothing)).unwrap();
    let first = wait(one.load()).unwrap();
    assert_eq!(first.bytes, b"first");
    // Somebody else, who saw the same.
    let other = open();
    wait(other.save(b"second", &first.mark)).unwrap();
    for late in [&first.mark, &Mark::Nothing] {
        assert!(matches!(wait(one.save(b"late", late)), Err(StoreError::Moved { .. })), "{late:?}");
    }
    let second = wait(one.load()).unwrap();
    assert_eq!(second.bytes, b"second");
    assert_ne!(second.mark, first.mark);
    wait(one.save(b"third", &second.mark)).unwrap();
    assert_eq!(wait(other.load()).unwrap().bytes, b"third");
}

#[test]
fn a_file_keeps_its_promises() {
    let folder = tempfile::tempdir().unwrap();
    keeps_its_promises(|| place("file", "new/base.jsonl", folder.path()));
}

#[test]
fn a_branch_keeps_its_promises_with_and_without_a_remote() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["init", "--quiet", "-b", "main"]);
    run(folder.path(), &["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    keeps_its_promises(|| place("git", "rag.jsonl", folder.path()));
    let log = run(folder.path(), &["log", "--format=%an %s", BRANCH]);
    assert_eq!(log.lines().count(), 3, "the branch holds the baselines and nothing of main: {log}");
    assert_eq!(run(folder.path(), &["status", "--porcelain"]), "", "neither index nor working tree were touched");
    let bare = tempfile::tempdir().unwrap();
    run(bare.path(), &["init", "--quiet", "--bare"]);
    let clones: Vec<tempfile::TempDir> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    for clone in &clones {
        run(clone.path(), &["clone", "--quiet", &bare.path().display().to_string(), "."]);
    }
    let turn = std::cell::Cell::new(0_usize);
    keeps_its_promises(|| {
        turn.set(turn.get() + 1);
        place("git:kept/here", "deep/rag.jsonl", clones[turn.get() % 2].path())
    });
    // Another suite's file on the same branch stays.
    let other = place("git:kept/here", "other.jsonl", clones[0].path());
    wait(other.save(b"other", &Mark::Nothing)).unwrap();
    assert_eq!(wait(place("git:kept/here", "deep/rag.jsonl", clones[1].path()).load()).unwrap().bytes, b"third");
    assert_eq!(wait(other.load()).unwrap().bytes, b"other");
}

#[test]
fn a_remote_that_does_not_answer_is_not_a_missing_branch() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        matches!(wait(place("git", "x", folder.path()).load()), Err(StoreError::Unreachable { .. })),
        "no repository"
    );
    run(folder.path(), &["init", "--quiet"]);
    run(folder.path(), &["remote", "add", "origin", &folder.path().join("gone").display().to_string()]);
    let found = wait(place("git", "x", folder.path()).load());
    assert!(
        matches!(&found, Err(StoreError::Unreachable { place, .. }) if place == "git:scoregate-baselines:x"),
        "{found:?}"
    );
}

#[test]
fn the_branch_that_is_checked_out_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["init", "--quiet", "-b", "main"]);
    run(folder.path(), &["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    let error = wait(place("git:main", "x", folder.path()).save(b"x", &Mark::Nothing)).unwrap_err();
    assert!(error.to_string().contains("checked out"), "{error}");
}

#[test]
fn what_is_no_place_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (headers, env) = (BTreeMap::new(), environment());
    let refused = |from: &str, path: &str| {
        let file = folder.path().join(path);
        let wanted = Wanted { from, file, path, put: None, headers: &headers, folder: folder.path(), env: &env };
        open(&wanted).err().unwrap_or_else(|| panic!("{from} {path} was taken"))
    };
    assert!(refused("ftp://x/y", "").contains("is no place"));
    assert!(refused("git:--upload-pack=x", "a").contains("no name of a branch"));
    assert!(refused("git:main", "../a").contains("no path in a branch"));
    assert!(refused("git:main", ".git/config").contains("no path in a branch"));
    assert!(refused("http://example.org/base", "").contains("use https"));
    assert!(refused("http://169.254.169.254/base", "").contains("link-local"));
    let cloud = refused("s3://bucket", "");
    assert!(cloud.contains(if cfg!(feature = "cloud") { "names no object" } else { "--features cloud" }), "{cloud}");
}
