//! Cases of the topic `datasets` with the whole program: what is refused is refused before anything is called.

use std::time::Duration;

use crate::chat_server::{ChatServer, completion};
use crate::command::{check, code, command, err, fixture, folder, out, outcomes, report, results, scoregate, verdict};

/// A suite whose judge would be asked, with `data` under `name` and these data set settings.
fn suite(server: &ChatServer, name: &str, data: &[u8], settings: &str) -> tempfile::TempDir {
    let text = format!(
        "version: 1\nname: data\ndataset: {{ path: {name}{settings} }}\ntargets:\n  app:\n    http: {{ url: \"{0}/q\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}\nmodels:\n  judge: {{ provider: openai, model: m, base_url: \"{0}/v1\", api_key: none-needed }}\nevaluators:\n  relevancy: {{ model: judge }}\n",
        server.url
    );
    let place = folder(&[("scoregate.yaml", &text)]);
    std::fs::write(place.path().join(name), data).expect("a file");
    place
}

fn yes(_: usize, body: &str) -> (&'static str, String) {
    let text = if body.contains("\"messages\"") { completion("YES") } else { "{\"answer\":\"fine\"}".to_owned() };
    ("200 OK", text)
}

/// Refused with exit code 2, naming all of `words`, and nobody was called.
fn refused(file: &str, settings: &str, words: &[&str]) -> String {
    let server = ChatServer::start(Duration::ZERO, yes);
    let name = file.rsplit('/').next().expect("a name");
    let place = suite(&server, name, &fixture(file), settings);
    let said = check(place.path(), &["run"], 2);
    for word in words {
        assert!(said.contains(word), "`{word}` is not in:\n{said}");
    }
    assert_eq!(server.with(|counts| counts.connections), 0, "something was called");
    assert!(!place.path().join("scoregate-out").exists());
    assert!(!said.contains("panicked") && !said.contains('\u{fffd}'), "{said}");
    said
}

#[test]
fn ds_cp1252_csv_is_refused_before_any_call() {
    refused("datasets/cp1252.csv", "", &["cp1252.csv:2", "byte", "encoding"]);
}

#[test]
fn ds_gbk_csv_is_refused_before_any_call() {
    refused("datasets/gbk.csv", "", &["gbk.csv:", "byte", "encoding"]);
}

#[test]
fn ds_jsonl_bad_lines_are_refused_before_any_call() {
    let said = refused("datasets/bad-lines.jsonl", "", &["bad-lines.jsonl:5", "bad-lines.jsonl:7"]);
    assert!(said.len() < 3_000, "{said}");
}

#[test]
fn ds_csv_json_array_cell_is_refused_before_any_call() {
    let first = String::from_utf8(fixture("datasets/json-array-cell.csv")).expect("UTF-8");
    let columns: Vec<&str> = first.lines().next().expect("a header").split(',').collect();
    assert!(columns.contains(&"contexts"), "{columns:?}");
    refused("datasets/json-array-cell.csv", ", lists: json", &["json-array-cell.csv:3"]);
}

#[test]
fn ds_id_number_vs_text_is_refused_before_any_call() {
    refused(
        "datasets/id-number-text.jsonl",
        "",
        &["id-number-text.jsonl", "id-number-text.jsonl:1 and id-number-text.jsonl:2"],
    );
}

#[test]
fn ds_duplicate_ids_are_refused_before_any_call() {
    refused("datasets/duplicate-ids.csv", "", &["duplicate-ids.csv", " and "]);
}

/// References of a pull request's suite that leave the project.
#[test]
#[cfg(unix)]
fn ds_path_references_are_refused_before_any_call() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let outside = folder(&[("secret.csv", "id,input\n1,sg-test-secret-outside\n")]);
    let references = String::from_utf8(fixture("datasets/path-references.txt")).expect("UTF-8");
    for reference in references.lines() {
        let quoted = serde_json::to_string(reference).expect("a text");
        let place = suite(&server, "other.csv", b"id,input\n1,?\n", "");
        let path = place.path().join("scoregate.yaml");
        let text =
            std::fs::read_to_string(&path).expect("the suite").replace("path: other.csv", &format!("path: {quoted}"));
        std::fs::write(&path, text).expect("a file");
        std::fs::create_dir(place.path().join("data")).expect("a folder");
        std::fs::write(place.path().join("data/cases.csv"), "id,input\n1,?\n").expect("a file");
        let link = place.path().join("data/link-that-points-outside.csv");
        std::os::unix::fs::symlink(outside.path().join("secret.csv"), link).expect("a link");
        let allowed = ["data/cases.csv", "./data/../data/cases.csv"].contains(&reference);
        let output = scoregate(place.path(), &["check"]);
        let said = format!("{}{}", out(&output), err(&output));
        assert_eq!(code(&output), if allowed { 0 } else { 2 }, "{reference}: {said}");
        assert!(!said.contains("sg-test-secret-outside"), "{said}");
    }
    assert_eq!(server.with(|counts| counts.connections), 0);
}

