//! Cases of the topic `junit` that need the whole program.

use std::time::Duration;

use crate::chat_server::ChatServer;
use crate::command::{check, fixture, folder, outcomes, report};

/// c1 and c3 are answered at the third attempt, c2 is answered wrongly at once: an answer is no reason to ask again.
#[test]
fn ju_retries() {
    let table = String::from_utf8(fixture("junit/attempts.jsonl")).expect("UTF-8");
    assert!(
        table.contains("\"c1\",\"attempt\":2,\"outcome\":\"error\"")
            && table.contains("\"c3\",\"attempt\":2,\"outcome\":\"error\"")
    );
    fn script(before: usize, body: &str) -> (&'static str, String) {
        match body {
            body if body.contains("c2") => ("200 OK", "{\"answer\":\"wrong\"}".to_owned()),
            _ if before < 2 => ("503 Service Unavailable", "{}".to_owned()),
            _ => ("200 OK", "{\"answer\":\"right\"}".to_owned()),
        }
    }
    let server = ChatServer::start(Duration::ZERO, script);
    let suite = format!(
        "version: 1\nname: retries\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    http: {{ url: \"{}/q\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}\nevaluators:\n  exact_match: {{}}\ngate:\n  metrics:\n    exact_match: {{ case_min: 1 }}\nrun: {{ workers: 1 }}\n",
        server.url
    );
    let row = |id: &str| format!("{{\"id\":\"{id}\",\"input\":\"{id}\",\"reference\":\"right\"}}\n");
    let rows: String = ["c1", "c2", "c3"].map(row).concat();
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &rows)]);
    let said = check(place.path(), &["run"], 1);
    assert!(said.contains("4 retried"), "{said}");
    let attempts: Vec<_> = outcomes(place.path()).iter().map(|line| line["answer"]["attempts"].as_u64()).collect();
    assert_eq!(attempts, [Some(3), Some(1), Some(3)]);
    let junit = report(place.path(), "junit.xml");
    let cases: Vec<&str> = junit.split("<testcase ").skip(1).collect();
    let of = |id: &str| -> Vec<&str> {
        let name = format!("name=\"{id} / exact_match\"");
        cases.iter().copied().filter(|case| case.contains(&name)).collect()
    };
    for id in ["c1", "c3"] {
        let found = of(id);
        assert_eq!(found.len(), 1, "{junit}");
        assert!(found[0].contains("name=\"attempts\" value=\"3\"") && !found[0].contains("<failure"), "{}", found[0]);
    }
    let failed = of("c2");
    assert_eq!(failed.len(), 1, "{junit}");
    assert!(failed[0].contains("<failure") && !failed[0].contains("name=\"attempts\""), "{}", failed[0]);
}
