use super::*;
use crate::domain::{Digest, Direction, MetricSpec, ScoreKind};

fn case(id: &str, target: &str, scores: &[(&str, &[f64])]) -> BaselineCase {
    BaselineCase {
        id: id.into(),
        target: target.into(),
        content: Some(Digest::of([id])),
        cluster: None,
        tags: Vec::new(),
        scores: scores.iter().map(|(name, values)| ((*name).into(), vec![values.to_vec()])).collect(),
        not_applicable: Vec::new(),
        answered: true,
        answer: None,
        taken: None,
        older: BTreeMap::new(),
    }
}

fn baseline(cases: Vec<BaselineCase>) -> Baseline {
    let metric = MetricSpec {
        name: "m".into(),
        kind: ScoreKind::UNIT,
        direction: Direction::Higher,
        pass_mark: None,
        fingerprint: None,
    };
    let run = BaselineRun { id: "r1".to_owned(), trials: 1, ..BaselineRun::default() };
    Baseline { suite: "rag".to_owned(), runs: vec![run], metrics: vec![metric], cases, ..Baseline::default() }
}

#[test]
fn means_are_shown_for_each_target() {
    let one = baseline(vec![case("a", "app", &[("m", &[1.0, 0.0])]), case("b", "app", &[("m", &[1.0])])]);
    let text = shown(&one);
    assert!(text.contains("mean 0.750 over 2 cases") && !text.contains("(app)"), "{text}");
    let two = baseline(vec![case("a", "app", &[("m", &[1.0])]), case("a", "old", &[("m", &[])])]);
    let text = shown(&two);
    assert!(text.contains("m (app)                  mean 1.000 over 1 case\n"), "{text}");
    assert!(text.contains("m (old)                  mean – over 0 cases\n"), "{text}");
}

#[test]
fn every_difference_is_named_and_nothing_else() {
    let old = baseline(vec![
        case("a", "app", &[("m", &[0.5]), ("gone", &[1.0])]),
        case("b", "app", &[("m", &[0.800_04])]),
        case("c", "app", &[("m", &[1.0])]),
    ]);
    let mut changed = case("b", "app", &[("m", &[0.799_96])]);
    changed.content = None;
    let new = baseline(vec![case("a", "app", &[("m", &[0.5])]), changed, case("d", "app", &[("m", &[1.0])])]);
    let expected = "- c\n+ d\n  a  gone  1.000 → –\n~ b  the case itself changed\n  b  m  0.80004 → 0.79996\n";
    assert_eq!(difference(&old, &new), expected);
    assert_eq!(difference(&old, &old), "no difference\n");
}

#[test]
fn names_do_nothing_to_the_terminal() {
    let old = baseline(vec![case("\u{1b}[2J\n::error::x ##vso[y]", "app", &[("m", &[1.0])])]);
    let text = difference(&old, &baseline(Vec::new()));
    assert!(!text.contains('\u{1b}') && !text.contains("##vso[") && text.lines().count() == 1, "{text:?}");
}

#[test]
fn a_pull_request_accepts_nothing() {
    let of = |name: &str, value: &str| of_proposal(&Env::from_pairs([(name, value)]));
    assert!(of("GITHUB_EVENT_NAME", "pull_request") && of("GITHUB_EVENT_NAME", "pull_request_target"));
    assert!(of("SYSTEM_PULLREQUEST_PULLREQUESTID", "7") && of("CI_MERGE_REQUEST_IID", "7"));
    assert!(!of("GITHUB_EVENT_NAME", "push") && !of("CI_MERGE_REQUEST_IID", ""));
}
