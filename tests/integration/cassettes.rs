//! Record and replay with real servers and programs: the same verdict and the same bytes, without either.
#![cfg(unix)]

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use crate::chat_server::{ChatServer, completion};
use crate::command::{check, checked, code, command, err, folder, out, results, verdict};
use crate::process::wait_until;
use crate::raw_server::{RawServer, Step, json};

const KEY: &str = "sg-test-secret-7Q/w+x==";
const CASES: usize = 12;
const FILES: [&str; 5] = ["results.jsonl", "verdict.json", "junit.xml", "comment.md", "summary.md"];

fn data(cases: usize) -> String {
    (0..cases)
        .map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"question {at}?\",\"contexts\":[\"context {at}\"]}}\n"))
        .collect()
}

/// A chat target and two judges that ask the same question.
fn suite(url: &str) -> tempfile::TempDir {
    let text = format!(
        "version: 1\nname: tape\ndataset: {{ path: data.jsonl }}\nmodels:\n  m: {{ provider: openai, model: m, base_url: \"{url}/v1\", api_key: \"${{JUDGE_KEY}}\", price: {{ input: 1, output: 2 }} }}\n\
         targets:\n  one: {{ chat: {{ model: m, prompt: \"{{{{ contexts }}}} {{{{ input }}}}\" }} }}\n  two: {{ chat: {{ model: m, prompt: \"{{{{ contexts }}}} {{{{ input }}}}\" }} }}\n\
         evaluators:\n  relevancy: {{ model: m }}\n  again: {{ use: relevancy, model: m }}\n  length: {{ max: 30 }}\ngate:\n  metrics:\n    relevancy: {{ min: 0.2 }}\nrun: {{ trials: 2, retry: {{ attempts: 3 }} }}\n"
    );
    folder(&[("scoregate.yaml", &text), ("data.jsonl", &data(CASES))])
}

fn run(place: &Path, arguments: &[&str], key: Option<&str>) -> Output {
    let mut command = command(place, &["run"]);
    command.args(arguments);
    if let Some(key) = key {
        command.env("JUDGE_KEY", key);
    }
    command.output().expect("the binary starts")
}

/// Every report without the declared time fields.
fn reports(place: &Path) -> Vec<(&'static str, String)> {
    let timeless = |name: &str, line: &str| match name {
        "results.jsonl" if line.starts_with("{\"type\":\"run\"") || line.starts_with("{\"type\":\"end\"") => {
            let mut value: Value = serde_json::from_str(line).expect("JSON");
            let object = value.as_object_mut().expect("an object");
            ["started", "elapsed_ms", "id"].iter().for_each(|field| {
                object.remove(*field);
            });
            value.to_string()
        }
        "junit.xml" => line.split(' ').filter(|word| !word.starts_with("timestamp=")).collect(),
        _ => line.to_owned(),
    };
    let read = |name: &'static str| {
        let text = std::fs::read_to_string(place.join("scoregate-out").join(name)).expect(name);
        (name, text.lines().map(|line| timeless(name, line)).collect::<Vec<_>>().join("\n"))
    };
    FILES.iter().map(|name| read(name)).collect()
}

fn same(one: &[(&'static str, String)], two: &[(&'static str, String)]) {
    for ((name, one), (_, two)) in one.iter().zip(two) {
        let differs = one.lines().zip(two.lines()).find(|(one, two)| one != two);
        assert!(one == two, "{name} differs: {differs:#?}");
    }
}

/// Answers that differ each time, with refusals, unusable verdicts, a leaked key and failures for good.
fn lively(before: usize, body: &str) -> (&'static str, String) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::SeqCst);
    if body.contains("question 3?") {
        return ("500 Internal Server Error", format!("{{\"error\":{{\"message\":\"broken, {KEY}\"}}}}"));
    }
    if count % 7 == 3 && before == 0 {
        return ("503 Service Unavailable", "{}".to_owned());
    }
    if !body.contains("VERDICT") && !body.contains("YES") {
        return (
            "200 OK",
            completion(&format!("answer {count} {}", if count.is_multiple_of(5) { KEY } else { "plain" })),
        );
    }
    ("200 OK", completion(["YES", "NO", "I would rather not say"][count % 3]))
}

