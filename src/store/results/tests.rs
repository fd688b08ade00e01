use std::sync::Arc;

use super::*;
use crate::domain::{
    Answer, Case, Cell, Context, Digest, Direction, Failure, FailureKind, Measurement, MetricSpec, Place, Reading,
    Score, ScoreKind, Secret, Side, SkipReason, Usage, Usd,
};

fn header() -> RunHeader {
    let spec = |name: &str| MetricSpec {
        name: name.into(),
        kind: ScoreKind::UNIT,
        direction: Direction::Higher,
        pass_mark: Some(0.5),
        fingerprint: None,
    };
    RunHeader {
        id: "r1".to_owned(),
        suite: "rag".to_owned(),
        targets: vec!["app".into()],
        metrics: vec![spec("m"), spec("n")],
        cases: 2,
        trials: 2,
        ..RunHeader::default()
    }
}

fn case(id: &str) -> Arc<Case> {
    Arc::new(Case {
        id: id.into(),
        index: 0,
        input: "Why?".to_owned(),
        reference: Some("So.".to_owned()),
        contexts: Vec::new(),
        expected_contexts: Vec::new(),
        tags: vec!["critical".into()],
        cluster: Some("c".into()),
        metadata: serde_json::Map::new(),
        recorded: None,
        place: Place { file: "data.jsonl".into(), line: 7 },
        content: Digest::of([id]),
    })
}

fn score(metric: &str, measurement: Measurement) -> Score {
    Score { metric: metric.into(), measurement }
}

fn reading(value: f64) -> Measurement {
    let mut reading = Reading::new(ScoreKind::UNIT, value).unwrap().because("since");
    reading.passed = Some(true);
    Measurement::Value(reading)
}

fn outcome(id: &str, trial: u32, text: &str, scores: [Measurement; 2]) -> Outcome {
    let [m, n] = scores;
    Outcome {
        case: case(id),
        target: "app".into(),
        trial,
        answer: Ok(Answer {
            text: text.to_owned(),
            contexts: vec![
                Context { id: None, text: "one".to_owned(), score: None },
                Context { id: Some("d2".to_owned()), text: "two".to_owned(), score: Some(0.5) },
            ],
            latency: Some(std::time::Duration::from_micros(1_234_567)),
            usage: Usage { prompt_tokens: 5, completion_tokens: 2 },
            half_counted: false,
            cost: Some(Usd(0.01)),
            attempts: 2,
            cached: false,
        }),
        scores: vec![score("m", m), score("n", n)],
    }
}

/// Three outcomes of two cases, with every kind of measurement among them.
fn outcomes() -> Vec<Outcome> {
    let skipped = Measurement::Skipped(SkipReason::NotApplicable, "nothing expected".to_owned());
    let unusable = Measurement::Unusable(Failure {
        raw: Some("perhaps".into()),
        ..Failure::infra(FailureKind::Unusable, "no verdict")
    });
    let timeout = || Failure { attempts: 3, ..Failure::target(FailureKind::Timeout, "too slow") };
    let mut failed = outcome("q2", 0, "", [reading(0.0), reading(0.0)]);
    failed.answer = Err(timeout());
    failed.scores = ["m", "n"].map(|name| score(name, Measurement::Error(timeout()))).into();
    vec![
        outcome("q1", 0, "first \u{2028} 中文\n\"line\"", [reading(0.25), skipped]),
        outcome("q1", 1, "second", [reading(1.0), unusable]),
        failed,
    ]
}

fn completion(outcomes: u64) -> Completion {
    Completion { complete: true, outcomes, ..Completion::default() }
}

/// A folder with a whole results file, its path, and the offsets of its outcomes.
fn written(redactor: Redactor) -> (tempfile::TempDir, PathBuf, Vec<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out/results.jsonl");
    let mut writer = ResultsWriter::create(&path, &header(), redactor).unwrap();
    let offsets = outcomes().iter().map(|outcome| writer.append(outcome).unwrap().0).collect();
    assert_eq!(writer.outcomes(), 3);
    assert!(!path.exists(), "the file is put in its place when it is whole");
    writer.finish(&completion(3)).unwrap();
    (folder, path, offsets)
}

