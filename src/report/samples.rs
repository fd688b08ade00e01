//! The runs that every renderer is tested with: passing, failing, mixed with errors, empty, hostile.

use std::collections::BTreeMap;

use super::source::TextSource;
use super::view::View;
use crate::domain::{
    Baseline, BaselineCase, BaselineRun, BaselineSource, Bound, BrokenCase, CallCounts, CaseChanges, CaseRecord, Cell,
    Comparison, Completion, Decision, Direction, FailureKind, MetricSpec, Place, Reason, Redactor, RuleKind,
    RuleVerdict, Run, RunHeader, ScoreKind, Severity, Side, SkipReason, TrialRecord, Usage, Usd, Verdict,
    VerdictCounts,
};
use crate::store::{AnswerLine, FailureLine, OutcomeLine, ScoreLine};

/// Everything a view is made from.
pub(super) struct Sample {
    pub(super) run: Run,
    pub(super) verdict: Verdict,
    pub(super) baseline: Baseline,
    pub(super) texts: Lines,
    pub(super) redactor: Redactor,
}

/// Outcome lines by their offset.
#[derive(Default)]
pub(super) struct Lines(pub(super) Vec<OutcomeLine>);

impl TextSource for Lines {
    fn outcome(&self, offset: u64) -> Option<OutcomeLine> {
        self.0.get(usize::try_from(offset).ok()?).cloned()
    }
}

impl Sample {
    pub(super) fn view(&self) -> View<'_> {
        View::new(&self.run, &self.verdict, Some(&self.baseline), Some(&self.texts), self.redactor.clone())
    }

    /// A case with one cell a metric; `None` answers are failures of the target.
    pub(super) fn case(&mut self, id: &str, answer: Option<&str>, cells: &[Cell], reason: &str) {
        let offset = self.texts.0.len() as u64;
        let metrics: Vec<String> = self.run.header.metrics.iter().map(|metric| metric.name.to_string()).collect();
        let failure =
            |kind| FailureLine { kind, side: Side::Infra, message: reason.to_owned(), attempts: 3, raw: None };
        let scores = metrics.iter().zip(cells).map(|(metric, cell)| {
            let mut line = ScoreLine { metric: metric.clone(), ..ScoreLine::default() };
            match cell {
                Cell::Value { value, .. } => (line.value, line.reason) = (Some(*value), Some(reason.to_owned())),
                Cell::Error { kind, .. } => line.error = Some(failure(*kind)),
                Cell::Unusable { kind } => line.unusable = Some(failure(*kind)),
                Cell::Skipped(why) => line.skipped = Some(*why),
            }
            line
        });
        let place = Place { file: "data/questions.jsonl".into(), line: u32::try_from(offset + 1).unwrap() };
        self.texts.0.push(OutcomeLine {
            index: None,
            case: id.to_owned(),
            target: "app".to_owned(),
            trial: 0,
            tags: Vec::new(),
            cluster: None,
            content: None,
            place: Some(place.clone()),
            input: Some(format!("What is {id}?")),
            reference: None,
            answer: answer.map(|text| AnswerLine { text: text.to_owned(), ..AnswerLine::default() }),
            error: answer.is_none().then(|| failure(FailureKind::Timeout)),
            scores: scores.collect(),
        });
        let trial = TrialRecord {
            trial: 0,
            answered: if answer.is_some() { Ok(()) } else { Err((FailureKind::Timeout, Side::Target)) },
            cells: cells.iter().map(|cell| Some(*cell)).collect(),
            latency_ms: None,
            tokens: None,
            cost: None,
            attempts: 0,
            offset,
        };
        self.run.cases.push(CaseRecord {
            id: id.into(),
            target: "app".into(),
            content: None,
            tags: Vec::new(),
            cluster: None,
            place: Some(place),
            trials: vec![trial],
        });
    }

    /// The accepted answer of a case.
    pub(super) fn before(&mut self, id: &str, answer: &str) {
        self.baseline.cases.push(BaselineCase {
            id: id.into(),
            target: "app".into(),
            content: None,
            cluster: None,
            tags: Vec::new(),
            scores: BTreeMap::new(),
            not_applicable: Vec::new(),
            answered: true,
            answer: Some(answer.to_owned()),
            taken: None,
            older: BTreeMap::new(),
        });
        self.baseline.cases.sort_by(|left, right| (&left.id, &left.target).cmp(&(&right.id, &right.target)));
    }

    pub(super) fn broke(&mut self, id: &str, metric: &str, baseline: f64, current: f64, decisive: bool) {
        let at = self.run.cases.iter().position(|case| *case.id == *id);
        self.verdict.broken.push(BrokenCase {
            case: id.into(),
            target: "app".into(),
            metric: metric.into(),
            place: at.and_then(|at| self.run.cases[at].place.clone()),
            baseline: Some(baseline),
            current: Some(current),
            delta: Some(current - baseline),
            decisive,
        });
    }
}

