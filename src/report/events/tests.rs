use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use super::form::{Form, dropped, exit, head};
use super::stream::EventStream;
use crate::domain::{
    Answer, Case, Digest, Event, EventSink as _, Failure, FailureKind, Measurement, Outcome, Place, Reading, Redactor,
    Score, ScoreKind, Secret, SoFar,
};
use crate::report::tests::Page;

const DOCS: &str = include_str!("../../../docs/events.md");
const KEY: &str = "sk-\"quoted\"-secret";

fn outcome(answer: Result<Answer, Failure>, scores: Vec<Score>) -> Arc<Outcome> {
    let case = Case {
        id: format!("q {KEY}").as_str().into(),
        index: 0,
        input: "a question".to_owned(),
        reference: None,
        contexts: Vec::new(),
        expected_contexts: Vec::new(),
        tags: Vec::new(),
        cluster: None,
        metadata: serde_json::Map::new(),
        recorded: None,
        place: Place { file: "d.jsonl".into(), line: 1 },
        content: Digest::of(["q1"]),
    };
    Arc::new(Outcome { case: Arc::new(case), target: "app".into(), trial: 1, answer, scores })
}

/// One of every kind, in an order in which they may come.
fn all() -> Vec<Event> {
    let so_far = SoFar::default();
    let reading = Measurement::Value(Reading::new(ScoreKind::Binary, 1.0).unwrap());
    let scores = vec![
        Score { metric: "rouge_l".into(), measurement: reading },
        Score { metric: "tone".into(), measurement: Measurement::Unusable(Failure::infra(FailureKind::Empty, KEY)) },
    ];
    let failure = Failure::target(FailureKind::Timeout, KEY);
    vec![
        Event::Started { outcomes_planned: 2, cases: 2, trials: 1, targets: vec!["app".into()], metrics: 2 },
        Event::Finished { outcome: outcome(Ok(Answer::default()), scores), done: 1, so_far },
        Event::Finished { outcome: outcome(Err(failure), Vec::new()), done: 2, so_far },
        Event::Retried { endpoint: KEY.into(), what: KEY.to_owned(), wait: Duration::from_millis(250) },
        Event::EndpointStopped { endpoint: "api".into(), why: format!("bad key {KEY}") },
        Event::Waiting { silent: Duration::from_secs(10), cases: vec![KEY.into()], so_far },
        Event::Cancelled { signal: "SIGINT" },
        Event::Note { text: format!("\n{KEY}\u{1b}[2K") },
        Event::Ended,
    ]
}

fn redactor() -> Redactor {
    Redactor::new(&[Secret::new("KEY", KEY).unwrap()])
}

fn objects() -> Vec<Value> {
    let mut form = Form::new(redactor());
    let mut objects: Vec<Value> = all().iter().map(|event| form.object(event, Duration::from_millis(5))).collect();
    objects.insert(0, head());
    objects.push(dropped(3));
    objects.push(exit(3, Some(KEY), Duration::from_millis(6), &redactor()));
    objects
}

#[test]
fn no_line_holds_a_secret_or_a_line_end() {
    for object in objects() {
        let line = object.to_string();
        assert!(!line.contains("quoted") && !line.contains(['\n', '\u{1b}']), "{line}");
        assert!(object["type"].is_string());
    }
}

#[test]
fn outcomes_tell_scores_and_errors_apart() {
    let objects = objects();
    let finished: Vec<&Value> = objects.iter().filter(|object| object["type"] == "finished").collect();
    assert_eq!(finished[0]["scores"]["rouge_l"]["value"], 1.0);
    assert_eq!(finished[0]["scores"]["tone"], serde_json::json!({ "unusable": "empty" }));
    assert_eq!((&finished[0]["error"], &finished[0]["errors"]), (&Value::Null, &1.into()));
    assert_eq!((&finished[1]["error"], &finished[1]["errors"]), (&"timeout".into(), &2.into()));
    assert_eq!((&finished[1]["done"], &finished[1]["planned"]), (&2.into(), &2.into()));
}

/// The page names every type and every field.
#[test]
fn every_field_is_documented() {
    let documented: BTreeSet<&str> = DOCS.split('`').skip(1).step_by(2).collect();
    for object in objects() {
        let name = object["type"].as_str().unwrap().to_owned();
        assert!(documented.contains(name.as_str()), "docs/events.md does not name `{name}`");
        for field in object.as_object().unwrap().keys() {
            assert!(documented.contains(field.as_str()), "docs/events.md does not name `{field}` of `{name}`");
        }
        for field in object["calls"].as_object().into_iter().flat_map(|calls| calls.keys()) {
            assert!(documented.contains(field.as_str()), "docs/events.md does not name `{field}` of `calls`");
        }
    }
}

/// Takes nothing before it is told to.
struct Gate(Receiver<()>, Page, bool);

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !std::mem::replace(&mut self.2, true) {
            let _ = self.0.recv();
        }
        self.1.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Broken;

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn lines(page: &Page) -> Vec<Value> {
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn start(queue: usize, out: impl Write + Send + 'static) -> EventStream {
    EventStream::start(redactor(), Box::new(|| Duration::ZERO), queue, move || Ok(Box::new(out)))
}

#[test]
fn a_stream_has_a_versioned_beginning_and_an_end() {
    let page = Page::default();
    let stream = start(64, page.clone());
    all().into_iter().for_each(|event| stream.emit(event));
    stream.finish(1, Some("failed")).unwrap();
    let lines = lines(&page);
    let types: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(types.len(), 2 + all().len());
    assert_eq!((types[0], lines[0]["schema"].as_u64()), ("events", Some(1)));
    assert_eq!((types.last(), &lines.last().unwrap()["code"]), (Some(&"exit"), &1.into()));
}

#[test]
fn a_reader_that_stalls_holds_nobody_up_and_what_it_missed_is_counted() {
    let (go, told) = channel();
    let page = Page::default();
    let stream = start(4, Gate(told, page.clone(), false));
    for _ in 0..1_000 {
        stream.emit(Event::Ended);
    }
    go.send(()).unwrap();
    // Room again: what was left out is told before the next line.
    while page.0.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    loop {
        stream.emit(Event::Cancelled { signal: "SIGINT" });
        if String::from_utf8_lossy(&page.0.lock().unwrap()).contains("dropped") {
            break;
        }
        std::thread::yield_now();
    }
    let _ = stream.finish(0, None);
    let lines = lines(&page);
    let missed: u64 = lines.iter().filter_map(|line| line["lines"].as_u64()).sum();
    assert!(missed >= 900, "{missed}");
}

#[test]
fn a_broken_pipe_is_no_failure_and_another_trouble_is_told() {
    let stream = start(64, Broken);
    for _ in 0..10 {
        stream.emit(Event::Ended);
    }
    assert_eq!(stream.finish(0, None), Ok(()));
    let refused = || Err(std::io::Error::other("no such folder"));
    let stream = EventStream::start(redactor(), Box::new(|| Duration::ZERO), 64, refused);
    assert!(stream.finish(0, None).unwrap_err().contains("no such folder"));
}
