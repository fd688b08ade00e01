//! The composite action's script, run as a runner runs it: inputs in the environment, a tool cache, no shell around it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod systems;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use scoregate::host::OUTPUT_NAMES;
use serde_yaml::Value;
use sha2::{Digest, Sha256};

use crate::downloads::served_from;

const ACTION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/.github/action");
/// Says how it was called and ends with 3, so that nobody can take a refusal for it.
const STAND_IN: &str = "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit ${STAND_IN_CODE:-3}\n";

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:9";

/// A runner with its folders, and the action with a table of its own.
struct Runner {
    folder: tempfile::TempDir,
    env: BTreeMap<String, String>,
}

impl Runner {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["the action/.github/action", "cache", "temp", "work"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for name in ["run.sh", "checksums.txt"] {
            copy(&Path::new(ACTION).join(name), &folder.path().join("the action/.github/action").join(name));
        }
        let place = |name: &str| folder.path().join(name).display().to_string();
        let env = BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("GITHUB_ACTIONS".to_owned(), "true".to_owned()),
            ("RUNNER_TOOL_CACHE".to_owned(), place("cache")),
            ("RUNNER_TEMP".to_owned(), place("temp")),
            ("GITHUB_ACTION_PATH".to_owned(), place("the action")),
            ("GITHUB_OUTPUT".to_owned(), place("output")),
            ("SCOREGATE_ACTION_REPOSITORY".to_owned(), "octo/scoregate".to_owned()),
            ("SCOREGATE_ACTION_SUITE".to_owned(), "scoregate.yaml".to_owned()),
            ("SCOREGATE_ACTION_COMMENT".to_owned(), "true".to_owned()),
        ]);
        Self { folder, env }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.env.insert(name.to_owned(), value.to_string());
        self
    }

    /// Releases come from there.
    fn served_from(self, releases: &str) -> Self {
        let path = self.env.get("PATH").cloned().unwrap_or_default();
        let path =
            served_from(self.folder.path(), releases, path.split_once("downloads:").map_or(&*path, |(_, path)| path));
        self.with("PATH", path)
    }

    fn run(&self) -> Output {
        self.command().output().unwrap()
    }

    /// As the step in action.yml starts it.
    fn command(&self) -> Command {
        let mut command = Command::new("bash");
        command.args(["-c", "exec bash \"$GITHUB_ACTION_PATH/.github/action/run.sh\""]);
        command.current_dir(self.path("work")).env_clear().envs(&self.env);
        command
    }

    fn program(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let text = self.path("stand-in.txt");
        std::fs::write(&text, STAND_IN).unwrap();
        copy(&text, &path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A release archive with the stand-in in it.
    fn archive(&self) -> Vec<u8> {
        self.program("scoregate");
        let made = Command::new("tar").args(["-czf", "a.tgz", "scoregate"]).current_dir(self.folder.path()).status();
        assert!(made.unwrap().success());
        std::fs::read(self.path("a.tgz")).unwrap()
    }

    fn hold(&self, bytes: &[u8]) {
        let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        std::fs::write(self.path("the action/.github/action/checksums.txt"), format!("{digest}  {}\n", asset()))
            .unwrap();
    }

    /// Where archives are kept from job to job.
    fn cached(&self) -> PathBuf {
        self.path("cache/scoregate/0.1.0").join(std::env::consts::ARCH)
    }

    fn in_cache(&self) -> usize {
        std::fs::read_dir(self.cached()).unwrap().count()
    }

    fn outputs(&self) -> String {
        std::fs::read_to_string(self.path("output")).unwrap_or_default()
    }
}

/// By a process of its own: a file that this one had open for writing may still be open in a child that another test is just
/// starting, and the system runs no such file ("text file busy").
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

fn asset() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    format!("scoregate-0.1.0-{}-{system}.tar.gz", std::env::consts::ARCH)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Refused with that code and those words, and nothing was run.
fn refused(output: &Output, code: i32, words: &str) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.starts_with("::error title=scoregate::") || said.contains("\n::error title=scoregate::"), "{said}");
    assert!(said.contains(words) && !said.contains("<run>"), "{said}");
}

