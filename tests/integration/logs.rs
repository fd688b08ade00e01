//! Cases of the topic `logs` with the whole program: texts from outside on the streams of a CI job.

use std::process::Stdio;

use crate::command::{check, code, command, err, fixture, folder, out, report};

/// A suite whose names, answers, references and errors are the lines of `texts`; everything breaks.
fn hostile(texts: &[&str]) -> tempfile::TempDir {
    let mut rows = String::new();
    for (at, text) in texts.iter().enumerate() {
        for (id, answer) in [(format!("{text} {at}"), *text), (format!("plain {at}"), *text)] {
            let row = serde_json::json!({"id": id, "input": text, "reference": format!("{text} is expected"), "answer": answer, "tags": [text]});
            rows.push_str(&format!("{row}\n"));
        }
        rows.push_str(&format!(
            "{}\n",
            serde_json::json!({"id": format!("error {at}"), "input": text, "reference": text, "error": text})
        ));
    }
    let suite = "version: 1\nname: hostile\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n  token_f1: {}\ngate:\n  metrics:\n    exact_match: { case_min: 1 }\n";
    folder(&[("scoregate.yaml", suite), ("data.jsonl", &rows), ("summary.md", ""), ("output.txt", "")])
}

fn lines(name: &str) -> Vec<String> {
    let text = String::from_utf8(fixture(name)).expect("UTF-8");
    // Line ends other than LF are part of the texts.
    text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn lg_workflow_commands() {
    let texts = lines("logs/workflow-commands.txt");
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let place = hostile(&texts);
    let mut run = command(place.path(), &["run"]);
    run.env("GITHUB_ACTIONS", "true")
        .env("CI", "true")
        .env("GITHUB_EVENT_NAME", "push")
        .env("GITHUB_REPOSITORY", "octo/demo")
        .env("GITHUB_STEP_SUMMARY", place.path().join("summary.md"))
        .env("GITHUB_OUTPUT", place.path().join("output.txt"));
    let output = run.output().expect("a run");
    assert_eq!(code(&output), 1, "{}{}", out(&output), err(&output));
    let mut annotations = 0;
    for stream in [out(&output), err(&output)] {
        assert!(!stream.contains("##["), "{stream}");
        // Whatever ends a line for some reader.
        for line in stream.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}']) {
            let command = line.trim_start_matches(|letter: char| letter.is_whitespace() || letter.is_control());
            if command.starts_with("::") {
                let ours = ["::error ", "::warning "].iter().any(|level| command.starts_with(level));
                assert!(ours && command.contains("title=") && line.starts_with("::"), "{line:?}");
                annotations += 1;
            }
        }
    }
    assert!(annotations > 0 && annotations <= 20, "{annotations} annotations");
    let outputs = std::fs::read_to_string(place.path().join("output.txt")).expect("outputs");
    assert!(!outputs.contains("set-output") && !outputs.contains("##["), "{outputs}");
}

/// azure-pipelines-agent, `Command.TryParse`: area and event of the command in a line, anywhere, here in any letter case.
fn agent_command(line: &str) -> Option<&str> {
    const PREFIX: &str = "##vso[";
    let at = line.to_ascii_lowercase().find(PREFIX)?;
    let (info, _) = line.get(at + PREFIX.len()..)?.split_once(']')?;
    let name = info.split(' ').next()?;
    (name.split('.').filter(|part| !part.is_empty()).count() == 2).then_some(name)
}

#[test]
fn lg_azure_commands() {
    let texts = lines("logs/azure-commands.txt");
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let place = hostile(&texts);
    let output = command(place.path(), &["run"]).env("TF_BUILD", "True").output().expect("a run");
    assert_eq!(code(&output), 1);
    let mut issues = 0;
    for line in out(&output).lines().chain(err(&output).lines()) {
        let lower = line.to_lowercase();
        assert!(!lower.contains("##["), "{line}");
        let Some(command) = agent_command(line) else { continue };
        // Ours begin the line, hold no second one, and are of the kinds that a run prints.
        let rest = line.strip_prefix("##vso[").unwrap_or_else(|| panic!("a text made a command: {line}"));
        assert!(agent_command(rest).is_none(), "{line}");
        assert!(
            ["task.logissue", "task.setvariable", "results.publish", "task.uploadsummary"].contains(&command),
            "{line}"
        );
        let variable =
            rest.strip_prefix("task.setvariable variable=").map(|rest| rest.split(';').next().unwrap_or_default());
        assert!(variable.is_none_or(|name| scoregate::host::AZURE_VARIABLES.contains(&name)), "{line}");
        issues += usize::from(command == "task.logissue");
    }
    assert!(issues > 0 && issues <= 20, "{issues} issues");
}

/// The verdict and the files of a run do not depend on who listens.
#[test]
#[cfg(unix)]
fn lg_console() {
    let names = lines("logs/console-names.txt");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let reports = |place: &tempfile::TempDir| ["verdict.json", "comment.md"].map(|name| report(place.path(), name));
    let usual = hostile(&names);
    check(usual.path(), &["run"], 1);
    let expected = reports(&usual);
    for script in [
        "exec \"$SCOREGATE\" run >&-",
        "exec \"$SCOREGATE\" run >&- 2>&-",
        "exec \"$SCOREGATE\" run >&- 2>&- <&-",
        "exec \"$SCOREGATE\" run > /dev/full 2> /dev/full",
    ] {
        let place = hostile(&names);
        let output = crate::command::shell(place.path(), script).output().expect("a run");
        assert_eq!(output.status.code(), Some(1), "{script}");
        assert!(reports(&place) == expected, "{script}: other reports");
    }
    // Readers that are gone before the first line.
    let place = hostile(&names);
    let mut child =
        command(place.path(), &["run"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a run");
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().expect("an end").code(), Some(1));
    assert!(reports(&place) == expected);
    for locale in ["C", "POSIX", "zh_CN.GBK"] {
        let place = hostile(&names);
        let output = command(place.path(), &["run"]).env("LANG", locale).env("LC_ALL", locale).output().expect("a run");
        assert_eq!(code(&output), 1);
        assert!(!out(&output).contains("panicked") && !err(&output).contains("panicked"));
        assert!(reports(&place) == expected, "{locale}: other reports");
    }
}
