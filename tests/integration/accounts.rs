//! No silent retries (R26): what the server saw is what every report says.

use serde_json::Value;

use crate::chat_server::completion;
use crate::command::{folder, out, report, results, scoregate, verdict};
use crate::raw_server::{RawServer, Step, json};

fn rows(cases: usize) -> String {
    let row = |at| {
        format!(
            "{{\"id\":\"q{at}\",\"input\":\"question {at}?\",\"answer\":\"answer {at}\",\"answer_contexts\":[\"context {at}\"]}}\n"
        )
    };
    (0..cases).map(row).collect()
}

fn suite(server: &RawServer, run: &str) -> String {
    format!(
        "version: 1\nname: accounts\ndataset: {{ path: data.jsonl }}\n\
         models:\n  judge: {{ provider: openai, model: m, base_url: \"{}\", price: {{ input: 1, output: 2 }} }}\n\
         evaluators:\n  faithfulness: {{ model: judge }}\ngate:\n  metrics:\n    faithfulness: {{ min: 0.5 }}\n{run}",
        server.url("/v1")
    )
}

/// Breaks in every way that is tried again, and some that are not.
fn flaky(number: usize) -> Vec<Step> {
    let answer = |text: &str| vec![Step::Send(json("200 OK", &completion(text)))];
    match number {
        9 => vec![Step::Send(json("429 Too Many Requests", "{\"error\":{\"message\":\"slow down\"}}"))],
        17 => vec![Step::Send(json("503 Service Unavailable", "{\"error\":{\"message\":\"busy\"}}"))],
        23 => vec![Step::Send(json("400 Bad Request", "{\"error\":{\"message\":\"no\"}}"))],
        // The request was read, and nothing comes.
        n if n % 13 == 5 => vec![Step::Close],
        n if n % 5 == 2 => vec![Step::Send(json("500 Internal Server Error", "{\"error\":{\"message\":\"oh\"}}"))],
        n if n % 11 == 7 => answer("perhaps"),
        _ => answer("YES"),
    }
}

fn properties(junit: &str) -> Vec<(String, String)> {
    let (_, gate) = junit.split_once("<testsuite name=\"gate\"").expect("the gate");
    let (gate, _) = gate.split_once("</properties>").expect("properties of the gate's suite");
    let value = |line: &str, name: &str| line.split_once(&format!("{name}=\"")).map(|(_, rest)| rest.to_owned());
    let until = |text: String| text.split('"').next().unwrap_or_default().to_owned();
    gate.lines().filter_map(|line| Some((until(value(line, "name")?), until(value(line, "value")?)))).collect()
}

#[test]
fn every_report_says_the_requests_that_the_server_saw() {
    let server = RawServer::start(flaky);
    let place = folder(&[("scoregate.yaml", &suite(&server, "run: { workers: 4 }\n")), ("data.jsonl", &rows(40))]);
    let output = scoregate(place.path(), &["run"]);
    let screen = out(&output);
    let seen = server.requests().len() as u64;
    let end = results(place.path()).pop().expect("an end");
    let calls = &end["calls"];
    let number = |name: &str| calls[name].as_u64().unwrap_or_else(|| panic!("no {name} in {calls}"));
    assert_eq!(number("requests"), seen, "{screen}");
    assert!(seen > 40 && number("retries") > 5 && number("repairs") > 0, "{calls}");
    assert!(number("waits") > 5 && number("waited_ms") > 0, "{calls}");
    let verdict = verdict(place.path());
    assert_eq!(verdict["calls"], *calls);
    let (planned, measured) = (end["scores"]["planned"].as_u64(), end["scores"]["measured"].as_u64());
    assert_eq!((planned, measured), (Some(40), verdict["cases"]["cells_scored"].as_u64()));
    let unmeasured = (40 - measured.expect("a number")) as f64 / 40.0;
    assert!(unmeasured > 0.0, "the refused request must not vanish");
    assert!((verdict["unmeasured"].as_f64().expect("a share") - unmeasured).abs() < 1e-6);
    let properties = properties(&report(place.path(), "junit.xml"));
    let property = |name: &str| properties.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    for name in ["requests", "retries", "cache_hits", "repairs", "waits", "waited_ms"] {
        assert_eq!(property(name), Some(number(name).to_string()), "{name}");
    }
    assert!((property("unmeasured").expect("a share").parse::<f64>().expect("a number") - unmeasured).abs() < 1e-6);
    let words = [
        format!("{seen} requests, {} retried", number("retries")),
        format!("{} asked again for the form", number("repairs")),
        format!("{} waits", number("waits")),
        format!("{} of 40 scores measured", measured.expect("a number")),
    ];
    for (name, text) in [
        ("the screen", screen),
        ("comment.md", report(place.path(), "comment.md")),
        ("summary.md", report(place.path(), "summary.md")),
    ] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in &words {
            assert!(text.contains(words), "{name} lacks `{words}`:\n{text}");
        }
    }
}