/// Serves `body` to every request, announcing `announced` bytes.
fn serve(body: Vec<u8>, announced: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _request = stream.read(&mut [0; 4096]);
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {announced}\r\n\r\n");
            let _closed_early = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

#[test]
fn a_binary_of_the_job_is_run_and_its_exit_code_is_the_steps() {
    for code in [0, 1, 2, 3, 130, 143] {
        let runner = Runner::new();
        let binary = runner.program("built");
        let output = runner.with("SCOREGATE_ACTION_BINARY", binary.display()).with("STAND_IN_CODE", code).run();
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(said(&output), "<run><--><scoregate.yaml>");
    }
}

/// The binary itself, under the script: the step's code is the verdict's, and its outputs are there.
#[test]
fn the_real_binary_passes_fails_and_refuses_as_a_step() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = "{\"id\":\"a\",\"input\":\"?\",\"reference\":\"yes\",\"answer\":\"yes\"}\n";
    let suite = "version: 1\nname: tiny\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    exact_match: { min: 0.8 }\n";
    let wrong = data.replace("\"answer\":\"yes\"", "\"answer\":\"no\"");
    let misspelt = suite.replace("min:", "mn:");
    for (suite, data, code, verdict) in [
        (suite, data, 0, "verdict=passed\npassed=true\nexit-code=0\n"),
        (suite, &wrong, 1, "verdict=failed\npassed=false\nexit-code=1\n"),
        (&misspelt, data, 2, "verdict=not_evaluated\npassed=false\nexit-code=2\n"),
        (suite, "", 2, "verdict=not_evaluated\npassed=false\nexit-code=2\n"),
    ] {
        let runner = Runner::new();
        std::fs::create_dir(runner.path("work/a suite")).unwrap();
        std::fs::write(runner.path("work/a suite/the suite.yaml"), suite).unwrap();
        std::fs::write(runner.path("work/a suite/data.jsonl"), data).unwrap();
        let (output_file, summary) = (runner.path("output"), runner.path("summary"));
        let runner = runner
            .with("SCOREGATE_ACTION_BINARY", env!("CARGO_BIN_EXE_scoregate"))
            .with("SCOREGATE_ACTION_SUITE", "a suite/the suite.yaml")
            .with("SCOREGATE_ACTION_OUT", "the reports")
            .with("GITHUB_EVENT_NAME", "push")
            .with("GITHUB_EVENT_PATH", root.join("fixtures/contracts/github/events/push.json").display())
            .with("GITHUB_OUTPUT", output_file.display())
            .with("GITHUB_STEP_SUMMARY", summary.display());
        let output = runner.run();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        let outputs = std::fs::read_to_string(output_file).unwrap();
        let binary = format!("binary={}\n", env!("CARGO_BIN_EXE_scoregate"));
        assert!(outputs.starts_with(&format!("{binary}{verdict}")), "{outputs}");
        assert_eq!(outputs.contains("\nthe reports/junit.xml\n"), code < 2, "{outputs}");
        assert_eq!(runner.path("work/the reports/junit.xml").exists(), code < 2);
        assert!(!std::fs::read_to_string(summary).unwrap().is_empty());
    }
}

/// What the script itself refuses is no pass for the steps that follow.
#[test]
fn a_refusal_of_the_script_has_outputs() {
    let runner = Runner::new();
    let runner = runner.with("SCOREGATE_ACTION_BINARY", "no/such/file");
    refused(&runner.run(), 2, "not an executable file");
    assert_eq!(runner.outputs(), "verdict=not_evaluated\npassed=false\nexit-code=2\nregressions=0\n");
}

#[test]
fn inputs_arrive_as_words_whatever_is_in_them() {
    let runner = Runner::new();
    let binary = runner.program("built");
    let runner = runner
        .with("SCOREGATE_ACTION_BINARY", binary.display())
        .with("SCOREGATE_ACTION_SUITE", "a b; touch hit $(touch hit) `touch hit` *")
        .with("SCOREGATE_ACTION_BASELINE", "--no-gate")
        .with("SCOREGATE_ACTION_OUT", "out dir")
        .with("SCOREGATE_ACTION_COMMENT", "false");
    let output = runner.run();
    let expected =
        "<run><--baseline=--no-gate><--out=out dir><--no-comment><--><a b; touch hit $(touch hit) `touch hit` *>";
    assert_eq!(said(&output), expected);
    assert!(!runner.path("work/hit").exists());
}

