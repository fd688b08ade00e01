//! `mode: batch` with real servers, real kills and real signals, in both providers' forms.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::batch_server::{BatchServer, FORMS, Fate, Form, Manner, Submission};
use crate::command::{code, err, out, outcomes};
use crate::process::{send, wait_until};

const CASES: usize = 12;
const KEY: &str = "sg-test-secret-7Q/w+x==";

fn suite(server: &BatchServer, batch: &str, extra: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: String = (0..CASES)
        .map(|at| {
            format!(
                "{{\"id\":\"q{at}\",\"input\":\"question {at}?\",\"answer\":\"answer {at}.\",\"answer_contexts\":[\"context {at}\"]}}\n"
            )
        })
        .collect();
    let provider = match server.form {
        Form::OpenAi => "openai",
        Form::Anthropic => "anthropic",
    };
    let text = format!(
        "version: 1\nname: batches\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge:\n    provider: {provider}\n    model: m\n    \
         base_url: \"{}\"\n    api_key: \"${{JUDGE_KEY}}\"\n    price: {{ input: 2.0, output: 8.0 }}\n    mode: batch\n    \
         batch: {{ poll: 20ms{batch} }}\nevaluators:\n  faithfulness: {{ model: judge }}\ngate:\n  metrics:\n    faithfulness: {{ min: 0.5 }}\n{extra}",
        server.url
    );
    std::fs::write(folder.path().join("data.jsonl"), rows).expect("a file");
    std::fs::write(folder.path().join("scoregate.yaml"), text).expect("a file");
    folder
}

fn start(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scoregate"));
    command
        // One slot: what waits for a batch needs none.
        .args(["run", "--workers", "1"])
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("JUDGE_KEY", KEY)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(folder: &Path, expected: i32) -> Output {
    let output = start(folder).output().expect("a run");
    assert_eq!(code(&output), expected, "{}{}", out(&output), err(&output));
    output
}

fn end(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("scoregate-out/results.jsonl")).expect("results");
    serde_json::from_str(text.lines().last().expect("an end line")).expect("JSON")
}

/// Every item was paid for once in a batch, and nothing was asked directly.
fn assert_paid_once(server: &BatchServer) {
    server.with(|seen| {
        assert_eq!(seen.in_batches.len(), CASES);
        assert!(seen.in_batches.values().all(|times| *times == 1), "{:?}", seen.in_batches);
        assert!(seen.direct.is_empty(), "{:?}", seen.direct);
        assert_eq!(seen.violations, Vec::<String>::new());
        // The submission and its answer, and the looks at the batch.
        assert!(seen.checked > 3, "{} parts were compared with the contract", seen.checked);
    });
}

#[test]
fn a_whole_run_goes_by_batch_at_half_the_price() {
    for form in FORMS {
        let server = BatchServer::start(form, Manner { looks: 3, ..Manner::default() });
        let folder = suite(&server, "", "");
        let first = run(folder.path(), 0);
        assert_paid_once(&server);
        let said = err(&first);
        let id = server.ids().remove(0);
        assert!(said.contains(&format!("batch {id} submitted: 12 requests")), "{said}");
        assert!(said.contains(&format!("batch {id} in progress: ")), "{said}");
        assert!(said.contains(&format!("batch {id} ended: 12 of 12 answered")), "{said}");
        let before = end(folder.path());
        assert_eq!(before["calls"]["requests"], CASES);
        assert_eq!(before["usage"]["prompt_tokens"], 10 * CASES);
        // 10 tokens at $2 and 2 at $8 a million, halved.
        let cost = before["cost"].as_f64().expect("a cost");
        assert!((cost - 18e-6 * CASES as f64).abs() < 1e-9, "{cost}");
        let looks = server.with(|seen| seen.looks);
        run(folder.path(), 0);
        assert_eq!(end(folder.path())["calls"]["cache_hits"], CASES);
        assert_paid_once(&server);
        assert_eq!(server.with(|seen| seen.looks), looks, "a batch that is done is looked at no more");
    }
}