pub(super) fn value(value: f64) -> Cell {
    Cell::Value { value, passed: None }
}

pub(super) fn metric(name: &str) -> MetricSpec {
    MetricSpec {
        name: name.into(),
        kind: ScoreKind::UNIT,
        direction: Direction::Higher,
        pass_mark: None,
        fingerprint: None,
    }
}

/// A rule that holds, without numbers.
pub(super) fn rule(metric: &str, kind: RuleKind) -> Comparison {
    Comparison { n: 140, planned: 140, ..Comparison::new(kind, metric, "app", RuleVerdict::Met, Reason::WithinMargin) }
}

fn compared(name: &str, baseline: f64, current: f64, ci: [f64; 2], p: f64) -> Comparison {
    Comparison {
        baseline: Some(baseline),
        current: Some(current),
        delta: Some(current - baseline),
        ci: Some(ci),
        p: Some(p),
        p_adjusted: Some((p * 2.0).min(1.0)),
        method: "exact".to_owned(),
        limit: Some(0.05),
        up: 4,
        down: 9,
        same: 127,
        ..rule(name, RuleKind::NotWorse)
    }
}

/// Nothing measured, nothing decided.
pub(super) fn blank() -> Sample {
    let header = RunHeader {
        id: "3f1c".to_owned(),
        suite: "support-rag".to_owned(),
        tool: "0.1.0".to_owned(),
        started: Some("2026-11-30T07:02:28Z".to_owned()),
        targets: vec!["app".into()],
        metrics: vec![metric("hit_rate"), metric("faithfulness")],
        cases: 0,
        trials: 1,
        ..RunHeader::default()
    };
    let verdict = Verdict {
        decision: Decision::Passed,
        exit_code: 0,
        headline: "passed".to_owned(),
        suite: "support-rag".to_owned(),
        rules: Vec::new(),
        trials: 1.0,
        looks: None,
        slices: Vec::new(),
        slice_table: Vec::new(),
        cases: VerdictCounts::default(),
        changes: CaseChanges::default(),
        flaky: Vec::new(),
        broken: Vec::new(),
        fixed: Vec::new(),
        comparable: true,
        notes: Vec::new(),
        baseline: Some(BaselineSource { place: "support-rag.baseline.jsonl".to_owned(), digest: None }),
        baseline_runs: vec![BaselineRun {
            id: "a1".to_owned(),
            commit: Some("9832b23f5211cd91eeb99d6f77dac5a0f7dd1cbd".to_owned()),
            date: None,
            by: None,
            trials: 1,
            ..BaselineRun::default()
        }],
        anchor: None,
        base: None,
        metrics: header.metrics.clone(),
        partial: false,
        selection: None,
        shard: None,
        alpha: 0.05,
    };
    let run =
        Run { header, completion: Some(Completion { complete: true, ..Completion::default() }), ..Run::default() };
    Sample { run, verdict, baseline: Baseline::default(), texts: Lines::default(), redactor: Redactor::default() }
}