#[test]
fn a_version_without_a_checksum_is_refused() {
    let runner = Runner::new();
    runner.archive();
    // Even if it could be had.
    let output = runner.served_from(NOWHERE).run();
    refused(&output, 2, "holds no checksum for");
    assert!(said(&output).contains("`binary`"), "says what to do");
}

#[test]
fn inputs_that_make_no_sense_are_refused() {
    for (name, value, words) in [
        ("SCOREGATE_ACTION_BINARY", "no/such/file", "not an executable file"),
        ("SCOREGATE_ACTION_VERSION", "latest", "no version like"),
        ("SCOREGATE_ACTION_VERSION", "0.1.0/../../x", "no version like"),
        ("SCOREGATE_ACTION_VERSION", "1.0.0\n::notice::x", "no version like"),
    ] {
        let output = Runner::new().with(name, value).run();
        refused(&output, 2, words);
        assert_eq!(said(&output).lines().count(), 1, "one command, one line");
    }
    let runner = Runner::new();
    let binary = runner.program("built");
    let runner = runner.with("SCOREGATE_ACTION_BINARY", binary.display()).with("SCOREGATE_ACTION_COMMENT", "maybe");
    refused(&runner.run(), 2, "neither true nor false");
}

#[test]
fn a_released_binary_is_checked_installed_and_run() {
    let runner = Runner::new();
    let archive = runner.archive();
    runner.hold(&archive);
    let address = serve(archive.clone(), archive.len());
    let runner = runner.served_from(&address);
    let output = runner.run();
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(3), "<run><--><scoregate.yaml>"));
    // Later steps get the path of what was checked.
    let outputs = runner.outputs();
    let binary = outputs.strip_prefix("binary=").and_then(|rest| rest.strip_suffix('\n')).unwrap();
    assert!(Path::new(binary).starts_with(runner.path("temp")), "{binary}");
    assert_eq!(std::fs::read_to_string(binary).unwrap(), STAND_IN);

    // Next time nothing is downloaded, and a binary that somebody changed meanwhile is not run.
    std::fs::write(binary, "#!/bin/sh\necho changed\n").unwrap();
    let runner = runner.served_from(NOWHERE);
    assert_eq!(said(&runner.run()), "<run><--><scoregate.yaml>");
    assert_eq!(runner.in_cache(), 1, "the archive, no remains");

    // A changed archive is not used either.
    std::fs::write(runner.cached().join(asset()), b"changed").unwrap();
    refused(&runner.run(), 3, "could not download");
    assert_eq!(runner.in_cache(), 1, "no remains");
}

/// A folder of one job is in no other job's way, and neither is what a broken one left.
#[test]
fn an_archive_without_the_binary_is_refused() {
    let runner = Runner::new();
    std::fs::write(runner.path("other"), "x").unwrap();
    let made = Command::new("tar").args(["-czf", "a.tgz", "other"]).current_dir(runner.folder.path()).status();
    assert!(made.unwrap().success());
    let archive = std::fs::read(runner.path("a.tgz")).unwrap();
    runner.hold(&archive);
    let address = serve(archive.clone(), archive.len());
    refused(&runner.served_from(&address).run(), 3, "holds no scoregate");
}

/// Windows' line ends in the table, and none at the end of it.
#[test]
fn the_table_is_read_with_any_line_ends() {
    let runner = Runner::new();
    let archive = runner.archive();
    runner.hold(&archive);
    let table = runner.path("the action/.github/action/checksums.txt");
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::write(&table, format!("# SHA-256\r\n{}", text.trim_end().replace('\n', "\r\n") + "\r")).unwrap();
    let address = serve(archive.clone(), archive.len());
    let output = runner.served_from(&address).run();
    assert_eq!(said(&output), "<run><--><scoregate.yaml>");
}

