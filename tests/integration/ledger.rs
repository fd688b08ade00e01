//! Cases of the topic `cache` with the whole program.

use std::time::Duration;

use crate::chat_server::{ChatServer, completion};
use crate::command::{check, checked, code, command, err, folder, git, out, scoregate};

const CASES: usize = 6;
const LEDGER: &str = ".scoregate/ledger.sqlite";

fn yes(_: usize, _: &str) -> (&'static str, String) {
    ("200 OK", completion("YES"))
}

fn judged(url: &str) -> tempfile::TempDir {
    let suite = format!(
        "version: 1\nname: cache\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge: {{ provider: openai, model: m, base_url: \"{url}/v1\", api_key: none-needed }}\nevaluators:\n  relevancy: {{ model: judge }}\ngate:\n  metrics:\n    relevancy: {{ case_min: 1 }}\n"
    );
    let row =
        |at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"answer\":\"{at}\",\"answer_contexts\":[\"c\"]}}\n");
    folder(&[("scoregate.yaml", &suite), ("data.jsonl", &(0..CASES).map(row).collect::<String>())])
}

/// Somebody edits two rows of a restored cache.
#[test]
fn ca_poisoned() {
    let server = ChatServer::start(Duration::ZERO, |_, _| ("200 OK", completion("NO")));
    let place = judged(&server.url);
    check(place.path(), &["run"], 1);
    let ledger = rusqlite::Connection::open(place.path().join(LEDGER)).expect("the ledger");
    let changed = ledger
        .execute(
            "UPDATE call SET body = CAST(replace(CAST(body AS TEXT), 'NO', 'YES') AS BLOB) WHERE key IN (SELECT key FROM call LIMIT 2)",
            [],
        )
        .expect("an edit");
    assert_eq!(changed, 2);
    drop(ledger);
    let said = check(place.path(), &["run"], 1);
    assert!(said.contains("something else than scoregate changed"), "{said}");
    assert_eq!(server.with(|counts| counts.requests), CASES + 2, "only the changed ones are asked again");
    let said = check(place.path(), &["run"], 1);
    assert!(!said.contains("something else"), "{said}");
    assert_eq!(server.with(|counts| counts.requests), CASES + 2);
}

/// A row that belongs to another call, and a ledger of a later version.
#[test]
fn ca_poisoned_with_foreign_entries() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let place = judged(&server.url);
    check(place.path(), &["run"], 0);
    let ledger = rusqlite::Connection::open(place.path().join(LEDGER)).expect("the ledger");
    // Every row's answer, with its digest, under its neighbour's key.
    ledger
        .execute_batch(
            "CREATE TABLE other AS SELECT lead(key, 1, (SELECT min(key) FROM call)) OVER (ORDER BY key) AS key,
                 created_us, endpoint, status, latency_us, prompt_tokens, completion_tokens, cost_usd, digest, headers, body FROM call;
             DELETE FROM call;
             INSERT INTO call SELECT * FROM other;
             DROP TABLE other;",
        )
        .expect("an edit");
    drop(ledger);
    check(place.path(), &["run"], 0);
    assert_eq!(server.with(|counts| counts.requests), 2 * CASES);
    let ledger = rusqlite::Connection::open(place.path().join(LEDGER)).expect("the ledger");
    ledger.pragma_update(None, "user_version", 99).expect("an edit");
    drop(ledger);
    let said = check(place.path(), &["run"], 2);
    assert!(said.contains("ledger.sqlite") && said.contains("version 99"), "{said}");
    assert_eq!(server.with(|counts| counts.requests), 2 * CASES, "nothing of it was used, nothing was called");
}

