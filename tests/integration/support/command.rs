//! The real binary, in a scrubbed environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The checkout's root: suites of `fixtures/` are named relative to it.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Runs scoregate in `folder`.
pub fn scoregate(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_scoregate"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .output()
        .expect("the binary starts")
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