/// Data with the syntax of templates, shells and variables reaches the target as it is.
#[test]
fn ds_template_chars_reach_the_target_as_they_are() {
    fn echo(_: usize, body: &str) -> (&'static str, String) {
        let asked: serde_json::Value = serde_json::from_str(body).expect("JSON");
        ("200 OK", serde_json::json!({"answer": asked["q"]}).to_string())
    }
    let server = ChatServer::start(Duration::ZERO, echo);
    let place = suite(&server, "data.jsonl", &fixture("datasets/template-chars.jsonl"), "");
    let path = place.path().join("scoregate.yaml");
    let text =
        std::fs::read_to_string(&path).expect("the suite").replace("relevancy: { model: judge }", "length: { min: 1 }");
    std::fs::write(&path, text).expect("a file");
    check(place.path(), &["run"], 0);
    let lines = String::from_utf8(fixture("datasets/template-chars.jsonl")).expect("UTF-8");
    let rows: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let outcomes = outcomes(place.path());
    assert_eq!(outcomes.len(), rows.len());
    for (row, outcome) in rows.iter().zip(outcomes) {
        let written = ["input", "question", "query"].iter().find_map(|key| row[key].as_str()).expect("an input");
        assert_eq!(outcome["answer"]["text"], written);
    }
}

/// Rows of three texts of two kilobytes; every hundredth answer is wrong. Memory does not grow with the rows.
#[test]
#[cfg(target_os = "linux")]
fn ds_large_generated() {
    let peak = |rows: usize| {
        let place = folder(&[]);
        let text = |at: usize, kind: &str| format!("{kind} {at:06} ").repeat(2_048 / (kind.len() + 8));
        let lines: String = (1..=rows)
            .map(|at| {
                let right = text(at, "answer");
                let answer = if at % 100 == 0 { text(at, "errors") } else { right.clone() };
                let input = text(at, "question");
                format!("{{\"id\":\"row-{at:06}\",\"input\":\"{input}\",\"output\":\"{answer}\",\"expected\":\"{right}\"}}\n")
            })
            .collect();
        std::fs::write(place.path().join("data.jsonl"), lines).expect("a file");
        let suite = "version: 1\nname: large\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    exact_match: { min: 0.5 }\n";
        std::fs::write(place.path().join("scoregate.yaml"), suite).expect("a file");
        // How many arenas the allocator opens depends on how busy the machine is, and is not what is asked here.
        let mut child = command(place.path(), &["run"])
            .env("MALLOC_ARENA_MAX", "1")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("a run");
        let status = format!("/proc/{}/status", child.id());
        let mut kilobytes = 0;
        let ended = loop {
            if let Some(high) = std::fs::read_to_string(&status).ok().and_then(|text| high_water(&text)) {
                kilobytes = high.max(kilobytes);
            }
            match child.try_wait().expect("a child") {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        assert_eq!(ended.code(), Some(0));
        assert_eq!(outcomes(place.path()).len(), rows);
        assert_eq!(results(place.path()).last().expect("an end")["outcomes"], rows);
        assert_eq!(verdict(place.path())["cases"]["scored"], rows);
        assert!(report(place.path(), "junit.xml").matches("<testcase ").count() >= rows);
        kilobytes
    };
    let (small, large) = (peak(500), peak(4_000));
    assert!(small > 0 && large < 128 * 1024, "{small} kB, {large} kB");
    // 3,500 more rows are 21 MB of text; a few hundred bytes for each are allowed.
    assert!(large < small + 8 * 1024, "{small} kB for 500 rows, {large} kB for 4,000");
}

#[cfg(target_os = "linux")]
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
