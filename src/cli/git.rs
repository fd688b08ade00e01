//! What git says about the folder of the suite.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::domain::Env;
use crate::net::child_environment;

/// Git answers these questions from a file or two.
const DEADLINE: Duration = Duration::from_secs(5);

/// What is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkout {
    /// `None` without git, a repository or a commit.
    pub(super) commit: Option<String>,
    /// `HEAD` where no branch is checked out; `None` as for the commit.
    pub(super) branch: Option<String>,
}

impl Checkout {
    /// Asks git once: starting it is most of what a short run takes.
    pub(super) fn of(folder: &Path, env: &Env) -> Self {
        let said = ask(folder, env, &["rev-parse", "HEAD", "--abbrev-ref", "HEAD"]);
        let mut lines = said.as_deref().unwrap_or_default().lines().map(str::to_owned);
        Self { commit: lines.next(), branch: lines.next() }
    }
}

fn ask(folder: &Path, env: &Env, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .env_clear()
        .envs(child_environment(env))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begun = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > DEADLINE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
