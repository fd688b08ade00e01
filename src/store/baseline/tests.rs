use super::*;
use crate::domain::{Direction, Fingerprint, ScoreKind};
use crate::store::FileKind;

fn metric(name: &str, kind: ScoreKind) -> MetricSpec {
    MetricSpec {
        name: name.into(),
        kind,
        direction: Direction::Higher,
        pass_mark: Some(1.0),
        fingerprint: Some(Fingerprint::default().with("evaluator", name)),
    }
}

fn case(id: &str, target: &str) -> BaselineCase {
    BaselineCase {
        id: id.into(),
        target: target.into(),
        content: Some(Digest::of([id])),
        cluster: Some("c".into()),
        tags: vec!["critical".into()],
        scores: BTreeMap::from([
            ("hit".into(), vec![vec![1.0, 0.0], vec![]]),
            ("grade".into(), vec![vec![4.5], vec![5.0]]),
        ]),
        not_applicable: Vec::new(),
        answered: true,
        answer: Some("Ja: \u{2028}\"so\"\n中文".to_owned()),
        taken: None,
        older: BTreeMap::new(),
    }
}

fn baseline() -> Baseline {
    let bare = BaselineCase {
        content: None,
        cluster: None,
        tags: Vec::new(),
        scores: BTreeMap::from([("grade".into(), vec![vec![], vec![1.0]])]),
        not_applicable: vec!["hit".into()],
        answered: false,
        answer: None,
        taken: None,
        older: BTreeMap::new(),
        ..case("b", "")
    };
    let run = |id: &str| BaselineRun { id: id.to_owned(), trials: 2, ..BaselineRun::default() };
    Baseline {
        source: BaselineSource::default(),
        suite: "rag".to_owned(),
        runs: vec![BaselineRun { commit: Some("abc".to_owned()), by: Some("ann".to_owned()), ..run("r1") }, run("r2")],
        metrics: vec![metric("hit", ScoreKind::Binary), metric("grade", ScoreKind::Ordinal { lo: 1, hi: 5 })],
        cases: vec![case("a", "app"), case("a", "rag"), bare],
    }
}

/// What reading `text` gives, and that the file was left as it was.
fn read_text(text: &[u8]) -> Result<Baseline, StoreError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.jsonl");
    std::fs::write(&path, text).unwrap();
    let read = read_baseline(&path, "base.jsonl");
    assert_eq!(std::fs::read(&path).unwrap(), text);
    read
}

/// Line and words of a refusal.
fn refusal(text: &str) -> (u64, String) {
    match read_text(text.as_bytes()) {
        Err(StoreError::Corrupt { line, problem, .. }) => (line, problem),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn what_was_written_is_read_again_and_written_the_same() {
    let written = baseline();
    let text = render_baseline(&written).unwrap();
    assert_eq!(text.lines().count(), 4, "a line a case, whatever its answer holds");
    let read = read_text(text.as_bytes()).unwrap();
    assert_eq!(read.source, BaselineSource { place: "base.jsonl".to_owned(), digest: Some(Digest::of([&text])) });
    assert_eq!(render_baseline(&read).unwrap(), text);
    assert_eq!(read, Baseline { source: read.source.clone(), ..written });
}

#[test]
fn a_missing_file_is_absent_and_a_later_version_is_newer() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read_baseline(&folder.path().join("no"), "no"), Err(StoreError::Absent { .. })));
    // Whatever else a later version changed.
    let newer = read_text(b"{\"type\":\"baseline\",\"schema\":2,\"runs\":7}\n");
    assert!(matches!(newer, Err(StoreError::Newer { found: 2, known: 1, .. })));
}

