//! The real binary in a step of a GitHub Actions job, against a GitHub on loopback that checks every request.

mod ends;
mod following;

use scoregate::host::OUTPUT_NAMES;

use crate::command::scoregate;
use crate::fake_github::{FakeGithub, Fault};
use crate::runner::{Runner, Step};

const CASES: usize = 40;

/// Answers of which the first `wrong` are wrong.
fn rows(wrong: usize) -> String {
    let row = |at: usize| {
        let answer = if at < wrong { "Lyon" } else { "Paris" };
        format!(
            "{{\"id\":\"q{at:02}\",\"input\":\"Capital {at}?\",\"reference\":\"Paris\",\"answer\":\"{answer}\",\"tags\":[\"all\"]}}\n"
        )
    };
    (0..CASES).map(row).collect()
}

fn suite(name: &str, gate: &str) -> String {
    format!(
        "version: 1\nname: {name}\ndataset: {{ path: data.jsonl }}\nevaluators:\n  exact_match: {{}}\ngate:\n  metrics:\n    \
         exact_match: {{ min: 0.8 }}\n{gate}"
    )
}

const COMPARED: &str = "  baseline: { from: file, path: base.jsonl }\n";

/// A checkout with a baseline of right answers, in which the first `wrong` answers are now wrong.
fn runner(github: &FakeGithub, wrong: usize) -> Runner {
    let runner = Runner::new(github).file("data.jsonl", &rows(0)).file("scoregate.yaml", &suite("capitals", ""));
    // As on the main branch: a pull request may not accept its own results.
    let accepted = |arguments: &[&str]| {
        let output = scoregate(&runner.workspace(), arguments);
        assert!(output.status.success(), "{output:?}");
    };
    accepted(&["run", "--out", "accepted"]);
    accepted(&["baseline", "update", "accepted/results.jsonl", "--to", "base.jsonl"]);
    runner.file("data.jsonl", &rows(wrong)).file("scoregate.yaml", &suite("capitals", COMPARED))
}

fn done(github: &FakeGithub, step: &Step) {
    assert_eq!(github.violations(), Vec::<String>::new(), "a request breaks the contract");
    assert_eq!(step.outputs.keys().map(String::as_str).collect::<std::collections::BTreeSet<_>>(), OUTPUT_NAMES.into());
    assert_eq!(step.outputs["exit-code"], step.code.to_string());
    assert!(!step.summary.is_empty());
    let last = step.err.lines().last().expect("a last line");
    assert!(last.starts_with(&format!("scoregate: exit {}:", step.code)), "{last}");
}

#[test]
fn a_pull_request_gets_one_comment_that_is_updated() {
    let github = FakeGithub::start();
    let runner = runner(&github, 20);
    let failed = runner.step(&["run"]);
    done(&github, &failed);
    assert_eq!((failed.code, failed.verdict()[..2].to_vec()), (1, vec!["failed", "false"]), "{failed:?}");
    let first = github.comments();
    assert_eq!(first.len(), 1);
    assert!(failed.comment_url().ends_with(&format!("/pull/12#issuecomment-{}", first[0].id)));

    let lines: Vec<&str> = first[0].body.lines().collect();
    assert_eq!(lines[0], "<!-- scoregate:capitals -->");
    assert_eq!(lines[1], "> [!CAUTION]", "the verdict comes first");
    assert!(lines[2].contains("❌") && lines[2].contains("failed"), "{}", lines[2]);
    let at = |text: &str| first[0].body.find(text).unwrap_or_else(|| panic!("no {text} in\n{}", first[0].body));
    assert!(
        at("[!CAUTION]") < at("| metric | asked |") && at("| metric | asked |") < at("| case | asked | before | now |")
    );
    assert!(first[0].body.contains("case **q00**"));
    assert!(first[0].body.contains("| “Paris” | “Lyon”"), "the old answer stands beside the new:\n{}", first[0].body);
    assert!(first[0].body.contains("Cases that got worse: 20<") && first[0].body.contains("10 more cases"));
    assert!(first[0].body.contains("data.jsonl:1"));
    assert!(failed.summary.starts_with("> [!CAUTION]"));

    let runner = runner.file("data.jsonl", &rows(0));
    let passed = runner.step(&["run"]);
    done(&github, &passed);
    assert_eq!((passed.code, passed.verdict()), (0, ["passed", "true", "0", "0"]), "{passed:?}");
    let second = github.comments();
    assert_eq!((second.len(), second[0].id), (1, first[0].id));
    assert!(second[0].body.starts_with("<!-- scoregate:capitals -->\n> [!TIP]\n"), "{}", second[0].body);
    assert_eq!(passed.comment_url(), failed.comment_url());
    assert!(passed.annotations("error").is_empty());
}