/// What the batch does not bring is asked for directly; what is wrong stays wrong.
#[test]
fn what_fails_in_a_batch_falls_back_alone() {
    fn mixed(body: &str) -> Fate {
        match body {
            body if body.contains("answer 1.") => Fate::Broken,
            body if body.contains("answer 2.") => Fate::Missing,
            body if body.contains("answer 3.") => Fate::Invalid,
            body if body.contains("answer 4.") => Fate::Says("perhaps"),
            _ => Fate::Says("YES"),
        }
    }
    for form in FORMS {
        let server = BatchServer::start(form, Manner { fate: mixed, ..Manner::default() });
        let folder = suite(&server, "", "");
        let output = run(folder.path(), 3);
        let said = err(&output);
        assert!(said.contains("ended: 9 of 12 answered; 1 refused ("), "{said}");
        assert!(said.contains("asked directly, at the full price: 1 failed, 1 missing in the results"), "{said}");
        server.with(|seen| {
            assert_eq!((seen.submissions, seen.direct.values().sum::<usize>()), (1, 3), "{:?}", seen.direct);
            let asked = |text: &str| seen.direct.keys().any(|body| body.contains(text));
            assert!(asked("answer 1.") && asked("answer 2.") && asked("answer 4."), "{:?}", seen.direct);
            assert_eq!(seen.violations, Vec::<String>::new());
        });
        let lost = |outcome: &&Value| outcome["scores"][0].get("error").is_some_and(|error| !error.is_null());
        let outcomes = outcomes(folder.path());
        let lost: Vec<&Value> = outcomes.iter().filter(lost).collect();
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert_eq!((&lost[0]["case"], lost[0].to_string().contains("too long")), (&Value::from("q3"), true));
    }
}

#[test]
fn an_expired_or_cancelled_batch_keeps_what_it_finished() {
    fn expired(body: &str) -> Fate {
        if body.contains("answer 1") { Fate::Says("YES") } else { Fate::Expired }
    }
    fn cancelled(body: &str) -> Fate {
        if body.contains("answer 1") { Fate::Says("YES") } else { Fate::Cancelled }
    }
    for form in FORMS {
        for (fate, word) in [(expired as fn(&str) -> Fate, "expired"), (cancelled, "cancelled")] {
            let server = BatchServer::start(form, Manner { fate, ..Manner::default() });
            let folder = suite(&server, "", "");
            let said = err(&run(folder.path(), 0));
            // 1, 10 and 11.
            assert!(said.contains("ended: 3 of 12 answered"), "{said}");
            assert!(said.contains(&format!("full price: 9 {word}")), "{said}");
            server.with(|seen| {
                assert_eq!((seen.submissions, seen.direct.len()), (1, 9));
                assert!(seen.direct.values().all(|times| *times == 1));
                assert_eq!(seen.violations, Vec::<String>::new());
            });
            // 3 at half the price, 9 at the whole.
            let cost = end(folder.path())["cost"].as_f64().expect("a cost");
            assert!((cost - (3.0 * 18e-6 + 9.0 * 36e-6)).abs() < 1e-9, "{cost}");
        }
    }
}

#[test]
fn kill_9_after_the_submission_pays_nothing_twice() {
    for form in FORMS {
        let server = BatchServer::start(form, Manner { looks: usize::MAX, ..Manner::default() });
        let folder = suite(&server, "", "");
        let mut child = start(folder.path()).spawn().expect("a run");
        wait_until("a look", || server.with(|seen| seen.looks > 0));
        send(&child, Signal::SIGKILL);
        child.wait().expect("an end");
        server.end_all();
        let resumed = run(folder.path(), 0);
        let id = server.ids().remove(0);
        assert!(err(&resumed).contains(&format!("batch {id} (12 requests) of an earlier run is waited for")));
        assert_eq!(server.with(|seen| seen.submissions), 1);
        assert_paid_once(&server);
        assert_eq!(end(folder.path())["outcomes"], CASES);
        assert_eq!(end(folder.path())["usage"]["prompt_tokens"], 10 * CASES, "it is accounted for when it arrives");
        run(folder.path(), 0);
        assert_paid_once(&server);
    }
}

/// The provider has the batch, and nobody knows its id.
#[test]
fn kill_9_before_the_answer_to_the_submission_pays_nothing_twice() {
    for form in FORMS {
        let server = BatchServer::start(form, Manner { submissions: vec![Submission::Stalls], ..Manner::default() });
        // One that looks like it: as old, and as large.
        server.add_strange(CASES);
        let folder = suite(&server, "", "");
        let mut child = start(folder.path()).spawn().expect("a run");
        wait_until("a submission", || server.with(|seen| seen.submissions == 1));
        send(&child, Signal::SIGKILL);
        child.wait().expect("an end");
        run(folder.path(), 0);
        assert_eq!(server.with(|seen| seen.submissions), 1);
        assert_paid_once(&server);
    }
}

#[test]
fn an_answer_that_was_lost_is_looked_for_before_anything_is_submitted_again() {
    for form in FORMS {
        let submissions = vec![Submission::LosesAnswer];
        let server = BatchServer::start(form, Manner { submissions, ..Manner::default() });
        let folder = suite(&server, "", "");
        run(folder.path(), 0);
        assert_eq!(server.with(|seen| seen.submissions), 1);
        assert_paid_once(&server);
    }
}