/// An answer for whoever asks a question, YES for whoever asks for a verdict.
fn agreeable(_: usize, body: &str) -> (&'static str, String) {
    let judge = body.contains("VERDICT") || body.contains("YES");
    ("200 OK", completion(if judge { "YES" } else { "as the context says" }))
}

#[test]
fn a_replay_without_server_key_or_ledger_says_the_same_to_the_byte() {
    let server = ChatServer::start(Duration::from_millis(1), lively);
    let place = suite(&server.url);
    let first = run(place.path(), &["--record", "tape.jsonl", "--workers", "8"], Some(KEY));
    let recorded = reports(place.path());
    let requests = server.with(|counts| counts.requests);
    assert!(requests > 100 && err(&first).contains("cassette: tape.jsonl holds"), "{}{}", out(&first), err(&first));
    let tape = std::fs::read_to_string(place.path().join("tape.jsonl")).expect("the cassette");
    assert!(!tape.contains("sg-test") && tape.contains("***") && !tape.to_lowercase().contains("bearer"));
    let kinds = ["\"kind\":\"server\"", "\"kind\":\"unusable\""];
    assert!(kinds.iter().all(|kind| recorded[0].1.contains(kind)), "the recording has too little in it");
    // Elsewhere, with nothing but the project and the cassette.
    for workers in ["1", "16"] {
        let other = suite(&server.url);
        std::fs::copy(place.path().join("tape.jsonl"), other.path().join("tape.jsonl")).expect("a copy");
        let replayed = run(other.path(), &["--replay", "tape.jsonl", "--workers", workers], None);
        assert_eq!(code(&replayed), code(&first), "{}{}", out(&replayed), err(&replayed));
        assert!(!err(&replayed).contains("not used"), "{}", err(&replayed));
        same(&recorded, &reports(other.path()));
        assert!(!other.path().join(".scoregate").exists(), "the ledger was made");
    }
    assert_eq!(server.with(|counts| counts.requests), requests, "the replay called somebody");
}

/// What was refused is in the cassette with its reply: a suite that reads it better needs no new call.
#[test]
fn a_better_path_reads_what_was_recorded() {
    let server = RawServer::start(|_| vec![Step::Send(json("200 OK", "{\"answer\":\"fine\"}"))]);
    let text = |path: &str| {
        let url = server.url("/ask");
        format!(
            "version: 1\nname: tape\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    http: {{ url: \"{url}\", body: {{ q: \"{{{{ input }}}}\" }}, answer: {path} }}\nevaluators:\n  length: {{ min: 1 }}\n"
        )
    };
    let place = folder(&[("scoregate.yaml", &text("$.anser")), ("data.jsonl", &data(3))]);
    check(place.path(), &["run", "--record", "tape.jsonl"], 3);
    let recorded = reports(place.path());
    let requests = server.requests().len();
    check(place.path(), &["run", "--replay", "tape.jsonl"], 3);
    same(&recorded, &reports(place.path()));
    std::fs::write(place.path().join("scoregate.yaml"), text("$.answer")).expect("a file");
    check(place.path(), &["run", "--replay", "tape.jsonl"], 0);
    assert_eq!(server.requests().len(), requests);
}

/// What came from the ledger is recorded as well, and the replay says so.
#[test]
fn a_recording_of_what_was_paid_for_before_pays_nothing() {
    let server = ChatServer::start(Duration::ZERO, agreeable);
    let place = suite(&server.url);
    checked(&run(place.path(), &[], Some(KEY)), 0);
    let requests = server.with(|counts| counts.requests);
    checked(&run(place.path(), &["--record", "tape.jsonl"], Some(KEY)), 0);
    assert_eq!(server.with(|counts| counts.requests), requests);
    let recorded = reports(place.path());
    checked(&run(place.path(), &["--replay", "tape.jsonl"], None), 0);
    same(&recorded, &reports(place.path()));
}

