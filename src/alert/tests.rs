//! Messages against servers on loopback, and what is never shown.

use std::time::Duration;

use serde_json::{Value, json};

use super::send::send_after;
use super::*;
use crate::diagnostic::Diagnostics;
use crate::domain::{Env, Redactor};
use crate::net::Client;
use crate::net::tests::raw_server::{RawServer, Step, json as answer};
use crate::suite::Block;

const HOSTILE: &str = "<!channel> <at user_id=\"all\"></at> @all [x](http://evil.test) {{ url }} \"}]";

fn news() -> News {
    News {
        suite: "support-rag".to_owned(),
        verdict: "failed".to_owned(),
        exit_code: 1,
        headline: format!("failed: {HOSTILE}"),
        details: vec!["recall worse: fell by 5 points".to_owned(), format!("case {HOSTILE}: 1 → 0")],
        url: Some("https://ci.test/run/7".to_owned()),
        commit: Some("0123456789abcdef".to_owned()),
        branch: Some("main".to_owned()),
        drifted: false,
    }
}

/// Entries as a suite has them, every address from the environment.
fn built(entries: &[Value]) -> (Vec<Alert>, Vec<String>) {
    let block = |(at, entry): (usize, &Value)| {
        let mut block = Block::from_value(&at.to_string(), "alert", entry.clone());
        block.path = format!("alerts.{at}");
        let mut written = (*block.written).clone();
        written.from_environment.extend(["/url".to_owned(), "/secret".to_owned(), "/headers/authorization".to_owned()]);
        block.written = std::sync::Arc::new(written);
        block
    };
    let blocks: Vec<Block> = entries.iter().enumerate().map(block).collect();
    let mut problems = Diagnostics::default();
    let alerts = build(&blocks, &mut problems);
    (alerts, problems.iter().map(|problem| problem.message.clone()).collect())
}

fn one(entry: Value) -> Alert {
    let (mut alerts, problems) = built(&[entry]);
    assert_eq!(problems, Vec::<String>::new());
    alerts.remove(0)
}

