//! A step of a GitHub Actions job: the variables, files and folders that a runner gives, and what it would read back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::command::root;
use crate::fake_github::FakeGithub;

pub const TOKEN: &str = "ghs_0123456789abcdef";

pub struct Runner {
    folder: tempfile::TempDir,
    env: BTreeMap<String, String>,
}

impl Runner {
    /// A pull request (number 12) of `octo/demo`, whose API is `github`; its workspace is an empty checkout.
    pub fn new(github: &FakeGithub) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("work/demo/.git")).expect("a checkout");
        let place = |name: &str| folder.path().join(name).display().to_string();
        let env = [
            ("PATH", std::env::var("PATH").expect("PATH")),
            ("CI", "true".to_owned()),
            ("GITHUB_ACTIONS", "true".to_owned()),
            ("GITHUB_API_URL", github.url.clone()),
            ("GITHUB_SERVER_URL", "https://github.test".to_owned()),
            ("GITHUB_REPOSITORY", "octo/demo".to_owned()),
            ("GITHUB_RUN_ID", "99".to_owned()),
            ("GITHUB_TOKEN", TOKEN.to_owned()),
            ("GITHUB_WORKSPACE", place("work/demo")),
            ("GITHUB_STEP_SUMMARY", place("summary")),
            ("GITHUB_OUTPUT", place("output")),
            ("GITHUB_ENV", place("env")),
            ("GITHUB_PATH", place("path")),
        ];
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { folder, env }.event("pull_request", "fixtures/cases/comments/event-pull-request.json")
    }

    /// An event with a payload, named from the root of this repository.
    pub fn event(self, name: &str, payload: &str) -> Self {
        self.with("GITHUB_EVENT_NAME", name).with("GITHUB_EVENT_PATH", root().join(payload).display())
    }

    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.env.insert(name.to_owned(), value.to_string());
        self
    }

    /// Files of the checkout.
    pub fn file(self, name: &str, text: &str) -> Self {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
        self
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("work/demo")
    }

    pub fn variable(&self, name: &str) -> &str {
        &self.env[name]
    }

    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.workspace()).env_clear().envs(&self.env);
        command
    }

    /// One step: `scoregate` with these arguments, in the workspace. Its repository is empty, so that no base can be found in it.
    pub fn step(&self, arguments: &[&str]) -> Step {
        self.clear();
        let program = Path::new(env!("CARGO_BIN_EXE_scoregate"));
        let judged = arguments.first().is_some_and(|command| matches!(*command, "run" | "merge"));
        let base = (judged && !arguments.contains(&"--base")).then_some("--base=none");
        let output = self.command(program).args(arguments).args(base).output().expect("the binary starts");
        self.read(&output)
    }

    /// A new step has new files.
    pub fn clear(&self) {
        for name in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
            let _absent_at_first = std::fs::remove_file(self.variable(name));
        }
    }

    pub fn read(&self, output: &Output) -> Step {
        let text = |name: &str| std::fs::read_to_string(self.variable(name)).unwrap_or_default();
        for name in ["GITHUB_ENV", "GITHUB_PATH"] {
            assert!(!Path::new(self.variable(name)).exists(), "{name} was written");
        }
        let said = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        Step {
            code: output.status.code().expect("an exit code"),
            out: said(&output.stdout),
            err: said(&output.stderr),
            outputs: outputs(&text("GITHUB_OUTPUT")),
            summary: text("GITHUB_STEP_SUMMARY"),
        }
    }
}

/// What the runner has after a step.
#[derive(Debug)]
pub struct Step {
    pub code: i32,
    pub out: String,
    pub err: String,
    pub outputs: BTreeMap<String, String>,
    pub summary: String,
}

/// `::name key=value,…::message`, as the runner reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    pub name: String,
    pub properties: BTreeMap<String, String>,
    pub message: String,
}

impl Step {
    /// Every command that the runner finds in the log (actions/runner, `ActionCommand.TryParse` and `TryParseV2`).
    pub fn commands(&self) -> Vec<Logged> {
        let log = format!("{}\n{}", self.out, self.err);
        // .NET reads lines up to CR, LF or both.
        let lines = log.split(['\r', '\n']);
        lines.filter_map(|line| older(line).or_else(|| newer(line))).collect()
    }

    pub fn annotations(&self, name: &str) -> Vec<Logged> {
        self.commands().into_iter().filter(|command| command.name == name).collect()
    }

    /// The outputs but the paths and the address.
    pub fn verdict(&self) -> [&str; 4] {
        ["verdict", "passed", "exit-code", "regressions"].map(|name| self.outputs[name].as_str())
    }

    pub fn comment_url(&self) -> &str {
        &self.outputs["comment-url"]
    }
}

fn newer(line: &str) -> Option<Logged> {
    let (head, message) = line.trim_start().strip_prefix("::")?.split_once("::")?;
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    let pairs = properties.split(',').filter_map(|pair| pair.split_once('='));
    Some(Logged {
        name: name.to_owned(),
        properties: pairs.map(|(key, value)| (key.to_owned(), unescaped(value))).collect(),
        message: unescaped(message),
    })
}

fn older(line: &str) -> Option<Logged> {
    let (_, rest) = line.split_once("##[")?;
    let (name, message) = rest.split_once(']')?;
    Some(Logged { name: name.to_owned(), properties: BTreeMap::new(), message: message.to_owned() })
}

fn unescaped(text: &str) -> String {
    let text = text.replace("%2C", ",").replace("%3A", ":").replace("%0A", "\n").replace("%0D", "\r");
    text.replace("%25", "%")
}

/// As the runner reads the file (`name=value`, or a heredoc); every name once.
fn outputs(text: &str) -> BTreeMap<String, String> {
    let mut outputs = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let heredoc = line.split_once("<<").filter(|(name, _)| !name.contains('='));
        let (name, value) = match heredoc {
            Some((name, end)) => {
                let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
                (name, value.join("\n"))
            }
            None => line.split_once('=').map(|(name, value)| (name, value.to_owned())).expect("an output"),
        };
        assert!(outputs.insert(name.to_owned(), value).is_none(), "{name} is written twice");
    }
    outputs
}