#[test]
fn another_file_than_the_one_held_is_refused() {
    let runner = Runner::new();
    let archive = runner.archive();
    runner.hold(b"another file");
    let address = serve(archive.clone(), archive.len());
    let runner = runner.served_from(&address);
    refused(&runner.run(), 3, "is not what it should be");
    assert_eq!(runner.in_cache(), 0, "nothing is kept");
}

#[test]
fn a_download_that_was_cut_off_is_refused() {
    let runner = Runner::new();
    let archive = runner.archive();
    runner.hold(&archive);
    let half = archive[..archive.len() / 2].to_vec();
    // Told by the length, and not told.
    let cut = serve(half.clone(), archive.len());
    let runner = runner.served_from(&cut);
    refused(&runner.run(), 3, "could not download");
    let short = serve(half.clone(), half.len());
    let runner = runner.served_from(&short);
    refused(&runner.run(), 3, "is not what it should be");
    assert_eq!(runner.in_cache(), 0, "nothing is kept");
}

#[test]
fn a_local_action_does_not_guess_a_repository() {
    let runner = Runner::new();
    let archive = runner.archive();
    runner.hold(&archive);
    refused(&runner.with("SCOREGATE_ACTION_REPOSITORY", "").run(), 2, "does not know its own repository");
}

/// The pinned version is this crate's, every input reaches the script by the environment, every output is one of ours.
#[test]
fn action_yml_says_what_the_code_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("action.yml")).unwrap();
    let script = std::fs::read_to_string(root.join(".github/action/run.sh")).unwrap();
    let action: Value = serde_yaml::from_str(&text).unwrap();
    assert!(script.contains(&format!("PINNED_VERSION={}\n", env!("CARGO_PKG_VERSION"))));

    let step = &action["runs"]["steps"][0];
    let environment = step["env"].as_mapping().unwrap();
    for (name, _) in action["inputs"].as_mapping().unwrap() {
        let expression = format!("${{{{ inputs.{} }}}}", name.as_str().unwrap());
        let variable = environment.iter().find(|(_, value)| value.as_str() == Some(expression.as_str()));
        let (variable, _) = variable.unwrap_or_else(|| panic!("the input {name:?} is not passed on"));
        assert!(script.contains(&format!("{{{}:-", variable.as_str().unwrap())), "{variable:?} is not used");
    }
    let outputs: Vec<&str> = action["outputs"].as_mapping().unwrap().keys().filter_map(Value::as_str).collect();
    // The script's own is the last one.
    let known: Vec<&str> = OUTPUT_NAMES.into_iter().chain(["binary"]).collect();
    assert_eq!(outputs, known);
    for name in outputs {
        let expected = format!("${{{{ steps.run.outputs.{name} }}}}");
        assert_eq!(action["outputs"][name]["value"].as_str(), Some(expected.as_str()));
    }
    assert!(!step["run"].as_str().unwrap().contains("${{"));
    assert!(!script.contains("eval "));
    let started = Runner::new().command();
    let script = started.get_args().nth(1).unwrap().to_str().unwrap().to_owned();
    assert_eq!(step["run"].as_str(), Some(script.as_str()), "these tests start it in another way");
}