#[test]
fn a_second_run_counts_the_ledger_s_answers_and_no_wait() {
    let server = RawServer::start(|_| vec![Step::Send(json("200 OK", &completion("YES")))]);
    let place = folder(&[("scoregate.yaml", &suite(&server, "")), ("data.jsonl", &rows(6))]);
    for (requests, hits) in [(6, 0), (0, 6)] {
        let output = scoregate(place.path(), &["run"]);
        assert_eq!(output.status.code(), Some(0), "{}", out(&output));
        let end = results(place.path()).pop().expect("an end");
        let calls = &end["calls"];
        let expected = serde_json::json!({
            "requests": requests, "retries": 0, "cache_hits": hits, "repairs": 0, "waits": 0, "waited_ms": 0,
        });
        assert_eq!(*calls, expected);
    }
    assert_eq!(server.requests().len(), 6);
}

/// Pacing is a wait, although nothing is tried again.
#[test]
fn what_a_stated_limit_holds_back_is_counted() {
    let server = RawServer::start(|_| vec![Step::Send(json("200 OK", &completion("YES")))]);
    let text = suite(&server, "").replace("model: m,", "model: m, limits: { rpm: 600 },");
    let place = folder(&[("scoregate.yaml", &text), ("data.jsonl", &rows(15))]);
    scoregate(place.path(), &["run"]);
    let end = results(place.path()).pop().expect("an end");
    let waits = end["calls"]["waits"].as_u64().expect("a number");
    assert!((1..=15).contains(&waits) && end["calls"]["waited_ms"].as_u64() > Some(0), "{end}");
    assert_eq!(end["calls"]["retries"], 0);
}

