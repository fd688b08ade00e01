//! Git as a program: arguments as they are, no shell, nobody is asked for a password, no hook of the repository runs, and an end at
//! the deadline.
//!
//! Who calls it puts what a stranger may have chosen behind `--` or `--end-of-options`, or checks it with [`is_commit`] and
//! [`is_ref_name`].

mod repository;

use std::io::{ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::child_environment;
use super::excerpt::one_line;
use crate::domain::Env;

pub use repository::{Object, Remote};

/// For questions that the repository answers by itself.
const LOCAL: Duration = Duration::from_secs(60);
/// For what may go to the remote.
const REMOTE: Duration = Duration::from_secs(300);
/// Bytes that git may print; the largest baseline fits in.
const OUTPUT_LIMIT: u64 = 300 * 1024 * 1024;
const COMPLAINT_LIMIT: u64 = 64 * 1024;

/// Settings that hold whatever the repository's own say.
const ALWAYS: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "protocol.ext.allow=never",
];

/// What git needs of our environment beside what every program sees: how it reaches a remote, and the user's own settings.
const PASSED_ON: [&str; 17] = [
    "SSH_AUTH_SOCK",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_SSL_CAINFO",
    "XDG_CONFIG_HOME",
    "SSL_CERT_FILE",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Why git said nothing.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed, or not on the PATH")]
    NotInstalled,
    #[error("`git {what}` could not be run: {source}")]
    Io { what: String, source: std::io::Error },
    #[error("`git {what}` was still running after {} s", .after.as_secs())]
    Timeout { what: String, after: Duration },
    #[error("`git {what}` printed more than {} MiB, the output limit of git", OUTPUT_LIMIT / 1024 / 1024)]
    TooLarge { what: String },
    #[error("`git {what}` failed: {said}")]
    Failed { what: String, said: String },
}

/// How git ended.
#[derive(Debug)]
pub struct Ended {
    /// `None`: by a signal.
    pub code: Option<i32>,
    pub out: Vec<u8>,
    /// Standard error on one line.
    pub said: String,
}

/// A repository, by a folder in it.
#[derive(Clone, Debug)]
pub struct Git {
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl Git {
    pub fn new(folder: &Path, env: &Env) -> Self {
        let passed = |name: &str| {
            PASSED_ON.contains(&name) || name.starts_with("GIT_CONFIG_KEY_") || name.starts_with("GIT_CONFIG_VALUE_")
        };
        let own = |pair: (&str, &str)| (pair.0.to_owned(), pair.1.to_owned());
        let mut environment: Vec<(String, String)> = child_environment(env).map(own).collect();
        environment
            .extend(env.names().filter(|name| passed(name)).filter_map(|name| Some(own((name, env.get(name)?)))));
        for (name, value) in
            [("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0"), ("GIT_LITERAL_PATHSPECS", "1"), ("LC_ALL", "C")]
        {
            environment.push((name.to_owned(), value.to_owned()));
        }
        Self { folder: folder.to_owned(), environment }
    }

    /// The same in another folder.
    #[must_use]
    pub fn at(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..self.clone() }
    }

    /// The same with a variable more.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What git prints, without the line end.
    ///
    /// # Errors
    /// Git could not be run, or ended with another code than 0.
    pub fn text(&self, arguments: &[&str]) -> Result<String, GitError> {
        let out = self.success(arguments, &[], LOCAL)?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// What git prints when it is given `stdin`.
    ///
    /// # Errors
    /// As [`Git::text`].
    pub fn bytes(&self, arguments: &[&str], stdin: &[u8]) -> Result<Vec<u8>, GitError> {
        // The objects of a partial clone come from the remote.
        self.success(arguments, stdin, REMOTE)
    }

    /// As [`Git::text`], for what goes to the remote.
    ///
    /// # Errors
    /// As [`Git::text`].
    pub fn remote(&self, arguments: &[&str]) -> Result<String, GitError> {
        let out = self.success(arguments, &[], REMOTE)?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// Whether git ends with code 0.
    pub fn holds(&self, arguments: &[&str]) -> bool {
        self.run(arguments, &[], LOCAL).is_ok_and(|ended| ended.code == Some(0))
    }

    fn success(&self, arguments: &[&str], stdin: &[u8], deadline: Duration) -> Result<Vec<u8>, GitError> {
        let ended = self.run(arguments, stdin, deadline)?;
        if ended.code == Some(0) {
            return Ok(ended.out);
        }
        let said = if ended.said.is_empty() { "it gave no reason".to_owned() } else { ended.said };
        Err(GitError::Failed { what: named(arguments), said })
    }

    /// Runs git to its end, whatever that is.
    ///
    /// # Errors
    /// It could not be run, printed too much, or had to be ended.
    pub fn run(&self, arguments: &[&str], stdin: &[u8], deadline: Duration) -> Result<Ended, GitError> {
        let failed = |source| GitError::Io { what: named(arguments), source };
        let mut child = self.start(arguments).map_err(|error| match error.kind() {
            ErrorKind::NotFound if self.folder.exists() => GitError::NotInstalled,
            _ => failed(error),
        })?;
        let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let stdin = stdin.to_vec();
        // Git need not read what it is given; dropping the pipe closes it.
        let written = std::thread::spawn(move || input.map(|mut input| input.write_all(&stdin)));
        let (out, err) = (listen(out, OUTPUT_LIMIT), listen(err, COMPLAINT_LIMIT));
        let status = wait(&mut child, deadline).map_err(failed)?;
        let Some(status) = status else {
            return Err(GitError::Timeout { what: named(arguments), after: deadline });
        };
        let _ = written.join();
        let (out, err) = (heard(out).map_err(failed)?, heard(err).map_err(failed)?);
        if out.len() as u64 > OUTPUT_LIMIT {
            return Err(GitError::TooLarge { what: named(arguments) });
        }
        Ok(Ended { code: status.code(), out, said: complaint(&err) })
    }

    fn start(&self, arguments: &[&str]) -> std::io::Result<Child> {
        Command::new("git")
            .args(ALWAYS)
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }
}

/// `None`: it had to be ended.
fn wait(child: &mut Child, deadline: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        let pause = if begun.elapsed() < Duration::from_millis(100) { 1 } else { 10 };
        std::thread::sleep(Duration::from_millis(pause));
    }
}

type Listening = JoinHandle<std::io::Result<Vec<u8>>>;

/// One byte more than the limit says that there was more.
fn listen(pipe: Option<impl Read + Send + 'static>, limit: u64) -> Listening {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let Some(mut pipe) = pipe else { return Ok(bytes) };
        pipe.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        // Whoever prints on must not wait for a reader.
        std::io::copy(&mut pipe, &mut std::io::sink())?;
        Ok(bytes)
    })
}