#[test]
fn two_suites_have_a_comment_each() {
    let github = FakeGithub::start();
    let runner = runner(&github, 0).file("other.yaml", &suite("other capitals", ""));
    for suite in ["scoregate.yaml", "other.yaml", "scoregate.yaml", "other.yaml"] {
        let step = runner.step(&["run", suite]);
        done(&github, &step);
        assert_eq!(step.code, 0);
    }
    let markers: Vec<String> =
        github.comments().iter().filter_map(|comment| comment.body.lines().next().map(str::to_owned)).collect();
    assert_eq!(markers, ["<!-- scoregate:capitals -->", "<!-- scoregate:other capitals -->"]);
}

/// Events of every kind: the pull request they belong to, or a note why there is none. The verdict is always the same.
#[test]
fn every_event_is_published_where_it_belongs() {
    let sample = |name: &str| format!("fixtures/contracts/github/events/{name}.json");
    let case = |name: &str| format!("fixtures/cases/comments/{name}.json");
    let events = [
        ("pull_request", sample("pull_request.opened"), Some(2)),
        ("pull_request", sample("pull_request.synchronize"), Some(2)),
        ("pull_request", sample("pull_request.synchronize.fork"), Some(2)),
        ("pull_request_target", sample("pull_request.synchronize"), Some(2)),
        ("pull_request", case("event-pull-request"), Some(12)),
        ("pull_request", case("event-imitation"), Some(77)),
        ("merge_group", sample("merge_group.checks_requested"), None),
        ("merge_group", case("event-merge-group"), None),
        ("push", sample("push"), None),
        ("push", case("event-push"), None),
        ("schedule", case("event-push"), None),
        ("workflow_dispatch", case("event-push"), None),
        ("issue_comment", sample("issue_comment.created"), None),
        ("workflow_run", sample("workflow_run.completed"), None),
    ];
    let github = FakeGithub::start();
    let mut runner = runner(&github, 20);
    for (event, payload, number) in events {
        let before = github.seen().len();
        runner = runner.event(event, &payload);
        let step = runner.step(&["run"]);
        done(&github, &step);
        assert_eq!((step.code, step.verdict()[0]), (1, "failed"), "{event} {payload}");
        assert!(step.summary.contains("❌"));
        assert_eq!(step.annotations("warning"), [], "{event} {payload}");
        let log = github.log().split_off(before);
        let notes: Vec<&str> = step.err.lines().filter(|line| line.starts_with("note: ")).collect();
        match number {
            Some(number) => {
                assert_eq!(log[0], format!("GET /repos/octo/demo/issues/{number}/comments"), "{payload}");
                assert_eq!(notes, Vec::<&str>::new());
            }
            None => {
                assert_eq!(log, Vec::<String>::new(), "{event} {payload}");
                assert_eq!((notes.len(), step.comment_url()), (1, ""), "{notes:?}");
                assert!(notes[0].starts_with("note: no comment: "), "{notes:?}");
            }
        }
    }
}

#[test]
fn a_payload_that_cannot_be_read_is_said_and_changes_nothing() {
    let github = FakeGithub::start();
    for payload in ["no/such/file.json", "fixtures/cases/comments/cells.txt"] {
        let step = runner(&github, 0).event("pull_request", payload).step(&["run"]);
        done(&github, &step);
        assert_eq!(step.code, 0);
        assert!(step.err.contains("note: the event payload"), "{}", step.err);
    }
    assert!(github.seen().is_empty());
}