/// A list lags behind: what is not in it at once was made all the same.
#[test]
fn a_batch_that_is_listed_late_is_not_submitted_again() {
    for form in FORMS {
        for submission in [
            Submission::LosesAnswer,
            Submission::Answers("<html>all is well</html>"),
            Submission::Answers("{}"),
            Submission::Answers("{\"id\": \"ba"),
        ] {
            let manner = Manner { submissions: vec![submission], unlisted: 5, ..Manner::default() };
            let server = BatchServer::start(form, manner);
            let folder = suite(&server, ", appears: 60s", "");
            let output = run(folder.path(), 0);
            assert!(err(&output).contains("whether a batch of 12 requests arrived is not known"), "{}", err(&output));
            assert_eq!(server.with(|seen| seen.submissions), 1, "{submission:?}");
            assert_paid_once(&server);
        }
    }
}

#[test]
fn a_provider_in_trouble_gets_the_batch_later() {
    for form in FORMS {
        let busy = match form {
            Form::OpenAi => Submission::Refused(503, "server_is_overloaded"),
            Form::Anthropic => Submission::Refused(529, "overloaded_error"),
        };
        let submissions = vec![busy, Submission::Refused(429, "rate_limit_error")];
        let server = BatchServer::start(form, Manner { submissions, ..Manner::default() });
        let folder = suite(&server, ", appears: 100ms", "");
        run(folder.path(), 0);
        assert_paid_once(&server);
    }
}

/// Old answers to the same questions are in the ledger, and may not be used: the batch is what the run waits for.
#[test]
fn kill_9_of_a_run_that_asks_anew_pays_nothing_twice() {
    for (arguments, extra) in [(vec!["--ledger", "refresh"], ""), (vec![], "run: { ledger: { ttl: 1ms } }\n")] {
        let server = BatchServer::start(Form::Anthropic, Manner::default());
        let folder = suite(&server, "", extra);
        run(folder.path(), 0);
        server.hold_all();
        let looks = server.with(|seen| seen.looks);
        let mut child = start(folder.path()).args(&arguments).spawn().expect("a run");
        wait_until("a look", || server.with(|seen| seen.looks > looks));
        send(&child, Signal::SIGKILL);
        child.wait().expect("an end");
        server.end_all();
        let resumed = start(folder.path()).args(&arguments).output().expect("a run");
        assert_eq!(code(&resumed), 0, "{}", err(&resumed));
        assert!(err(&resumed).contains("(12 requests) of an earlier run is waited for"), "{}", err(&resumed));
        server.with(|seen| {
            assert_eq!((seen.submissions, seen.direct.len()), (2, 0), "{arguments:?}");
            assert!(seen.in_batches.values().all(|times| *times == 2), "{:?}", seen.in_batches);
        });
    }
}

/// The journal of a run without a ledger holds what is remembered of its batches.
#[test]
fn an_impatient_run_without_a_ledger_leaves_the_batch_too() {
    let server = BatchServer::start(Form::OpenAi, Manner { looks: usize::MAX, ..Manner::default() });
    let folder = suite(&server, ", max_wait: 4s", "");
    let go = || start(folder.path()).args(["--ledger", "off"]).output().expect("a run");
    let first = go();
    assert_eq!(code(&first), 3, "{}", err(&first));
    server.end_all();
    let second = go();
    assert_eq!(code(&second), 0, "{}", err(&second));
    assert_eq!(server.with(|seen| seen.submissions), 1);
    assert_paid_once(&server);
    let journal = folder.path().join("scoregate-out/.scoregate-journal.sqlite");
    assert!(!journal.exists(), "nothing is left to wait for");
}

#[test]
fn sigint_leaves_the_batch_for_a_later_run() {
    for form in FORMS {
        let server = BatchServer::start(form, Manner { looks: usize::MAX, ..Manner::default() });
        let folder = suite(&server, "", "");
        let child = start(folder.path()).spawn().expect("a run");
        wait_until("a look", || server.with(|seen| seen.looks > 0));
        send(&child, Signal::SIGINT);
        let output = child.wait_with_output().expect("an end");
        assert_eq!(code(&output), 130, "{}", err(&output));
        let id = server.ids().remove(0);
        let told = format!("batch {id} (12 requests) goes on at the provider; run again to pick up its answers");
        assert_eq!(err(&output).matches(&told).count(), 1, "{}", err(&output));
        server.end_all();
        run(folder.path(), 0);
        assert_eq!(server.with(|seen| seen.submissions), 1);
        assert_paid_once(&server);
    }
}

#[test]
fn a_deadline_and_an_impatient_suite_leave_the_batch_too() {
    for (batch, extra, words) in [
        ("", "run: { deadline: 4s }\n", "`deadline` passed"),
        (", max_wait: 4s", "", "has not ended within 4 s (`batch.max_wait`)"),
    ] {
        let server = BatchServer::start(Form::Anthropic, Manner { looks: usize::MAX, ..Manner::default() });
        let folder = suite(&server, batch, extra);
        let output = run(folder.path(), 3);
        let said = format!("{}{}", out(&output), err(&output));
        let written = std::fs::read_to_string(folder.path().join("scoregate-out/results.jsonl")).expect("results");
        assert!(said.contains(words) || written.contains(words), "{said}{written}");
        server.end_all();
        run(folder.path(), 0);
        assert_eq!(server.with(|seen| seen.submissions), 1);
        assert_paid_once(&server);
    }
}