#[test]
fn every_damage_is_refused_with_its_line() {
    let good = render_baseline(&baseline()).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let [header, app, rag, bare] = lines.as_slice() else { panic!("four lines") };
    let swap = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let damages: [(String, u64, &str); 21] = [
        (String::new(), 0, "empty"),
        (format!("{}\n{app}", &header[..header.len() / 2]), 1, "EOF"),
        (good[..good.len() - 30].to_owned(), 4, "EOF"),
        (joined(&[header, app, rag]), 3, "3 cases were written, 2 are there"),
        (joined(&[header, rag, app, bare]), 3, "not in order"),
        (joined(&[header, app, app, bare]), 3, "stands twice"),
        (joined(&[header, app, "<<<<<<< HEAD", rag, bare]), 3, "expected value"),
        (joined(&[header, app, "", rag, bare]), 3, "EOF"),
        (swap("\"type\":\"baseline\"", "\"type\":\"run\""), 1, "not `baseline`"),
        (swap("\"schema\":1,", ""), 1, "schema"),
        (swap("\"cases\":3", "\"cases\":0"), 1, "holds no case"),
        (swap("\"name\":\"grade\"", "\"name\":\"hit\""), 1, "twice"),
        (swap("[[1.0,0.0],[]]", "[[1.0,0.5],[]]"), 2, "no score of `hit`"),
        (swap("[[4.5],[5.0]]", "[[4.5],[5.1]]"), 2, "it must be from 1 to 5"),
        (swap("[[4.5],[5.0]]", "[[4.5],[1e999]]"), 2, "out of range"),
        (swap("[[4.5],[5.0]]", "[[4.5],[NaN]]"), 2, "expected value"),
        (swap("[[4.5],[5.0]]", "[[4.5],[\"5\"]]"), 2, "invalid type"),
        (swap("[[4.5],[5.0]]", "[[4.5]]"), 2, "scores of 1 runs, the header has 2"),
        (swap("\"grade\":[[4.5]", "\"other\":[[4.5]"), 2, "`other` is not in the header"),
        (swap(",\"not_applicable\":[\"hit\"]", ""), 4, "either in `scores` or in `not_applicable`"),
        (swap("\"not_applicable\":[\"hit\"]", "\"not_applicable\":[\"hit\",\"grade\"]"), 4, "either in `scores`"),
    ];
    for (text, line, words) in damages {
        let (at, problem) = refusal(&text);
        assert!(at == line && problem.contains(words), "{at}: {problem}\nfor {words}");
    }
    for empty in ["\"runs\":[]", "\"metrics\":[]"] {
        let name = empty.trim_end_matches("[]");
        let mut value: serde_json::Value = serde_json::from_str(header).unwrap();
        value[name.trim_matches(['"', ':'])] = serde_json::json!([]);
        assert!(refusal(&joined(&[&value.to_string(), app, rag, bare])).1.contains("holds no"));
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let mut bytes = render_baseline(&baseline()).unwrap().into_bytes();
    for damage in [0xff, 0x00] {
        bytes[200] = damage;
        assert!(matches!(read_text(&bytes), Err(StoreError::Corrupt { .. })));
    }
}

#[test]
fn the_fixtures_of_damaged_baselines_are_refused() {
    let read = |name: &str| {
        let path = format!("fixtures/cases/baselines/corrupt-{name}.json");
        read_baseline(Path::new(&path), &path)
    };
    for name in ["two", "half", "empty", "nul", "nan", "range", "conflict"] {
        assert!(matches!(read(name), Err(StoreError::Corrupt { .. })), "{name}: {:?}", read(name));
    }
}

#[test]
fn the_first_line_says_what_a_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let header = render_baseline(&baseline()).unwrap();
    for (text, kind) in [
        (header.as_str(), FileKind::Baseline),
        ("{ \"schema\" : 1, \"type\" : \"baseline\" }", FileKind::Baseline),
        ("\n{\"type\":\"run\",\"schema\":1}\n", FileKind::Results),
        ("{\"case\":\"says \\\"type\\\":\\\"baseline\\\"\",\"metric\":\"m\",\"value\":1}", FileKind::Scores),
        ("no JSON", FileKind::Scores),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(FileKind::of(&path).unwrap(), kind, "{text}");
    }
    std::fs::write(&path, "").unwrap();
    assert!(matches!(FileKind::of(&path), Err(StoreError::Corrupt { .. })));
}