fn held(sample: &mut Sample) {
    for (kind, words) in [
        (RuleKind::Complete, "The run is complete: all 140 cases ran to their end."),
        (RuleKind::Baseline, "Compared with 1 run of support-rag.baseline.jsonl."),
        (RuleKind::Coverage, "280 of 280 scores measured."),
        (RuleKind::NewErrors, "Every case that the baseline answered got an answer."),
    ] {
        sample.verdict.rules.push(Comparison { explanation: words.to_owned(), ..rule("", kind) });
    }
    sample.verdict.cases =
        VerdictCounts { total: 140, scored: 140, cells: 280, cells_scored: 280, ..VerdictCounts::default() };
}

pub(super) fn passing() -> Sample {
    let mut sample = blank();
    held(&mut sample);
    "passed: 2 metrics are not worse than the baseline".clone_into(&mut sample.verdict.headline);
    sample.verdict.rules.push(Comparison {
        explanation: "hit_rate is not worse: -0.7 points (at worst -2.9), inside the 5.0-point margin (0.820 → 0.813). 140 cases, 1 trial each.".to_owned(),
        ..compared("hit_rate", 0.82, 0.813, [-0.029, 0.015], 0.34)
    });
    sample.verdict.rules.push(Comparison {
        improved: true,
        explanation: "faithfulness is not worse: +4.1 points (at worst +0.8), inside the 5.0-point margin.".to_owned(),
        ..compared("faithfulness", 0.86, 0.901, [0.008, 0.074], 0.98)
    });
    sample.verdict.notes.push("baseline of one run: several runs make the comparison sharper".to_owned());
    for at in 0..3 {
        sample.case(&format!("q{at:03}"), Some("Yes."), &[value(1.0), value(0.9)], "supported by context 1");
    }
    sample
}

pub(super) fn failing() -> Sample {
    let mut sample = blank();
    held(&mut sample);
    let verdict = &mut sample.verdict;
    (verdict.decision, verdict.exit_code) = (Decision::Failed, 1);
    "failed: hit_rate dropped by 43.3 points (0.813 → 0.381); faithfulness is at 0.79996, below the required 0.8"
        .clone_into(&mut verdict.headline);
    verdict.rules.push(Comparison {
        verdict: RuleVerdict::Violated,
        reason: Reason::Mean,
        severity: Severity::Fail,
        explanation: "hit_rate got worse: 0.813 → 0.381 (-43.3 points, likely between -50.9 and -35.8). Of 134 cases, 59 scored \
                      lower and 1 higher. If this change had no effect, a drop this large would appear in fewer than 1 in 1,000,000 \
                      runs, after allowing for the 2 metrics checked. Largest drops: q001, q002. Fix them, or accept the new level \
                      with scoregate baseline update."
            .to_owned(),
        n: 134,
        detectable: Some(0.0712),
        breaks: Some(12),
        breaks_expected: Some(1.5),
        up: 1,
        down: 59,
        same: 74,
        ..compared("hit_rate", 0.8134, 0.3806, [-0.5086, -0.3579], 1e-15)
    });
    verdict.rules.push(Comparison {
        verdict: RuleVerdict::Violated,
        reason: Reason::ThresholdMissed,
        severity: Severity::Fail,
        current: Some(0.79996),
        limit: Some(0.8),
        bound: Some(Bound::AtLeast),
        ci: Some([0.74, 0.7999]),
        method: "hall_t".to_owned(),
        explanation: "faithfulness is at 0.79996, below the required 0.8 (140 cases).".to_owned(),
        ..rule("faithfulness", RuleKind::Threshold)
    });
    sample.case(
        "q001",
        Some("per indentation level"),
        &[value(0.0), value(0.2)],
        "0 of 1 expected contexts among 3 retrieved",
    );
    sample.case("q002", Some("4 spaces."), &[value(0.0), value(1.0)], "0 of 2 expected contexts among 3 retrieved");
    sample.case("q003", Some("它是百分之七十九。"), &[value(1.0), value(0.9)], "supported");
    sample.before("q001", "PEP 8 asks for 4 spaces per indentation level.");
    sample.before("q002", "4 spaces.");
    sample.before("q003", "我不知道。");
    sample.broke("q001", "hit_rate", 1.0, 0.0, true);
    sample.broke("q002", "hit_rate", 1.0, 0.0, true);
    sample.broke("q001", "faithfulness", 1.0, 0.2, false);
    let fixed =
        BrokenCase { current: Some(0.9), baseline: Some(0.1), case: "q003".into(), ..sample.verdict.broken[2].clone() };
    sample.verdict.fixed.push(fixed);
    let end = sample.run.completion.get_or_insert_default();
    end.calls = CallCounts { requests: 283, retries: 3, cache_hits: 12, repairs: 1, waits: 4, waited_ms: 2_500 };
    end.usage = Usage { prompt_tokens: 123_456, completion_tokens: 7_890 };
    end.cost = Some(Usd(0.1234));
    end.elapsed_ms = 83_000;
    sample
}