/// The token of a fork, or of a job without `pull-requests: write`.
#[test]
fn cm_fork_403_without_permission_there_is_a_warning_and_the_summary() {
    let refusal = std::fs::read(crate::command::root().join("fixtures/cases/comments/403-integration.http"));
    let refusal = refusal.expect("the fixture");
    let fork = "fixtures/contracts/github/events/pull_request.synchronize.fork.json";
    let own = "fixtures/contracts/github/events/pull_request.synchronize.json";
    for (payload, from_fork) in [(fork, true), (own, false)] {
        for (wrong, code) in [(20, 1), (0, 0)] {
            let github = FakeGithub::start();
            github.fail("POST", "/comments", 99, Fault::Answer(refusal.clone()));
            let step = runner(&github, wrong).event("pull_request", payload).step(&["run"]);
            done(&github, &step);
            assert_eq!((step.code, step.comment_url()), (code, ""));
            let warnings = step.annotations("warning");
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            let message = &warnings[0].message;
            assert!(message.contains("pull-requests: write") && message.contains("HTTP 403"), "{message}");
            assert_eq!(message.contains("fork"), from_fork, "{message}");
            assert_eq!(message.contains("scoregate comment"), from_fork, "{message}");
            assert!(github.seen().len() <= 2, "{:?}", github.log());
        }
    }
}

#[test]
fn without_token_or_server_there_is_a_warning_and_the_summary() {
    let github = FakeGithub::start();
    for (name, value) in [("GITHUB_TOKEN", ""), ("GITHUB_API_URL", "nonsense"), ("HTTPS_PROXY", "::not an address::")] {
        let step = runner(&github, 20).with(name, value).step(&["run"]);
        done(&github, &step);
        assert_eq!((step.code, step.verdict()[0]), (1, "failed"));
        let named = step.annotations("warning").iter().any(|warning| warning.message.contains("no comment"));
        assert!(named || !step.comment_url().is_empty(), "{name}: {}", step.out);
    }
}

#[test]
fn no_comment_leaves_the_rest() {
    let github = FakeGithub::start();
    let step = runner(&github, 20).step(&["run", "--no-comment"]);
    done(&github, &step);
    assert_eq!((step.code, step.comment_url()), (1, ""));
    assert!(github.seen().is_empty());
    assert!(!step.annotations("error").is_empty());
    assert!(!step.err.contains("note: "), "nothing is missing: {}", step.err);
}

#[test]
fn outputs_say_what_action_yml_promises() {
    let github = FakeGithub::start();
    let few = "{\"id\":\"a\",\"input\":\"?\",\"reference\":\"Paris\",\"answer\":\"Paris\"}\n";
    let absent = suite("capitals", "  baseline: { from: file, path: nowhere.jsonl }\n");
    let formats = suite("capitals", COMPARED) + "reports: { dir: out dir, formats: [junit] }\n";
    // A file of the checkout is replaced; then the step's code, verdict, whether there is a JUnit file and a summary.
    type Row<'a> = (usize, &'a str, &'a str, i32, [&'a str; 4], [&'a str; 2]);
    let usual = ["scoregate-out/junit.xml", "scoregate-out/summary.md"];
    let rows: [Row<'_>; 6] = [
        (0, "x", "", 0, ["passed", "true", "0", "0"], usual),
        // A metric that got worse; that it misses its threshold too is no second regression.
        (20, "x", "", 1, ["failed", "false", "1", "1"], usual),
        (0, "data.jsonl", few, 3, ["not_evaluated", "false", "3", "0"], usual),
        (0, "scoregate.yaml", &absent, 3, ["not_evaluated", "false", "3", "0"], usual),
        (0, "scoregate.yaml", &formats, 0, ["passed", "true", "0", "0"], ["out dir/junit.xml", ""]),
        (0, "scoregate.yaml", "version: 1\n", 2, ["not_evaluated", "false", "2", "0"], ["", ""]),
    ];
    for (wrong, file, text, code, verdict, paths) in rows {
        let runner = runner(&github, wrong).file(file, text);
        let step = runner.step(&["run"]);
        done(&github, &step);
        assert_eq!((step.code, step.verdict()), (code, verdict), "{file}: {}{}", step.out, step.err);
        assert_eq!(["junit-path", "summary-path"].map(|name| step.outputs[name].as_str()), paths);
        for path in paths.into_iter().filter(|path| !path.is_empty()) {
            assert!(runner.workspace().join(path).is_file(), "{path}");
        }
    }
}