#[test]
#[cfg(unix)]
fn ca_poisoned_by_a_link() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let outside = folder(&[("notes.txt", "not to be touched")]);
    for linked in [".scoregate", LEDGER] {
        let place = judged(&server.url);
        let target = if linked == LEDGER {
            std::fs::create_dir(place.path().join(".scoregate")).expect("a folder");
            outside.path().join("notes.txt")
        } else {
            outside.path().to_owned()
        };
        std::os::unix::fs::symlink(target, place.path().join(linked)).expect("a link");
        let said = check(place.path(), &["run"], 2);
        assert!(said.contains(".scoregate/ledger.sqlite") && said.contains("link"), "{said}");
    }
    assert_eq!(server.with(|counts| counts.connections), 0);
    assert_eq!(std::fs::read_dir(outside.path()).expect("a folder").count(), 1);
    assert_eq!(std::fs::read_to_string(outside.path().join("notes.txt")).expect("the file"), "not to be touched");
}

/// Parallel jobs on one machine: no row is lost, nobody fails, nothing is damaged.
#[test]
fn many_processes_share_one_file() {
    let server = ChatServer::start(Duration::from_millis(3), yes);
    let place = judged(&server.url);
    let rows: String = (0..30)
        .map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"answer\":\"{at}\",\"answer_contexts\":[\"c\"]}}\n"))
        .collect();
    std::fs::write(place.path().join("data.jsonl"), rows).expect("a file");
    let start = |at: usize| {
        let out = format!("out-{at}");
        command(place.path(), &["run", "--out", &out])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("a run")
    };
    let runs: Vec<_> = (0..6).map(start).collect();
    for run in runs {
        checked(&run.wait_with_output().expect("an end"), 0);
    }
    let asked = server.with(|counts| counts.requests);
    check(place.path(), &["run"], 0);
    assert_eq!(server.with(|counts| counts.requests), asked, "every answer was kept");
    let ledger = rusqlite::Connection::open(place.path().join(LEDGER)).expect("the ledger");
    let look = |question: &str| ledger.query_row(question, [], |row| row.get::<_, String>(0)).expect("an answer");
    assert_eq!(look("PRAGMA integrity_check"), "ok");
    assert_eq!(look("SELECT CAST(count(*) AS TEXT) FROM call"), "30");
}

/// A file that is carried to another job is the whole ledger.
#[test]
fn one_copied_file_is_enough() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let place = judged(&server.url);
    check(place.path(), &["run"], 0);
    let other = judged(&server.url);
    std::fs::create_dir(other.path().join(".scoregate")).expect("a folder");
    std::fs::copy(place.path().join(LEDGER), other.path().join(LEDGER)).expect("a copy");
    check(other.path(), &["run"], 0);
    assert_eq!(server.with(|counts| counts.requests), CASES);
}

#[test]
fn the_suite_says_how_the_ledger_is_used_and_the_command_line_goes_before_it() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let place = judged(&server.url);
    let path = place.path().join("scoregate.yaml");
    let text = std::fs::read_to_string(&path).expect("the suite");
    std::fs::write(&path, format!("{text}run: {{ ledger: {{ path: kept.sqlite, ttl: 7d, mode: refresh }} }}\n"))
        .expect("a suite");
    let mut asked = 0;
    for (arguments, more) in [
        (&["run"][..], CASES),
        (&["run"], CASES),
        (&["run", "--ledger", "on"], 0),
        (&["run", "--ledger", "off"], CASES),
    ] {
        check(place.path(), arguments, 0);
        asked += more;
        assert_eq!(server.with(|counts| counts.requests), asked, "{arguments:?}");
    }
    assert!(place.path().join("kept.sqlite").exists() && !place.path().join(LEDGER).exists());
    std::fs::write(&path, format!("{text}run: {{ ledger: {{ ttl: 0s }} }}\n")).expect("a suite");
    assert!(check(place.path(), &["check"], 2).contains("`ttl` must be more than nothing"));
    std::fs::write(&path, format!("{text}run: {{ ledger: {{ path: ../kept.sqlite }} }}\n")).expect("a suite");
    assert!(check(place.path(), &["check"], 2).contains("../kept.sqlite"));
}