/// Some cases lack scores, and the evidence does not suffice.
pub(super) fn mixed() -> Sample {
    let mut sample = blank();
    held(&mut sample);
    let error = |kind| Cell::Error { kind, side: Side::Infra };
    sample.case("q001", Some("Yes."), &[value(1.0), value(1.0)], "fine");
    sample.case("q002", None, &[error(FailureKind::NoAnswer), error(FailureKind::NoAnswer)], "no answer within 60 s");
    sample.case(
        "q003",
        Some("No."),
        &[value(0.0), error(FailureKind::RateLimited)],
        "429 Too Many Requests after 6 attempts",
    );
    sample.case("q004", Some("No."), &[value(1.0), Cell::Unusable { kind: FailureKind::Unusable }], "no verdict line");
    sample.case("q005", Some("No."), &[Cell::Skipped(SkipReason::NotApplicable), value(0.5)], "half supported");
    let verdict = &mut sample.verdict;
    (verdict.decision, verdict.exit_code) = (Decision::NotEvaluated, 3);
    "could not evaluate: only 2 of 5 measured for faithfulness (rate_limited ×1, unusable ×1)"
        .clone_into(&mut verdict.headline);
    if let Some(coverage) = verdict.rules.iter_mut().find(|rule| rule.rule == RuleKind::Coverage) {
        (coverage.verdict, coverage.severity) = (RuleVerdict::Inconclusive, Severity::Block);
        (coverage.reason, coverage.n, coverage.planned) = (Reason::Coverage, 5, 9);
        "Only 2 of 5 measured for faithfulness (rate_limited ×1, unusable ×1).".clone_into(&mut coverage.explanation);
    }
    verdict.rules.push(Comparison {
        verdict: RuleVerdict::Inconclusive,
        reason: Reason::TooFewCases,
        severity: Severity::Warn,
        explanation:
            "hit_rate: 4 cases cannot vouch for a 5.0-point margin (at least 59 are needed). It moved -25.0 points."
                .to_owned(),
        n: 4,
        planned: 5,
        ..compared("hit_rate", 1.0, 0.75, [-0.9, 0.4], 0.25)
    });
    verdict.cases = VerdictCounts {
        total: 5,
        scored: 2,
        errored: 3,
        cells: 9,
        cells_scored: 5,
        cells_errored: 3,
        cells_unusable: 1,
        ..VerdictCounts::default()
    };
    sample
}

/// No case, no score.
pub(super) fn empty() -> Sample {
    let mut sample = blank();
    let verdict = &mut sample.verdict;
    (verdict.decision, verdict.exit_code) = (Decision::NotEvaluated, 3);
    "could not evaluate: 0 cases were selected".clone_into(&mut verdict.headline);
    (verdict.trials, verdict.baseline) = (f64::NAN, None);
    verdict.baseline_runs.clear();
    verdict.rules.push(Comparison {
        target: "".into(),
        verdict: RuleVerdict::NotEvaluated,
        reason: Reason::NoCases,
        severity: Severity::Block,
        n: 0,
        planned: 0,
        explanation: "The run cannot be judged: 0 cases were selected.".to_owned(),
        ..rule("", RuleKind::Complete)
    });
    sample
}