fn heard(listening: Listening) -> std::io::Result<Vec<u8>> {
    listening.join().unwrap_or_else(|_| Err(std::io::Error::other("its output could not be read")))
}

/// The last lines: git says last what went wrong.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(4)..).unwrap_or_default().join(" / ");
    one_line(&last)
}

/// The command without its arguments, which may be long.
fn named(arguments: &[&str]) -> String {
    arguments.iter().find(|word| !word.starts_with('-')).map_or_else(String::new, |word| one_line(word))
}

/// A full commit id, and not the one of nothing.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        && text.bytes().any(|byte| byte != b'0')
}

/// A name that may stand in a refspec and means itself there.
///
/// **Source**: git-check-ref-format(1).
pub fn is_ref_name(name: &str) -> bool {
    let parts_fit = name.split('/').all(|part| {
        !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock") && part != "@"
    });
    let letters_fit = !name.contains(|letter: char| {
        letter.is_control()
            || letter.is_whitespace()
            || matches!(letter, '~' | '^' | ':' | '?' | '*' | '[' | '\\' | '+')
    });
    parts_fit && letters_fit && !name.contains("..") && !name.contains("@{") && !name.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Env {
        // The PATH of the build: tests read no environment.
        Env::from_pairs([("PATH", option_env!("PATH").unwrap_or("/usr/bin"))])
    }

    #[test]
    fn names_that_mean_something_else_are_no_names() {
        for name in ["main", "release/1.0", "scoregate-baselines", "feature_x", "ä"] {
            assert!(is_ref_name(name), "{name}");
        }
        for name in [
            "",
            "-x",
            "--upload-pack=x",
            "a b",
            "a:b",
            "+a",
            "a..b",
            "a.lock",
            "a/",
            "/a",
            "a//b",
            ".a",
            "a^",
            "a~1",
            "a@{1}",
            "@",
            "a\n",
            "*",
            "a/.b",
            "a\\b",
        ] {
            assert!(!is_ref_name(name), "{name:?}");
        }
        assert!(is_commit(&"a1".repeat(20)) && is_commit(&"0f".repeat(32)));
        for id in ["", "HEAD", &"0".repeat(40), &"g".repeat(40), &"a".repeat(39)] {
            assert!(!is_commit(id), "{id}");
        }
    }

    #[test]
    fn what_git_says_is_told_and_nothing_is_taken_for_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::new(folder.path(), &environment());
        let error = git.text(&["rev-parse", "HEAD"]).unwrap_err().to_string();
        assert!(error.starts_with("`git rev-parse` failed: ") && error.contains("not a git repository"), "{error}");
        let nowhere = git.at(&folder.path().join("nowhere"));
        assert!(matches!(nowhere.text(&["--version"]), Err(GitError::Io { .. })));
        let without =
            Git { environment: vec![("PATH".to_owned(), folder.path().display().to_string())], ..git.clone() };
        assert!(matches!(without.text(&["--version"]), Err(GitError::NotInstalled)));
        assert!(git.text(&["--version"]).unwrap().starts_with("git version"));
    }

    #[test]
    fn large_input_and_output_do_not_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::new(folder.path(), &environment());
        git.text(&["init", "--quiet"]).unwrap();
        let large = "line\n".repeat(400_000);
        let id = git.bytes(&["hash-object", "-w", "--stdin"], large.as_bytes()).unwrap();
        let id = String::from_utf8(id).unwrap();
        assert_eq!(git.bytes(&["cat-file", "blob", id.trim()], &[]).unwrap(), large.as_bytes());
    }
}