#[test]
fn what_is_not_in_the_cassette_is_an_error_of_its_case_and_can_be_added() {
    let server = ChatServer::start(Duration::ZERO, agreeable);
    let place = suite(&server.url);
    checked(&run(place.path(), &["--record", "tape.jsonl", "--ledger", "off"], Some(KEY)), 0);
    let requests = server.with(|counts| counts.requests);
    let changed =
        data(CASES + 1).replace("question 5?", "question five?").replace("{\"id\":\"q7\"", "{\"id\":\"gone\"");
    let changed: String =
        changed.lines().filter(|line| !line.contains("gone")).map(|line| format!("{line}\n")).collect();
    std::fs::write(place.path().join("data.jsonl"), changed).expect("a file");
    let said = checked(&run(place.path(), &["--replay", "tape.jsonl"], None), 3);
    assert!(said.contains("were not used, such as `"), "{said}");
    let lines = results(place.path());
    let errors: Vec<String> = lines
        .iter()
        .filter(|line| line["error"]["kind"] == "not_recorded")
        .map(|line| line["error"]["message"].to_string())
        .collect();
    assert_eq!(errors.len(), 8, "{errors:#?}");
    assert!(
        errors[0].contains("answer to case q5 is not in the cassette tape.jsonl: it was recorded with another body")
    );
    assert!(
        errors[7].contains("answer to case q12") && errors[7].contains("--record-mode new-episodes"),
        "{}",
        errors[7]
    );
    assert_eq!(server.with(|counts| counts.requests), requests, "the replay called somebody");
    let said = checked(&run(place.path(), &["--record", "tape.jsonl"], Some(KEY)), 2);
    assert!(said.contains("is there already") && said.contains("--record-mode all"), "{said}");
    let more = ["--record", "tape.jsonl", "--record-mode", "new-episodes", "--ledger", "off"];
    checked(&run(place.path(), &more, Some(KEY)), 0);
    // Two cases, two targets, two trials: an answer and two judges each.
    assert_eq!(server.with(|counts| counts.requests), requests + 24);
    let recorded = reports(place.path());
    checked(&run(place.path(), &["--replay", "tape.jsonl"], None), 0);
    same(&recorded, &reports(place.path()));
    let before = std::fs::read_to_string(place.path().join("tape.jsonl")).expect("the cassette");
    checked(&run(place.path(), &["--record", "tape.jsonl", "--record-mode", "all"], Some(KEY)), 0);
    let after = std::fs::read_to_string(place.path().join("tape.jsonl")).expect("the cassette");
    assert!(after.lines().count() < before.lines().count(), "what nobody asks for is gone");
}

#[test]
fn programs_are_replayed_wherever_the_checkout_lies() {
    let text = "version: 1\nname: tape\ndataset: { path: data.jsonl }\ntargets:\n  app:\n    command: { argv: [sh, ./app.sh, \"{{ input }}\"], env: { MODE: \"${APP_MODE}\" } }\nevaluators:\n  length: { min: 1 }\nrun: { trials: 2 }\n";
    let program = "echo x >> runs; case \"$1\" in *3*) echo \"no, $MODE\" >&2; exit 4;; *4*) printf '\\377\\000';; *) echo \"$1 in $MODE: $$\";; esac\n";
    let place = folder(&[("scoregate.yaml", text), ("data.jsonl", &data(6)), ("app.sh", program)]);
    let first = command(place.path(), &["run", "--record", "tape.jsonl"]).env("APP_MODE", KEY).output().expect("a run");
    let recorded = reports(place.path());
    let tape = std::fs::read_to_string(place.path().join("tape.jsonl")).expect("the cassette");
    assert!(!tape.contains(KEY) && tape.contains("did not answer in UTF-8") && tape.contains("body_base64"), "{tape}");
    let other = folder(&[("scoregate.yaml", text), ("data.jsonl", &data(6)), ("tape.jsonl", &tape)]);
    let replayed = command(other.path(), &["run", "--replay", "tape.jsonl"]).output().expect("a run");
    assert_eq!(code(&replayed), code(&first), "{}", err(&replayed));
    same(&recorded, &reports(other.path()));
    assert!(!other.path().join("runs").exists());
}

#[test]
fn kill_9_while_recording_loses_no_whole_line() {
    let server = ChatServer::start(Duration::from_millis(15), agreeable);
    let place = suite(&server.url);
    let mut child = command(place.path(), &["run", "--record", "tape.jsonl", "--workers", "4"])
        .env("JUDGE_KEY", KEY)
        .spawn()
        .expect("a run");
    wait_until("requests", || server.with(|counts| counts.requests) >= 40);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    let tape = place.path().join("tape.jsonl");
    let whole = std::fs::read(&tape).expect("the cassette");
    assert!(whole.split(|byte| *byte == b'\n').count() > 20);
    // A write cut by the system.
    std::fs::write(&tape, [&whole[..], b"{\"type\":\"call\",\"key\":\"01"].concat()).expect("a file");
    let said = checked(&run(place.path(), &["--replay", "tape.jsonl"], None), 3);
    assert!(said.contains("the last line of tape.jsonl is cut off"), "{said}");
    let more = ["--record", "tape.jsonl", "--record-mode", "new-episodes"];
    checked(&run(place.path(), &more, Some(KEY)), 0);
    let said = checked(&run(place.path(), &["--replay", "tape.jsonl"], None), 0);
    assert!(!said.contains("note:"), "{said}");
}

