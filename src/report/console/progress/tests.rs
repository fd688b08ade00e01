use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::domain::{Answer, CallCounts, Case, CaseId, Digest, Failure, FailureKind, LimiterState, Place};
use crate::report::tests::Page;

struct Stage {
    progress: Progress,
    clock: Arc<AtomicU64>,
    out: Page,
}

impl Stage {
    fn new() -> Self {
        let (clock, out) = (Arc::new(AtomicU64::new(0)), Page::default());
        let ticks = Arc::clone(&clock);
        let now = move || Duration::from_millis(ticks.load(Ordering::Relaxed));
        let progress =
            Progress::new(ProgressStyle::Lines, Redactor::default(), Box::new(out.clone()), Box::new(now), None);
        Self { progress, clock, out }
    }

    fn start(&self, planned: u64) {
        self.progress.emit(Event::Started {
            outcomes_planned: planned,
            cases: planned,
            trials: 1,
            targets: vec!["app".into()],
            metrics: 2,
        });
    }

    fn finish(&self, done: u64, answer: Result<Answer, Failure>) {
        let calls = CallCounts { requests: done, retries: done / 10, ..CallCounts::default() };
        let outcome = Outcome { case: Arc::new(case()), target: "app".into(), trial: 0, answer, scores: Vec::new() };
        let limits = LimiterState { in_flight: 7, limit: 16, rate: None };
        let so_far = SoFar { calls, cost: Some(Usd(done as f64 * 0.001)), limits, ..SoFar::default() };
        self.progress.emit(Event::Finished { outcome: Arc::new(outcome), done, so_far });
    }

    fn at(&self, millis: u64) {
        self.clock.store(millis, Ordering::Relaxed);
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.out.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

fn case() -> Case {
    Case {
        id: "q1".into(),
        index: 0,
        input: String::new(),
        reference: None,
        contexts: Vec::new(),
        expected_contexts: Vec::new(),
        tags: Vec::new(),
        cluster: None,
        metadata: serde_json::Map::new(),
        recorded: None,
        place: Place { file: "d.jsonl".into(), line: 1 },
        content: Digest::of(["q1"]),
    }
}

#[test]
fn rn_first_failure_noise() {
    let stage = Stage::new();
    stage.start(10_000);
    for done in 1..=10_000 {
        stage.at(done * 1_000);
        stage.progress.emit(Event::Retried {
            endpoint: "api".into(),
            what: "429".into(),
            wait: Duration::from_secs(1),
        });
        stage.progress.emit(Event::Waiting {
            silent: Duration::from_secs(10),
            cases: vec![CaseId::from("q7")],
            so_far: SoFar::default(),
        });
        stage.finish(done, Err(Failure::target(FailureKind::Timeout, "slow")));
    }
    stage.progress.emit(Event::Ended);
    let lines = stage.lines();
    assert!(lines.len() <= 1_000, "{}", lines.len());
    assert!(lines.iter().all(|line| !line.contains('\u{1b}') && !line.contains('\r')));
    assert!(lines.last().unwrap().starts_with("measured 10,000 of 10,000 in "), "{lines:?}");
}

#[test]
fn a_line_tells_rate_rest_calls_errors_retries_and_cost() {
    let stage = Stage::new();
    stage.start(200);
    for done in 1..=30 {
        let failure = || Failure::infra(FailureKind::Server, "x");
        stage.finish(done, if done == 3 { Err(failure()) } else { Ok(Answer::default()) });
    }
    stage.at(12_000);
    stage.finish(31, Ok(Answer::default()));
    assert_eq!(
        stage.lines(),
        [
            "measuring 200 cases, 2 metrics",
            "31/200 (15.5%), 2.6 answers a second, about 1 min 05 s left, 7 of 16 calls in flight (2.6 calls a second), 1 error, 3 retries, $0.0310",
        ]
    );
}

#[test]
fn waiting_names_the_cases_once_in_ten_seconds() {
    let stage = Stage::new();
    stage.start(10);
    for second in 10..30 {
        stage.at(second * 1_000);
        let cases = (0..7).map(|at| CaseId::from(format!("q{at}\u{1b}[2K\n::error::x"))).collect();
        stage.progress.emit(Event::Waiting { silent: Duration::from_secs(second), cases, so_far: SoFar::default() });
    }
    let lines = stage.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].starts_with("nothing finished for 10.0 s; waiting for q0\\u{1b}[2K ::error::x, "), "{lines:?}");
    assert!(lines[1].ends_with(" and 2 more"), "{lines:?}");
}