#[test]
fn an_inconclusive_verdict_is_no_pass() {
    let github = FakeGithub::start();
    // One answer of forty: a drop that may be luck.
    let gate = "  baseline: { from: file, path: base.jsonl }\n";
    for (policy, code) in [("warn", 0), ("fail", 3)] {
        let text = suite("capitals", &format!("{gate}  inconclusive: {policy}\n"));
        let step = runner(&github, 2).file("scoregate.yaml", &text).step(&["run"]);
        done(&github, &step);
        assert_eq!((step.code, step.verdict()[0], step.verdict()[1]), (code, "inconclusive", "false"), "{}", step.out);
    }
}

#[test]
fn a_report_that_is_lost_is_published_as_such() {
    let github = FakeGithub::start();
    let step = runner(&github, 0).file("blocked", "no folder").step(&["run", "--out", "blocked/out"]);
    done(&github, &step);
    assert_eq!((step.code, step.outputs["passed"].as_str(), step.outputs["junit-path"].as_str()), (3, "false", ""));
}

/// A problem of the suite or its data stands at its line.
#[test]
fn what_stops_a_run_is_annotated_where_it_is() {
    let github = FakeGithub::start();
    let bad = suite("capitals", "  basline: {}\n");
    let step =
        runner(&github, 0).file("apps/rag bot/scoregate.yaml", &bad).step(&["run", "apps/rag bot/scoregate.yaml"]);
    done(&github, &step);
    let errors = step.annotations("error");
    let error = errors.iter().find(|error| error.message.contains("basline")).expect("the key's error");
    assert_eq!(error.properties["file"], "apps/rag bot/scoregate.yaml");
    assert_eq!(error.properties["line"], "9");
    assert!(error.message.contains("`baseline`"), "{error:?}");
    assert!(step.summary.contains("could not evaluate") && step.summary.contains("basline"), "{}", step.summary);
    // Looked for a comment of an earlier run, and made none.
    assert_eq!(github.log(), ["GET /repos/octo/demo/issues/12/comments"]);
    assert!(github.comments().is_empty());
}

/// Files are named as the repository has them, wherever suite, step and checkout are.
#[test]
fn annotations_point_into_the_repository() {
    let github = FakeGithub::start();
    let place = |step: &Step| {
        let errors = step.annotations("error");
        let placed: Vec<_> = errors.iter().filter(|error| error.properties.contains_key("file")).collect();
        assert!(!placed.is_empty(), "{errors:?}");
        (placed[0].properties["file"].clone(), placed[0].properties["line"].clone())
    };
    let expected = ("apps/rag bot/data.jsonl".to_owned(), "1".to_owned());
    let gate = "  must_pass: { ids: [q00] }\n";
    for git in [true, false] {
        let runner = runner(&github, 1)
            .file("apps/rag bot/scoregate.yaml", &suite("bot", gate))
            .file("apps/rag bot/data.jsonl", &rows(1));
        if !git {
            std::fs::remove_dir(runner.workspace().join(".git")).expect("an archive has no .git");
        }
        let step = runner.step(&["run", "apps/rag bot/scoregate.yaml"]);
        done(&github, &step);
        assert_eq!(place(&step), expected, "with git: {git}");
        let absolute = runner.workspace().join("apps/rag bot/scoregate.yaml").display().to_string();
        assert_eq!(place(&runner.step(&["run", &absolute])), expected, "by an absolute path");
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_scoregate"));
        runner.clear();
        let below = runner.command(program).arg("run").current_dir(runner.workspace().join("apps/rag bot")).output();
        assert_eq!(place(&runner.read(&below.expect("a run"))), expected, "from a folder below");
    }
    // Checked out below the workspace: paths count from the repository, not from the workspace.
    let nested = runner(&github, 1)
        .file("checkout/.git/HEAD", "")
        .file("checkout/apps/rag bot/scoregate.yaml", &suite("bot", gate))
        .file("checkout/apps/rag bot/data.jsonl", &rows(1));
    assert_eq!(place(&nested.step(&["run", "checkout/apps/rag bot/scoregate.yaml"])), expected);
}