#[test]
fn a_run_is_read_as_it_was_written() {
    let (_folder, path, offsets) = written(Redactor::default());
    let run = read_results(&path).unwrap();
    assert_eq!((&run.header, &run.completion, &run.file), (&header(), &Some(completion(3)), &Some(path)));
    let [first, second] = run.cases.as_slice() else { panic!("{:?}", run.cases) };
    assert_eq!((&*first.id, &*first.target, first.content), ("q1", "app", Some(Digest::of(["q1"]))));
    assert_eq!((first.place.clone(), first.cluster.as_deref()), (Some(case("q1").place.clone()), Some("c")));
    let value = |value| Some(Cell::Value { value, passed: Some(true) });
    let cells: Vec<_> = first.trials.iter().map(|trial| trial.cells.clone()).collect();
    assert_eq!(
        cells,
        [
            vec![value(0.25), Some(Cell::Skipped(SkipReason::NotApplicable))],
            vec![value(1.0), Some(Cell::Unusable { kind: FailureKind::Unusable })],
        ]
    );
    let trial = first.trials.first().unwrap();
    assert_eq!(
        (trial.latency_ms, trial.tokens, trial.cost, trial.attempts),
        (Some(1234.567), Some(7), Some(Usd(0.01)), 2)
    );
    let failed = second.trials.first().unwrap();
    assert_eq!((failed.answered, failed.attempts), (Err((FailureKind::Timeout, Side::Target)), 3));
    let error = Some(Cell::Error { kind: FailureKind::Timeout, side: Side::Target });
    assert_eq!(failed.cells, [error, error]);
    let seen: Vec<u64> = run.cases.iter().flat_map(|case| &case.trials).map(|trial| trial.offset).collect();
    assert_eq!(seen, offsets);
}

#[test]
fn texts_are_found_by_their_offsets_and_nowhere_else() {
    let (_folder, path, offsets) = written(Redactor::default());
    let texts = Texts::open(&path).unwrap();
    // In any order.
    for (offset, outcome) in offsets.iter().zip(outcomes()).rev() {
        assert_eq!(texts.outcome(*offset).unwrap(), OutcomeLine::from(&outcome));
    }
    for offset in [0, offsets[1] + 1, offsets[1] - 1, 1 << 40] {
        assert!(matches!(texts.outcome(offset), Err(StoreError::Corrupt { .. })), "{offset}");
    }
    assert!(matches!(Texts::open(&path.with_extension("no")), Err(StoreError::Absent { .. })));
}

#[test]
fn a_masked_text_moves_no_offset_and_hides_the_secret() {
    let secret = Secret::new("KEY", "sg-test-secret-7Q/w+x==").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    let mut writer = ResultsWriter::create(&path, &header(), Redactor::new(&[secret])).unwrap();
    let offsets: Vec<u64> = (0..3)
        .map(|trial| outcome("q1", trial, "the key is sg-test-secret-7Q/w+x==, yes", [reading(0.5), reading(0.5)]))
        .map(|outcome| writer.append(&outcome).unwrap().0)
        .collect();
    writer.finish(&completion(3)).unwrap();
    let texts = Texts::open(&path).unwrap();
    for offset in offsets {
        assert_eq!(texts.outcome(offset).unwrap().answer.unwrap().text, "the key is ***, yes");
    }
    assert!(!std::fs::read_to_string(&path).unwrap().contains("7Q/w+x"));
}