#[test]
fn a_refused_batch_is_one_clear_message() {
    for (form, status, kind) in [
        (Form::OpenAi, 401, "invalid_api_key"),
        (Form::OpenAi, 429, "insufficient_quota"),
        (Form::OpenAi, 400, "invalid_request_error"),
        (Form::Anthropic, 401, "authentication_error"),
        (Form::Anthropic, 402, "billing_error"),
    ] {
        let submissions = vec![Submission::Refused(status, kind)];
        let server = BatchServer::start(form, Manner { submissions, ..Manner::default() });
        let folder = suite(&server, "", "");
        let output = run(folder.path(), 3);
        let said = err(&output);
        let told = "will be asked no more: a batch of 12 requests was not accepted";
        assert_eq!(said.matches(told).count(), 1, "{said}");
        assert!(!said.contains(KEY));
        server.with(|seen| assert_eq!((seen.submissions, seen.direct.len()), (0, 0)));
        // Mended, it goes through.
        run(folder.path(), 0);
        assert_paid_once(&server);
    }
}

#[test]
fn a_batch_that_is_found_invalid_is_one_clear_message() {
    let server = BatchServer::start(Form::OpenAi, Manner { invalid: true, ..Manner::default() });
    let folder = suite(&server, "", "");
    let output = run(folder.path(), 3);
    let said = err(&output);
    let told = "will be asked no more: batch batch_1 was refused: line 1: The provided model is not supported by the Batch API.";
    assert_eq!(said.matches(told).count(), 1, "{said}");
    assert!(server.with(|seen| seen.direct.is_empty()));
}

#[test]
fn two_runs_do_not_wait_for_the_same_batches() {
    let server = BatchServer::start(Form::OpenAi, Manner { looks: usize::MAX, ..Manner::default() });
    let folder = suite(&server, "", "");
    let child = start(folder.path()).spawn().expect("a run");
    wait_until("a look", || server.with(|seen| seen.looks > 0));
    let output = start(folder.path()).args(["--out", "elsewhere"]).output().expect("a run");
    assert_eq!(code(&output), 2, "{}", err(&output));
    let said = err(&output);
    assert!(said.contains("another run waits for the batches of the ledger") && said.contains("process "), "{said}");
    server.end_all();
    let first = child.wait_with_output().expect("an end");
    assert_eq!(code(&first), 0, "{}", err(&first));
    assert_paid_once(&server);
}

/// What is still in its batch is asked nowhere else, in packs too.
#[test]
fn a_pack_that_is_still_in_its_batch_is_not_asked_alone() {
    let server = BatchServer::start(Form::OpenAi, Manner { looks: usize::MAX, ..Manner::default() });
    let folder = suite(&server, ", max_wait: 4s", "run: { batch_size: 4 }\n");
    run(folder.path(), 3);
    server.with(|seen| assert_eq!((seen.submissions, seen.in_batches.len(), seen.direct.len()), (1, CASES / 4, 0)));
    let kind = |outcome: &Value| outcome["scores"][0]["error"]["kind"].as_str().map(str::to_owned);
    let outcomes = outcomes(folder.path());
    assert!(outcomes.iter().all(|outcome| kind(outcome).as_deref() == Some("in_batch")), "{:?}", outcomes[0]);
    server.end_all();
    let later = err(&run(folder.path(), 0));
    assert!(later.contains("(3 requests) of an earlier run is waited for"), "{later}");
    assert_eq!(server.with(|seen| seen.submissions), 1);
}

/// Packs go by batch; what a pack leaves open does not wait for another one.
#[test]
fn a_pack_without_verdicts_is_asked_again_alone_and_directly() {
    for form in FORMS {
        let server = BatchServer::start(form, Manner::default());
        let folder = suite(&server, "", "run: { batch_size: 4 }\n");
        run(folder.path(), 0);
        server.with(|seen| {
            assert_eq!((seen.submissions, seen.in_batches.len()), (1, CASES / 4));
            assert_eq!(seen.direct.len(), CASES, "{:?}", seen.direct);
            assert_eq!(seen.violations, Vec::<String>::new());
        });
        assert_eq!(end(folder.path())["calls"]["repairs"], CASES);
        run(folder.path(), 0);
        assert_eq!(server.with(|seen| (seen.submissions, seen.direct.values().sum::<usize>())), (1, CASES));
    }
}