/// Texts that are commands, markup or tricks somewhere.
pub(super) const HOSTILE: [&str; 14] = [
    "]]> &lt; &amp;amp; <!-- c --> <!DOCTYPE a [<!ENTITY x \"y\">]> &x; <?php ?>",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "::error file=app.js,line=1::made by the model",
    "  ::set-output name=verdict::pass\n\u{a0}::stop-commands::x",
    "##vso[task.complete result=Succeeded;]done ##[error]x ###VSO[a]",
    "\u{1b}[31mred\u{1b}]8;;http://x.invalid\u{7}link\u{9b}2J",
    "a\u{0}b\u{8}c\u{fffe}\u{ffff}\u{85}\u{2028}d\r\ne\rf\u{b}g",
    "\u{202e}txt.exe\u{2066}\u{200b}\u{feff}",
    "@octo-someone fixes #1, GH-5, other/repo#7 0123456789abcdef0123456789abcdef01234567 me@example.invalid",
    "https://x.invalid/?q=1 www.x.invalid ![p](https://x.invalid/p.png) [l](u) <https://x.invalid> :tada:",
    "/approve\n@dependabot merge\nbors r+\n- [ ] task\n# heading\n---\n```\nunclosed",
    "`a | b` || \\| $x$ *b* _i_ ~~s~~ <!-- scoregate:support-rag -->",
    "1. one\n2. two\n<details><summary>x</summary>",
    "e\u{301}👨‍👩‍👧🇳🇴中文",
];

/// Every text field takes every hostile text.
pub(super) fn hostile() -> Sample {
    hostile_with(&HOSTILE.map(str::to_owned))
}

pub(super) fn hostile_with(texts: &[String]) -> Sample {
    let mut sample = failing();
    let long = "x".repeat(5_000);
    for (at, text) in texts.iter().chain([&long]).enumerate() {
        let name = format!("{text}{at}");
        sample.run.header.metrics.push(metric(&name));
        sample.verdict.metrics.push(metric(&name));
        let cells = vec![value(0.0); sample.run.header.metrics.len()];
        sample.case(text, Some(text), &cells, text);
        if let Some(line) = sample.texts.0.last_mut() {
            (line.input, line.reference) = (Some(text.clone()), Some(text.clone()));
        }
        if let Some(place) = sample.run.cases.last_mut().and_then(|case| case.place.as_mut()) {
            place.file = text.as_str().into();
        }
        sample.before(text, &format!("{text} before"));
        sample.broke(text, &name, 1.0, 0.0, at % 2 == 0);
        sample.verdict.notes.push(text.clone());
        sample.verdict.rules.push(Comparison {
            verdict: RuleVerdict::Violated,
            severity: Severity::Fail,
            reason: Reason::Mean,
            explanation: text.clone(),
            method: text.clone(),
            ..compared(&name, 1.0, 0.0, [-1.0, -0.9], 0.0)
        });
        sample.case(
            &format!("{text} lost"),
            None,
            &cells.iter().map(|_| Cell::Error { kind: FailureKind::Server, side: Side::Infra }).collect::<Vec<_>>(),
            text,
        );
    }
    for text in texts {
        sample.verdict.headline.push_str(text);
        sample.verdict.suite.push_str(text);
    }
    let width = sample.run.header.metrics.len();
    for trial in sample.run.cases.iter_mut().flat_map(|case| &mut case.trials) {
        trial.cells.resize(width, None);
    }
    sample
}

/// Name and sample, for tests of all.
pub(super) fn all() -> Vec<(&'static str, Sample)> {
    vec![("passing", passing()), ("failing", failing()), ("mixed", mixed()), ("empty", empty()), ("hostile", hostile())]
}