#[test]
fn the_ledger_is_shown_and_pruned() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let place = judged(&server.url);
    let suite = std::fs::read_to_string(place.path().join("scoregate.yaml")).expect("the suite");
    let priced = suite.replace("model: m,", "model: \"m\\e[31m::error::x\", price: { input: 100000, output: 0 },");
    std::fs::write(place.path().join("scoregate.yaml"), priced).expect("a suite");
    for _ in 0..3 {
        check(place.path(), &["run"], 0);
    }
    let shown = scoregate(place.path(), &["ledger", "stats"]);
    let text = out(&shown);
    assert_eq!(code(&shown), 0, "{}", err(&shown));
    assert!(text.contains("6, ") && text.contains("12 times, which saved 144 tokens, $12.00"), "{text}");
    assert!(!text.contains('\u{1b}') && text.contains("UTC"), "{text}");
    let json = scoregate(place.path(), &["ledger", "stats", LEDGER, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&out(&json)).expect("JSON");
    assert_eq!((&json["total"]["answers"], &json["total"]["hits"]), (&6.into(), &12.into()));
    assert_eq!((&json["endpoints"][0]["cost_usd"], &json["endpoints"][0]["tokens"]), (&6.0.into(), &72.into()));
    let prune = |arguments: &[&str]| {
        let output = scoregate(place.path(), &[&["ledger", "prune"][..], arguments].concat());
        assert_eq!(code(&output), 0, "{}", err(&output));
        out(&output)
    };
    assert!(prune(&["--older-than", "1d"]).starts_with("removed 0 answers"));
    assert!(prune(&["--keep-size", "0B", "--dry-run"]).starts_with("would remove 6 answers"));
    let done: serde_json::Value =
        serde_json::from_str(&prune(&["--keep-size", "0B", "--format", "json"])).expect("JSON");
    assert_eq!((&done["removed"], &done["left"], &done["held"]), (&6.into(), &0.into(), &false.into()));
    for (arguments, why) in [
        (&["ledger", "prune"][..], "--older-than"),
        (&["ledger", "prune", "--keep-size", "100"], "is not a size"),
        (&["ledger", "stats", "nothing.sqlite"], "does not exist"),
    ] {
        let output = scoregate(place.path(), arguments);
        assert!(code(&output) == 2 && err(&output).contains(why), "{arguments:?}: {}", err(&output));
    }
    assert!(!place.path().join("nothing.sqlite").exists(), "looking makes no file");
}

/// What cannot be a ledger, or be written, is said before the first call, and left as it is.
#[test]
fn a_file_that_cannot_be_the_ledger_stops_the_run_before_the_first_call() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let place = judged(&server.url);
    let path = place.path().join(LEDGER);
    std::fs::create_dir(place.path().join(".scoregate")).expect("a folder");
    let notes = b"these are somebody's notes, and they are longer than the header of a database would be, for sure";
    std::fs::write(&path, notes).expect("a file");
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("this is no ledger") && said.contains("run.ledger"), "{said}");
    assert_eq!(std::fs::read(&path).expect("the file"), notes);
    let said = err(&scoregate(place.path(), &["ledger", "stats"]));
    assert!(said.contains("this is no ledger"), "{said}");
    std::fs::remove_file(&path).expect("the file");
    rusqlite::Connection::open(&path)
        .expect("a file")
        .execute_batch("CREATE TABLE visits (url TEXT)")
        .expect("a table");
    assert!(check(place.path(), &["run"], 3).contains("a database of another program"));
    std::fs::remove_file(&path).expect("the file");
    std::fs::create_dir(&path).expect("a folder in its place");
    assert!(check(place.path(), &["run"], 3).contains("cannot be opened"));
    assert_eq!(server.with(|counts| counts.connections), 0);
}