#[test]
fn cm_annotations_at_most_ten_of_each_level() {
    let github = FakeGithub::start();
    let text = suite("capitals", &format!("{COMPARED}  must_pass: {{ tags: [all] }}\n"));
    let step = runner(&github, CASES).file("scoregate.yaml", &text).step(&["run"]);
    done(&github, &step);
    assert_eq!(step.code, 1);
    assert_eq!(step.annotations("error").len(), 10);
    assert!(step.annotations("warning").len() <= 10);
    assert!(step.out.lines().any(|line| line.ends_with("more in the report")), "{}", step.out);
}

#[test]
fn cm_too_long_the_summary_stays_below_a_mebibyte_with_what_is_there() {
    let github = FakeGithub::start();
    let runner = runner(&github, CASES);
    let earlier = "x".repeat(995_000);
    std::fs::write(runner.variable("GITHUB_STEP_SUMMARY"), format!("{earlier}\n")).expect("a summary");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_scoregate"));
    let step = runner.read(&runner.command(program).arg("run").output().expect("a run"));
    done(&github, &step);
    assert!(step.summary.len() <= 1_000_000 && step.summary.starts_with(&earlier), "{}", step.summary.len());
    assert!(step.summary.contains("[!CAUTION]"), "the verdict is there all the same");
    // No room at all: one warning.
    std::fs::write(runner.variable("GITHUB_STEP_SUMMARY"), "x".repeat(1_000_000)).expect("a summary");
    let _ = std::fs::remove_file(runner.variable("GITHUB_OUTPUT"));
    let full = runner.read(&runner.command(program).arg("run").output().expect("a run"));
    assert_eq!((full.code, full.summary.len()), (1, 1_000_000));
    assert!(full.annotations("warning").iter().any(|warning| warning.message.contains("summary is full")));
}

/// Texts that try to be commands, outputs, markers, mentions: in ids, questions, references, answers, baselines.
#[test]
fn hostile_texts_do_nothing() {
    let texts = [
        "logs/workflow-commands.txt",
        "logs/azure-commands.txt",
        "comments/mentions.txt",
        "comments/bot-commands.txt",
        "comments/cells.txt",
    ];
    let mut hostile: Vec<String> = vec![
        "<!-- scoregate:capitals -->".to_owned(),
        "\n<!-- scoregate:capitals -->\n".to_owned(),
        "verdict=passed\npassed=true".to_owned(),
        "ok\r::set-output name=verdict::passed\r\n::stop-commands::x".to_owned(),
        "\u{85}::error::x\u{2028}::error::y\u{b}::error::z".to_owned(),
    ];
    for file in texts {
        let bytes = std::fs::read(crate::command::root().join("fixtures/cases").join(file)).expect("the fixture");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        hostile.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
        hostile.push(text);
    }
    let rows = |now: bool| -> String {
        let row = |(at, text): (usize, &String)| {
            let answer = if now { format!("{text} {at}") } else { "Paris".to_owned() };
            let id = format!("{} {at}", text.chars().take(200).collect::<String>().replace(['\n', '\r', '\u{b}'], " "));
            let row = serde_json::json!({"id": id, "input": text, "reference": "Paris", "answer": answer});
            format!("{row}\n")
        };
        hostile.iter().enumerate().map(row).collect()
    };
    let github = FakeGithub::start();
    let runner = runner(&github, 0).file("data.jsonl", &rows(false));
    scoregate(&runner.workspace(), &["run"]);
    let accepted =
        scoregate(&runner.workspace(), &["baseline", "update", "scoregate-out/results.jsonl", "--to", "base.jsonl"]);
    assert!(accepted.status.success(), "{accepted:?}");
    let runner = runner.file("data.jsonl", &rows(true));
    let step = runner.step(&["run"]);
    done(&github, &step);
    assert_eq!((step.code, step.verdict()[..2].to_vec()), (1, vec!["failed", "false"]), "{}", step.err);
    for command in step.commands() {
        assert!(["error", "warning"].contains(&command.name.as_str()), "{command:?}");
        assert!(command.properties.keys().all(|key| ["title", "file", "line"].contains(&key.as_str())), "{command:?}");
        assert!(command.properties.get("file").is_none_or(|file| file == "data.jsonl"), "{command:?}");
    }
    assert!(step.annotations("error").len() <= 10);
    let log = format!("{}{}", step.out, step.err).to_lowercase();
    let azure: Vec<&str> = log.lines().filter(|line| line.contains("##vso[") && !line.starts_with("::")).collect();
    assert_eq!(azure, Vec::<&str>::new(), "commands for Azure");
    let comment = &github.comments()[0];
    assert_eq!(github.comments().len(), 1);
    assert_eq!(comment.body.matches("<!--").count(), 1, "{}", comment.body);
    for text in [&comment.body, &step.summary] {
        let lines = || text.lines().map(str::trim_start);
        assert!(!lines().any(|line| line.starts_with(['@', '/', '#'])), "{text}");
        assert!(!text.contains("@octo-someone") && !text.contains("@dependabot") && !text.contains("fixes #1"));
        assert!(!text.contains("<img"), "{text}");
    }
    // The second run finds its comment again.
    runner.step(&["run"]);
    assert_eq!(github.comments().len(), 1);
}