#[test]
fn a_file_cut_anywhere_is_never_a_complete_run() {
    let (_folder, path, offsets) = written(Redactor::default());
    let bytes = std::fs::read(&path).unwrap();
    let end = bytes.len() - 1;
    let header_end = usize::try_from(offsets[0]).unwrap();
    for cut in 0..end {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        match read_results(&path) {
            Ok(run) => {
                assert_eq!(run.completion, None, "cut at {cut}");
                let whole = offsets.iter().skip(1).filter(|offset| **offset <= cut as u64 + 1).count();
                let read: usize = run.cases.iter().map(|case| case.trials.len()).sum();
                assert!(read == whole || read == whole + 1, "cut at {cut}: {read} of {whole}");
            }
            Err(_) => assert!(cut < header_end, "cut at {cut}"),
        }
    }
}

#[test]
fn what_cannot_be_right_is_corrupt_with_its_line() {
    let (_folder, path, _) = written(Redactor::default());
    let good = std::fs::read_to_string(&path).unwrap();
    let swap = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let lines: Vec<&str> = good.lines().collect();
    let [head, one, two, three, end] = lines.as_slice() else { panic!("five lines") };
    let damages: [(String, u64, &str); 13] = [
        (String::new(), 0, "empty"),
        (swap("\"schema\":1,", ""), 1, "`schema`"),
        (swap("\"type\":\"run\"", "\"type\":\"end\""), 1, "not `run`"),
        (
            [head, one, three, end].map(|line| (*line).to_owned()).join("\n"),
            4,
            "speaks of 3 outcomes, the file holds 2",
        ),
        ([head, one, two, three, end, one].map(|line| (*line).to_owned()).join("\n"), 6, "after the end line"),
        ([head, one, one, three, end].map(|line| (*line).to_owned()).join("\n"), 3, "stands twice"),
        ([head, one, "{\"type\":", three, end].map(|line| (*line).to_owned()).join("\n"), 3, "EOF"),
        (swap("\"type\":\"outcome\"", "\"type\":\"note\""), 2, "neither `outcome` nor `end`"),
        (swap("\"value\":0.25", "\"value\":1.25"), 2, "must be from 0 to 1"),
        (swap("\"value\":0.25", "\"value\":NaN"), 2, "expected value"),
        (swap("\"value\":0.25", "\"value\":0.25,\"skipped\":\"not_measured\""), 2, "exactly one of"),
        (swap("\"metric\":\"m\"", "\"metric\":\"x\""), 2, "not among the metrics"),
        (swap("\"metric\":\"m\"", "\"metric\":\"n\""), 2, "twice in one outcome"),
    ];
    for (text, line, words) in damages {
        std::fs::write(&path, text).unwrap();
        match read_results(&path) {
            Err(StoreError::Corrupt { line: at, problem, .. }) => {
                assert!(at == line && problem.contains(words), "{at}: {problem}\nfor {words}");
            }
            other => panic!("{words}: {other:?}"),
        }
    }
    std::fs::write(&path, swap("\"schema\":1", "\"schema\":2")).unwrap();
    assert!(matches!(read_results(&path), Err(StoreError::Newer { found: 2, known: 1, .. })));
}

#[test]
fn an_unfinished_writer_leaves_the_old_file() {
    let (folder, path, _) = written(Redactor::default());
    let before = std::fs::read(&path).unwrap();
    let mut writer = ResultsWriter::create(&path, &header(), Redactor::default()).unwrap();
    writer.append(&outcomes()[0]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path().join("out")).unwrap().count(), 1, "no remains");
}

#[test]
fn the_smallest_form_knows_its_trials() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scores.jsonl");
    let line = |trial: u32| format!("{{\"case\":\"a\",\"metric\":\"m\",\"value\":1,\"trial\":{trial}}}\n");
    std::fs::write(&path, line(0) + &line(1) + &line(2)).unwrap();
    assert_eq!(read_results(&path).unwrap().header.trials, 3);
    std::fs::write(&path, line(0) + &line(0)).unwrap();
    assert!(read_results(&path).unwrap_err().to_string().contains("stands twice"));
}