/// Of each command: what it is given, and what it is not.
#[test]
fn every_command_gets_the_inputs_that_are_its_own() {
    const RUN: &[(&str, &str)] = &[
        ("SHARD", "2/8"),
        ("LEDGER", "refresh"),
        ("RECORD", "a tape.jsonl"),
        ("REPLAY", "b.jsonl"),
        ("EVENTS", "-"),
        ("CHECK", "status"),
        ("ARGUMENTS", "--tag=a b\r\n\n  \n--sample=50\n--case=/^q[0-9]+$/"),
    ];
    const MERGE: &[(&str, &str)] = &[
        ("COMMAND", "merge"),
        ("RESULTS", "shards/*/results.jsonl\nlost shard/*\nno$(touch hit)such\n"),
        ("SUITE", "s.yaml"),
        ("BASELINE", "base.jsonl"),
        ("COMMENT", "false"),
    ];
    const COMMENT: &[(&str, &str)] = &[
        ("COMMAND", "comment"),
        ("RESULTS", "the run"),
        ("SUITE_NAME", "rag"),
        ("CHECK", "none"),
        ("SUITE", "other.yaml"),
    ];
    for (inputs, expected) in [
        (
            RUN,
            "<run><--shard=2/8><--ledger=refresh><--record=a tape.jsonl><--replay=b.jsonl><--events=-><--check=status>\
             <--tag=a b><--sample=50><--case=/^q[0-9]+$/><--><scoregate.yaml>",
        ),
        (
            MERGE,
            "<merge><--baseline=base.jsonl><--no-comment><--suite=s.yaml><--><shards/1/results.jsonl>\
             <shards/2 b/results.jsonl><lost shard/*><no$(touch hit)such>",
        ),
        (COMMENT, "<comment><--suite-name=rag><--><the run>"),
        (&[("COMMAND", "check")], "<check><--><scoregate.yaml>"),
    ] {
        let mut runner = Runner::new();
        for folder in ["work/shards/1", "work/shards/2 b"] {
            std::fs::create_dir_all(runner.path(folder)).unwrap();
            std::fs::write(runner.path(folder).join("results.jsonl"), "").unwrap();
        }
        let binary = runner.program("built");
        runner = runner.with("SCOREGATE_ACTION_BINARY", binary.display());
        for (name, value) in inputs {
            runner = runner.with(&format!("SCOREGATE_ACTION_{name}"), value);
        }
        assert_eq!(said(&runner.run()), expected);
        assert!(!runner.path("work/hit").exists());
    }
    for (inputs, words) in [
        (vec![("COMMAND", "ledger prune")], "none of run, merge, comment and check"),
        (vec![("COMMAND", "comment")], "needs the folder"),
        (vec![("COMMAND", "comment"), ("RESULTS", "a\nb")], "needs the folder"),
        (vec![("RESULTS", "a")], "is for `merge` and `comment`"),
        (vec![("CHECK", "both")], "none of none, run and status"),
    ] {
        let mut runner = Runner::new();
        let binary = runner.program("built");
        runner = runner.with("SCOREGATE_ACTION_BINARY", binary.display());
        for (name, value) in inputs {
            runner = runner.with(&format!("SCOREGATE_ACTION_{name}"), value);
        }
        refused(&runner.run(), 2, words);
        assert!(runner.outputs().starts_with("verdict=not_evaluated\npassed=false\n"), "{}", runner.outputs());
    }
}

/// What the script passes on is what the binary knows.
#[test]
fn the_real_binary_knows_every_flag_of_the_action() {
    for (command, flags) in [
        ("run", "--baseline --out --shard --ledger --record --replay --events --check --no-comment"),
        ("merge", "--baseline --out --check --no-comment --suite"),
        ("comment", "--baseline --suite-name"),
        ("check", "--shard"),
    ] {
        let help = Command::new(env!("CARGO_BIN_EXE_scoregate")).args([command, "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        for flag in flags.split(' ') {
            assert!(
                help.contains(&format!("{flag} <")) || help.contains(&format!("{flag}\n")),
                "{command} {flag}\n{help}"
            );
        }
    }
}

/// The runner's signals are the binary's own, and the step ends as cancelled: neither green nor a failure of the change.
#[test]
fn a_cancelled_job_ends_with_the_signal_s_code_and_says_so() {
    use nix::sys::signal::Signal;

    use crate::process::{send, wait_until};

    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let runner = Runner::new();
        std::fs::write(runner.path("work/data.jsonl"), "{\"id\":\"a\",\"input\":\"?\"}\n").unwrap();
        let suite = "version: 1\nname: slow\ndataset: { path: data.jsonl }\ntargets:\n  app:\n    command: { argv: [sh, -c, 'touch started; exec sleep 60'] }\nevaluators:\n  length: { min: 1 }\n";
        std::fs::write(runner.path("work/scoregate.yaml"), suite).unwrap();
        let runner = runner.with("SCOREGATE_ACTION_BINARY", env!("CARGO_BIN_EXE_scoregate"));
        let mut child = runner.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("its start", || runner.path("work/started").exists());
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        let outputs = runner.outputs();
        assert!(outputs.contains(&format!("verdict=not_evaluated\npassed=false\nexit-code={code}\n")), "{outputs}");
    }
}