#[test]
fn a_variable_that_is_part_of_what_is_asked_must_be_set() {
    let server = RawServer::start(|_| vec![Step::Send(json("200 OK", "{\"answer\":\"fine\"}"))]);
    let text = "version: 1\nname: tape\ndataset: { path: data.jsonl }\ntargets:\n  app:\n    http: { url: \"${APP_URL}/ask\", headers: { x-tenant: \"${TENANT}\" }, body: { q: \"{{ input }}\", t: \"${APP_TOKEN}\" }, answer: $.answer }\nevaluators:\n  length: { min: 1 }\n";
    let place = folder(&[("scoregate.yaml", text), ("data.jsonl", &data(3))]);
    let with = |arguments: &[&str], variables: &[(&str, &str)]| {
        command(place.path(), arguments).envs(variables.iter().copied()).output().expect("a run")
    };
    let address = server.url("");
    let all = [("APP_URL", address.as_str()), ("TENANT", "tenant-0123"), ("APP_TOKEN", "token-0123")];
    checked(&with(&["run", "--record", "tape.jsonl"], &all), 0);
    let tape = std::fs::read_to_string(place.path().join("tape.jsonl")).expect("the cassette");
    assert!(all.iter().all(|(_, value)| !tape.contains(value)), "{tape}");
    let requests = server.requests().len();
    checked(&with(&["run", "--replay", "tape.jsonl"], &[all[0], all[2]]), 0);
    let said = checked(&with(&["run", "--replay", "tape.jsonl"], &all[1..]), 2);
    assert!(said.contains("`APP_URL` is not set") && said.contains("when the cassette was recorded"), "{said}");
    let said = checked(&with(&["run", "--replay", "tape.jsonl"], &all[..2]), 3);
    assert!(said.contains("`APP_TOKEN` is not set, and its value is part of what is asked"), "{said}");
    assert_eq!(server.requests().len(), requests);
}

#[test]
fn a_hostile_cassette_is_refused_or_shown_harmlessly() {
    let server = ChatServer::start(Duration::ZERO, agreeable);
    let place = suite(&server.url);
    checked(&run(place.path(), &["--record", "tape.jsonl"], Some(KEY)), 0);
    let tape = place.path().join("tape.jsonl");
    let whole = std::fs::read_to_string(&tape).expect("the cassette");
    let requests = server.with(|counts| counts.requests);
    for (good, bad, said) in [
        ("\"type\":\"call\"", "\"type\":\"\\u001b[31m::error::\"", "tape.jsonl:2"),
        ("\"status\":200", "\"status\":-1", "tape.jsonl:2"),
        ("\"schema\":1", "\"schema\":99", "version 99"),
        (whole.as_str(), "", "is empty"),
    ] {
        std::fs::write(&tape, whole.replacen(good, bad, 1)).expect("a file");
        let shown = checked(&run(place.path(), &["--replay", "tape.jsonl"], None), 2);
        assert!(shown.contains(said) && !shown.contains('\u{1b}'), "{shown}");
    }
    let hostile = whole.replacen("\"recorded\":\"", "\"recorded\":\"\\u001b[31m\\n::error::now\\u202e", 1);
    // An answer that no longer is one.
    let hostile =
        hostile.replacen("\"body\":\"{\\\"choices", "\"body\":\"{\\\"choice", 1).replacen("\\\"YES\\\"", "7", 1);
    std::fs::write(&tape, hostile).expect("a file");
    let replayed = run(place.path(), &["--replay", "tape.jsonl"], None);
    assert!(!err(&replayed).contains('\u{1b}') && !err(&replayed).lines().any(|line| line.starts_with("::")));
    assert_ne!(verdict(place.path())["verdict"], Value::Null);
    check(place.path(), &["run", "--replay", "nothing.jsonl"], 2);
    assert_eq!(server.with(|counts| counts.requests), requests);
}