/// Who echoes the request does not get a secret into the ledger, and what is read from it scores as before.
#[test]
fn what_is_kept_holds_no_secret() {
    const KEY: &str = "sg-echoed-secret-0123456789";
    let server =
        ChatServer::start(Duration::ZERO, |_, _| ("200 OK", completion(&format!("The key is {KEY}.\nVERDICT: YES"))));
    let place = judged(&server.url);
    let path = place.path().join("scoregate.yaml");
    let suite = std::fs::read_to_string(&path).expect("the suite");
    std::fs::write(&path, suite.replace("none-needed", "\"${JUDGE_KEY}\"")).expect("a file");
    for _ in 0..2 {
        checked(&command(place.path(), &["run"]).env("JUDGE_KEY", KEY).output().expect("a run"), 0);
    }
    assert_eq!(server.with(|counts| counts.requests), CASES, "the second run reads what the first has kept");
    for file in [".scoregate/ledger.sqlite", "scoregate-out/results.jsonl"] {
        let bytes = std::fs::read(place.path().join(file)).expect("a file");
        assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "the secret is in {file}");
    }
}

/// The question to an application stays when the application changes: what the old one said is no evidence about the new one.
#[test]
fn kept_answers_are_of_this_version_of_the_application() {
    fn fine(_: usize, _: &str) -> (&'static str, String) {
        ("200 OK", serde_json::json!({"answer": "fine"}).to_string())
    }
    let server = ChatServer::start(Duration::ZERO, fine);
    let suite = |version: &str| {
        format!(
            "version: 1\nname: live\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    http: {{ url: \"{}/q\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer{version} }}\nevaluators:\n  length: {{ min: 1 }}\n",
            server.url
        )
    };
    let row = |at: usize| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\"}}\n");
    let rows = |cases: usize| (0..cases).map(row).collect::<String>();
    let place = folder(&[("scoregate.yaml", &suite("")), ("data.jsonl", &rows(3)), ("app.py", "1\n")]);
    let git = |arguments: &[&str]| git(place.path(), arguments);
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).expect("a file");
    // How many more requests a run takes.
    let asked = || {
        let before = server.with(|counts| counts.requests);
        check(place.path(), &["run"], 0);
        server.with(|counts| counts.requests) - before
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "first"]);
    assert_eq!((asked(), asked()), (3, 0), "nothing changed");
    write("data.jsonl", &rows(5));
    write("notes.txt", "git does not know it");
    assert_eq!(asked(), 2, "more of the same questions to the same application");
    write("app.py", "2\n");
    assert_eq!((asked(), asked()), (5, 0), "the application changed");
    git(&["commit", "--quiet", "-am", "second"]);
    assert_eq!((asked(), asked()), (5, 0), "another commit");
    // Reports and the baseline may be in the repository: they say nothing of the application.
    let gate = "gate: { baseline: { path: evals/base.jsonl, missing: warn } }\nreports: { dir: evals/reports }\n";
    write("scoregate.yaml", &format!("{}{gate}", suite("")));
    std::fs::create_dir_all(place.path().join("evals/reports")).expect("a folder");
    let (base, results) = ("evals/base.jsonl", "evals/reports/results.jsonl");
    asked();
    let update = |more: &[&str]| {
        let output = scoregate(place.path(), &[&["baseline", "update", results, "--to", base], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    };
    update(&[]);
    git(&["add", "-f", "."]);
    git(&["commit", "--quiet", "-m", "third"]);
    assert_eq!(asked(), 5, "another commit");
    update(&["--add"]);
    assert_eq!(asked(), 0, "another baseline and other reports, and the same application");
    write("scoregate.yaml", &suite(", version: \"7\""));
    assert_eq!(asked(), 5, "the version is stated");
    write("app.py", "3\n");
    assert_eq!(asked(), 0, "and it stayed");
    write("scoregate.yaml", &suite(", version: \"${IMAGE:-}\""));
    assert_eq!(asked(), 5, "an empty version is none: the checkout tells it");
    write("app.py", "4\n");
    assert_eq!(asked(), 5);
}