fn told(alert: &Alert, news: &News) -> Vec<String> {
    let _installed_by_another_test = rustls::crypto::ring::default_provider().install_default();
    let client = Client::new(&Env::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(send_after(Duration::from_millis(5), &[alert], news, &client, 1_600_000_000_000))
}

/// The body of the only request to an alert of this kind.
fn sent(entry: Value, reply: &str) -> (String, Value) {
    let server = RawServer::with_answer(answer("200 OK", reply));
    let mut entry = entry;
    entry["url"] = json!(server.url("/hook/s3cr3t-t0ken"));
    assert_eq!(told(&one(entry), &news()), Vec::<String>::new());
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    (head.to_owned(), serde_json::from_str(body).unwrap())
}

#[test]
fn slack_gets_plain_text_and_an_escaped_fallback() {
    let (head, body) = sent(json!({ "to": "slack" }), "ok");
    assert!(head.starts_with("POST /hook/s3cr3t-t0ken "), "{head}");
    let fallback = body["text"].as_str().unwrap();
    assert!(fallback.starts_with("❌ scoregate: support-rag: failed: &lt;!channel&gt;") && !fallback.contains('<'));
    let blocks = body["blocks"].as_array().unwrap();
    let texts = blocks.iter().filter_map(|block| block.get("text"));
    assert!(texts.clone().all(|text| text["type"] == "plain_text"), "{body}");
    assert!(
        texts.clone().any(|text| text["text"].as_str().unwrap().contains(HOSTILE)),
        "the text is unchanged: {body}"
    );
    assert_eq!(blocks[3]["elements"][0]["url"], "https://ci.test/run/7");
}

#[test]
fn teams_gets_an_adaptive_card_without_markdown() {
    let (_, body) = sent(json!({ "to": "teams" }), "1");
    let card = &body["attachments"][0];
    assert_eq!(card["contentType"], "application/vnd.microsoft.card.adaptive");
    let body = card["content"]["body"].as_array().unwrap();
    assert!(body.iter().all(|part| part["type"] == "RichTextBlock" && part["inlines"][0]["type"] == "TextRun"));
    assert!(body.iter().any(|part| part["inlines"][0]["text"].as_str().unwrap().contains(HOSTILE)));
    assert_eq!(card["content"]["actions"][0]["url"], "https://ci.test/run/7");
}

#[test]
fn feishu_gets_a_signed_post() {
    let (_, body) = sent(json!({ "to": "feishu", "secret": "feishu-secret" }), r#"{"code":0,"msg":"success"}"#);
    assert_eq!((&body["msg_type"], &body["timestamp"]), (&json!("post"), &json!("1600000000")));
    assert_eq!(body["sign"].as_str().unwrap().len(), 44);
    let lines = body["content"]["post"]["zh_cn"]["content"].as_array().unwrap();
    assert!(lines.iter().take(3).all(|line| line[0]["tag"] == "text"), "{body}");
    assert_eq!(lines.last().unwrap()[0]["href"], "https://ci.test/run/7");
}

#[test]
fn dingtalk_is_signed_in_its_address_and_mentions_nobody() {
    let (head, body) = sent(json!({ "to": "dingtalk", "secret": "SECdingtalk" }), r#"{"errcode":0,"errmsg":"ok"}"#);
    assert!(head.contains("?timestamp=1600000000000&sign="), "{head}");
    assert_eq!(body["at"], json!({ "atMobiles": [], "atUserIds": [], "isAtAll": false }));
    assert!(body["text"]["content"].as_str().unwrap().contains("scoregate"), "robots ask for a word");
}

#[test]
fn a_webhook_s_body_is_a_template_and_texts_stay_values() {
    let template =
        json!({ "msg": "{{ suite }}: {{ headline }}", "code": "{{ exit_code }}", "more": ["{{ details }}"] });
    let entry =
        json!({ "to": "webhook", "body": template, "headers": { "authorization": "Bearer 0123456789", "x-a": "b" } });
    let (head, body) = sent(entry, "{}");
    let news = news();
    assert_eq!(body["msg"], format!("support-rag: {}", news.headline), "not filled again: {body}");
    assert_eq!((&body["code"], &body["more"][0]), (&json!(1), &json!(news.details.join("\n"))));
    let head = head.to_lowercase();
    assert!(head.contains("authorization: bearer 0123456789") && head.contains("x-a: b"), "{head}");
    let (_, plain) = sent(json!({ "to": "webhook" }), "");
    assert_eq!((&plain["verdict"], &plain["drifted"]), (&json!("failed"), &json!(false)));
}

#[test]
fn what_may_succeed_is_tried_again_and_what_may_not_is_not() {
    for (first, tries, told_why) in [
        (answer("500 Oops", "{}"), 2, None),
        (answer("429 Slow", "{}"), 2, None),
        (answer("404 No", "{}"), 1, Some("answered 404")),
        (answer("302 Away", "{}"), 1, Some("answered 302")),
        (answer("200 OK", r#"{"errcode":130101,"errmsg":"too fast"}"#), 2, None),
        (answer("200 OK", r#"{"errcode":310000,"errmsg":"sign not match"}"#), 1, Some("310000 (sign not match)")),
        (answer("200 OK", "<html>"), 1, Some("does not say that it took the message")),
    ] {
        let bytes = first.clone();
        let server = RawServer::start(move |at| {
            let good = answer("200 OK", r#"{"errcode":0}"#);
            vec![Step::Send(if at == 0 { bytes.clone() } else { good }), Step::Close]
        });
        let alert = one(json!({ "to": "dingtalk", "url": server.url("/robot/send?access_token=s3cr3t-t0ken") }));
        let troubles = told(&alert, &news());
        let shown = String::from_utf8_lossy(&first).into_owned();
        if shown.contains("<html>") {
            assert!(troubles[0].contains("does not say"), "{troubles:?}");
            continue;
        }
        assert_eq!(server.requests().len(), tries, "{shown}");
        match told_why {
            None => assert_eq!(troubles, Vec::<String>::new(), "{shown}"),
            Some(why) => assert!(troubles.len() == 1 && troubles[0].contains(why), "{troubles:?}"),
        }
    }
}

#[test]
fn three_times_and_no_more_and_the_address_is_not_shown() {
    let server = RawServer::with_answer(answer("503 Busy", r#"{"error":"http://127.0.0.1/hook/s3cr3t-t0ken"}"#));
    let alert = one(json!({ "to": "slack", "url": server.url("/hook/s3cr3t-t0ken") }));
    let troubles = told(&alert, &news());
    assert_eq!(server.requests().len(), 3);
    assert_eq!(troubles, ["the alert alerts.0 (slack) was not sent: 127.0.0.1 answered 503 (tried 3 times)"]);
    // Nobody listens.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let alert = one(json!({ "to": "teams", "url": format!("http://{gone}/s3cr3t-t0ken") }));
    let troubles = told(&alert, &news());
    assert!(troubles[0].contains("127.0.0.1: connection") && !troubles[0].contains("s3cr3t"), "{troubles:?}");
    let secrets: Vec<_> = alert.secrets().cloned().collect();
    assert!(!Redactor::new(&secrets).redact(&format!("http://{gone}/s3cr3t-t0ken")).contains("s3cr3t"));
}

#[test]
fn a_service_that_asks_for_a_long_wait_is_not_waited_for() {
    let slow = b"HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n".to_vec();
    let server = RawServer::with_answer(slow);
    let alert = one(json!({ "to": "slack", "url": server.url("/hook/s3cr3t-t0ken") }));
    assert!(told(&alert, &news())[0].ends_with("answered 429"));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn occasions_and_pull_requests() {
    let url = "https://hooks.test/s3cr3t-t0ken";
    let passed = News { exit_code: 0, verdict: "passed".to_owned(), ..news() };
    let drifted = News { drifted: true, ..passed.clone() };
    let wants = |on: Value, news: &News, proposal: bool| {
        let mut entry = json!({ "to": "slack", "url": url });
        if !on.is_null() {
            entry["on"] = on;
        }
        one(entry).wants(news, proposal)
    };
    for (on, failed, moved, fine) in [
        (Value::Null, true, false, false),
        (json!("failure"), true, false, false),
        (json!("drift"), false, true, false),
        (json!(["failure", "drift"]), true, true, false),
        (json!("always"), true, true, true),
    ] {
        assert_eq!(wants(on.clone(), &news(), false), failed, "{on}");
        assert_eq!(wants(on.clone(), &drifted, false), moved, "{on}");
        assert_eq!(wants(on.clone(), &passed, false), fine, "{on}");
        assert!(!wants(on, &news(), true), "a pull request has its comment");
    }
    let both = one(json!({ "to": "slack", "url": url, "pull_requests": true }));
    assert!(both.wants(&news(), true));
}

#[test]
fn wrong_settings_are_told_without_their_secrets() {
    let url = "https://hooks.test/s3cr3t-t0ken";
    for (entry, part) in [
        (json!({ "to": "slak", "url": url }), "slak"),
        (json!({ "to": "slack", "url": url, "secret": "long-enough" }), "`secret` does nothing for `slack`"),
        (json!({ "to": "teams", "url": url, "body": {} }), "`body` does nothing for `teams`"),
        (json!({ "to": "feishu", "url": url, "secret": "short" }), "shorter than 8"),
        (json!({ "to": "webhook", "url": "http://169.254.169.254/x" }), "link-local"),
        (json!({ "to": "webhook", "url": url, "body": { "a": "{{ answers }}" } }), "answers"),
        (json!({ "to": "webhook", "url": url, "headers": { "a b": "c" } }), "make no header"),
        (json!({ "to": "slack", "url": url, "on": "failing" }), "on"),
    ] {
        let (alerts, problems) = built(std::slice::from_ref(&entry));
        assert!(alerts.is_empty() && problems.len() == 1 && problems[0].contains(part), "{entry}: {problems:?}");
        assert!(!problems[0].contains("s3cr3t"), "{problems:?}");
    }
    let (alerts, problems) = built(&[json!({ "to": "slack", "url": "" })]);
    assert!(alerts.is_empty() && problems.is_empty(), "a variable that is not set here tells nobody");
    let unset = Block::from_value("0", "alert", json!({ "to": "slack", "url": "" }));
    assert!(build(&[unset], &mut Diagnostics::default()).is_empty());
    let plain = Block::from_value("0", "alert", json!({ "to": "slack", "url": url }));
    let mut problems = Diagnostics::default();
    assert!(build(&[plain], &mut problems).is_empty());
    assert!(problems.iter().any(|problem| problem.message.contains("whoever knows this address")));
}

/// A date is read against the time of the run where the service does not say its own.
#[test]
fn a_service_that_names_the_time_to_come_again_is_asked_again() {
    let server = RawServer::start(|at| {
        let busy =
            b"HTTP/1.1 429 Slow\r\nRetry-After: Sun, 13 Sep 2020 12:26:40 GMT\r\nContent-Length: 0\r\n\r\n".to_vec();
        vec![Step::Send(if at == 0 { busy } else { answer("200 OK", "ok") }), Step::Close]
    });
    let alert = one(json!({ "to": "slack", "url": server.url("/hook/s3cr3t-t0ken") }));
    assert_eq!(told(&alert, &news()), Vec::<String>::new());
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn the_mark_says_what_the_exit_code_says() {
    for (verdict, exit_code, mark) in [
        ("passed", 0, "✅"),
        ("passed", 3, "⚠️"),
        ("failed", 1, "❌"),
        ("failed", 3, "❌"),
        ("inconclusive", 0, "⚠️"),
        ("inconclusive", 1, "⚠️"),
        ("not_evaluated", 3, "⚠️"),
        ("drift", 1, "⚠️"),
    ] {
        let news = News { verdict: verdict.to_owned(), exit_code, ..news() };
        assert_eq!(news.title(), format!("{mark} scoregate: support-rag"), "{verdict} {exit_code}");
    }
}