/// `check` foresees a run to the call, without one.
#[test]
fn check_foresees_calls_tokens_money_time_and_what_is_kept() {
    let server = RawServer::start(|_| vec![Step::Send(json("200 OK", &completion("YES")))]);
    let plain =
        suite(&server, "").replace("price: { input: 1, output: 2 }", "price: { input: 0, output: 1 }, max_tokens: 100");
    let budget = "run: { budget: { usd: 0.0005, requests: 5, tokens: 10000000 } }\n";
    let limited = format!("{}{budget}", plain.replace("model: m,", "model: m, limits: { rpm: 60 },"));
    let place = folder(&[("scoregate.yaml", &limited), ("data.jsonl", &rows(10))]);
    let foreseen = || -> Value {
        let output = scoregate(place.path(), &["check", "--format", "json"]);
        assert_eq!(output.status.code(), Some(0), "{}", out(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let first = foreseen();
    assert_eq!((&first["cases"], &first["schema"]), (&10.into(), &1.into()));
    let total = &first["cost"]["total"];
    assert_eq!((&total["calls"], &total["kept"]), (&10.into(), &0.into()));
    assert_eq!(total["reply_tokens"], serde_json::json!([10, 1_000]));
    assert!(total["prompt_tokens"].as_u64() > Some(1_000), "{total}");
    let cost: Vec<f64> = total["cost_usd"].as_array().expect("a range").iter().filter_map(Value::as_f64).collect();
    assert!((cost[0] - 1e-5).abs() < 1e-9 && (cost[1] - 1e-3).abs() < 1e-9, "{cost:?}");
    assert_eq!(total["least_seconds"], 9.0, "60 a minute, the first at once");
    let enough = |name: &str| first["cost"]["budget"][name]["enough"].clone();
    assert_eq!([enough("usd"), enough("requests"), enough("tokens")], ["maybe", "no", "yes"]);
    let said = out(&scoregate(place.path(), &["check"]));
    for words in [
        "calls: 10 to make; no ledger answers any",
        "`requests: 5` does not suffice",
        "at least 9.0 s",
        "10 to 1,000 received",
    ] {
        assert!(said.contains(words), "no `{words}` in\n{said}");
    }
    assert_eq!(server.connections(), 0, "check calls nobody");
    assert!(!place.path().join(".scoregate").exists(), "check makes no ledger");

    std::fs::write(place.path().join("scoregate.yaml"), &plain).expect("a file");
    scoregate(place.path(), &["run"]);
    assert_eq!(server.requests().len(), 10, "as many as foreseen");
    let files = || -> Vec<_> {
        let entries = std::fs::read_dir(place.path().join(".scoregate")).expect("the ledger's folder");
        let mut all: Vec<_> =
            entries.map(|file| file.expect("a file").path()).map(|path| (std::fs::read(&path).ok(), path)).collect();
        all.sort_by(|left, right| left.1.cmp(&right.1));
        all
    };
    let before = files();
    let second = foreseen();
    assert_eq!((&second["cost"]["total"]["calls"], &second["cost"]["total"]["kept"]), (&0.into(), &10.into()));
    assert!(before == files(), "check changed the ledger");
}

/// A judge's question depends on an answer that is not known: it is foreseen all the same.
#[test]
fn check_foresees_judges_of_live_targets() {
    let server = RawServer::start(|_| vec![Step::Send(json("200 OK", &completion("YES")))]);
    let chat = "targets:\n  app: { chat: { model: judge } }\nevaluators:";
    let text = suite(&server, "run: { trials: 2 }\n")
        .replace("evaluators:", chat)
        .replace("  faithfulness: {", "  correctness: {");
    let text = text.replace("{ min: 0.5 }", "{ min: 1 }");
    let text = text.replace("metrics:\n    faithfulness", "metrics:\n    correctness");
    let place = folder(&[("scoregate.yaml", &text), ("data.jsonl", &rows(3))]);
    let output = scoregate(place.path(), &["check", "--format", "json"]);
    let value: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", crate::command::err(&output)));
    assert_eq!(value["cost"]["total"]["calls"], 12, "three cases, two trials, an answer and a verdict each");
    assert_eq!(server.connections(), 0);
}

/// What is reserved for calls in flight comes back when they land: only who does not fit alone is too much.
#[test]
fn a_budget_is_used_up_by_what_was_spent() {
    let server = RawServer::start(|_| vec![Step::Send(json("200 OK", &completion("YES")))]);
    let run = |tokens: u32| {
        let text = suite(&server, &format!("run: {{ workers: 16, budget: {{ tokens: {tokens} }} }}\n"));
        let text = text.replace("model: m,", "model: m, max_tokens: 900,");
        let place = folder(&[("scoregate.yaml", &text), ("data.jsonl", &rows(40))]);
        (scoregate(place.path(), &["run"]), place)
    };
    // Each may take about 1,300 and takes 12.
    let (output, _) = run(2_000);
    assert_eq!(output.status.code(), Some(0), "{}", out(&output));
    assert_eq!(server.requests().len(), 40);
    let (output, place) = run(1_600);
    assert_eq!(output.status.code(), Some(3), "{}", out(&output));
    assert!(report(place.path(), "comment.md").contains("max_tokens"), "{}", out(&output));
    let sent = server.requests().len() - 40;
    assert!((1..40).contains(&sent), "{sent}");
}

/// A reply that was cut off is no answer, and is paid for.
#[test]
fn what_the_application_s_lost_replies_took_is_counted() {
    let cut = r#"{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"An answer that"},"finish_reason":"length"}],"usage":{"prompt_tokens":1000,"completion_tokens":500}}"#;
    let server = RawServer::start(move |_| vec![Step::Send(json("200 OK", cut))]);
    let suite = format!(
        "version: 1\nname: accounts\ndataset: {{ path: data.jsonl }}\n\
         models:\n  app: {{ provider: openai, model: m, base_url: \"{}\", price: {{ input: 1, output: 2 }} }}\n\
         targets: {{ app: {{ chat: {{ model: app }} }} }}\nevaluators:\n  length: {{ min: 1 }}\n",
        server.url("/v1")
    );
    let row = |at| format!("{{\"id\":\"q{at}\",\"input\":\"question {at}?\"}}\n");
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &(0..4).map(row).collect::<String>())]);
    let output = scoregate(place.path(), &["run"]);
    assert_eq!(output.status.code(), Some(3), "{}", out(&output));
    let stored = results(place.path());
    let end = stored.last().expect("an end line");
    let requests = end["calls"]["requests"].as_u64().expect("a number");
    assert!(requests >= 4, "{end}");
    assert_eq!(end["usage"]["prompt_tokens"], 1_000 * requests, "{end}");
    assert_eq!(end["usage"]["completion_tokens"], 500 * requests, "{end}");
    let cost = end["cost"].as_f64().expect("a cost");
    assert!((cost - 0.002 * requests as f64).abs() < 1e-9, "{end}");
}

/// Without its price nobody can say beforehand what a call costs.
#[test]
fn a_budget_of_money_needs_prices() {
    let server = RawServer::start(|_| vec![Step::Send(json("200 OK", &completion("YES")))]);
    let text = suite(&server, "run: { budget: { usd: 0.000001 } }\n").replace(", price: { input: 1, output: 2 }", "");
    let place = folder(&[("scoregate.yaml", &text), ("data.jsonl", &rows(3))]);
    for command in ["check", "run"] {
        let output = scoregate(place.path(), &[command]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("`run.budget.usd` cannot bound what `judge` costs") && said.contains(":5:"), "{said}");
    }
    assert_eq!(server.requests().len(), 0);
}
