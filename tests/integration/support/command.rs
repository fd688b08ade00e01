//! The real binary, in a scrubbed environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The checkout's root: suites of `fixtures/` are named relative to it.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The bytes of an input of `fixtures/cases`.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = root().join("fixtures/cases").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A folder that holds these files.
pub fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

/// scoregate in `folder`, not started yet.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scoregate"));
    command.args(arguments).current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// scoregate in `folder`, started by a shell that gets `before` first (limits, redirections of the shell itself).
#[cfg(unix)]
pub fn shell(folder: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SCOREGATE", env!("CARGO_BIN_EXE_scoregate"));
    command
}

/// Runs scoregate in `folder`.
pub fn scoregate(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the binary starts")
}

/// Runs scoregate, which must end with `expected` and say so in its last line; returns what it said.
pub fn check(folder: &Path, arguments: &[&str], expected: i32) -> String {
    let output = scoregate(folder, arguments);
    checked(&output, expected)
}

/// As [`check`], for what has run already.
pub fn checked(output: &Output, expected: i32) -> String {
    let said = format!("{}{}", out(output), err(output));
    assert_eq!(output.status.code(), Some(expected), "{}: {said}", output.status);
    let last = err(output).lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with(&format!("scoregate: exit {expected}:")), "the last line was: {last}");
    said
}

/// The lines of `scoregate-out/results.jsonl`: the run, the outcomes, the end.
pub fn results(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("scoregate-out/results.jsonl")).expect("results.jsonl");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// `results.jsonl` without its first and last line.
pub fn outcomes(folder: &Path) -> Vec<Value> {
    let mut lines = results(folder);
    assert_eq!(lines.pop().expect("an end line")["type"], "end");
    lines.remove(0);
    lines
}

/// `scoregate-out/verdict.json`.
pub fn verdict(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("scoregate-out/verdict.json")).expect("verdict.json");
    serde_json::from_str(&text).expect("JSON")
}

/// A report file.
pub fn report(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join("scoregate-out").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8 on standard output")
}

pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8 on standard error")
}

/// git in `place`, as nobody in particular; returns what it prints.
pub fn git(place: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(place)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