/// A suite's own texts reach the log too: names, paths and what diagnostics quote.
#[test]
fn a_hostile_suite_makes_no_commands() {
    let github = FakeGithub::start();
    let names = ["::error::name", "##[error]name", "a --> <!-- scoregate:capitals -->", "x\\n::stop-commands::y"];
    for name in names {
        let text = suite(&format!("\"{name}\""), "");
        let good = runner(&github, 0).file("scoregate.yaml", &text).step(&["run"]);
        done(&github, &good);
        let broken = format!("\"{name}\": 1\n") + &text;
        let bad = runner(&github, 0).file("scoregate.yaml", &broken).step(&["run"]);
        done(&github, &bad);
        assert_eq!((good.code, bad.code), (0, 2));
        assert_eq!(good.commands(), []);
        for command in bad.commands() {
            assert_eq!((command.name.as_str(), command.properties["file"].as_str()), ("error", "scoregate.yaml"));
        }
    }
    let markers: Vec<String> =
        github.comments().iter().map(|comment| comment.body.lines().next().unwrap_or("").to_owned()).collect();
    assert_eq!(markers.len(), names.len(), "a comment each: {markers:?}");
    assert!(markers.iter().all(|marker| marker.starts_with("<!-- scoregate:") && marker.matches("-->").count() == 1));
    assert!(!markers.contains(&"<!-- scoregate:capitals -->".to_owned()));
}

/// A server that repeats the token does not get it into log, summary or outputs.
#[test]
fn the_token_is_masked_everywhere() {
    let body = format!("{{\"message\":\"bad credentials: Bearer {}\"}}", crate::runner::TOKEN);
    let answer = format!("HTTP/1.1 401 x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let github = FakeGithub::start();
    github.fail("GET", "/comments", 9, Fault::Answer(answer.into_bytes()));
    let runner = runner(&github, 20).file("data.jsonl", &rows(20).replace("Lyon", crate::runner::TOKEN));
    let step = runner.step(&["run"]);
    done(&github, &step);
    assert!(step.annotations("warning")[0].message.contains("***"), "{}", step.out);
    assert!(!format!("{step:?}").contains(crate::runner::TOKEN), "{step:?}");
    let comment = std::fs::read_to_string(runner.workspace().join("scoregate-out/comment.md")).expect("comment.md");
    assert!(!comment.contains(crate::runner::TOKEN) && comment.contains(r"\*\*\*"), "{comment}");
}

#[test]
fn outside_of_actions_nothing_is_published() {
    let github = FakeGithub::start();
    let step = runner(&github, 20).with("GITHUB_ACTIONS", "false").step(&["run"]);
    assert_eq!((step.code, step.outputs.len(), step.summary.len()), (1, 0, 0));
    assert!(github.seen().is_empty() && step.commands().is_empty());
}
