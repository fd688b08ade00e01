//! What a peer's file says, collected, and the runs that come of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::domain::{Completion, Direction, MetricSpec, Run, RunHeader, ScoreKind, SkipReason};
use crate::store::{BadLine, OutcomeLine, RunBuilder, ScoreLine, StoreError};

/// Bad lines that are named; the others are counted.
const NAMED: usize = 20;

/// What the metrics mean that an outcome does not speak of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unsaid {
    /// They do not apply to this case.
    NotApplicable,
    /// They were planned and are not there.
    Missing,
    /// These were planned; the others do not apply.
    Planned(Vec<String>),
}

/// One outcome and where it stands.
pub(super) struct Seen {
    pub(super) line: u64,
    /// Which of several runs of the file; empty: there is one.
    pub(super) run: String,
    pub(super) outcome: OutcomeLine,
    pub(super) unsaid: Unsaid,
}

/// What a tool says of a metric itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hint {
    pub(super) kind: ScoreKind,
    pub(super) direction: Direction,
}

impl Hint {
    pub(super) const PASS: Self = Self { kind: ScoreKind::Binary, direction: Direction::Higher };
    pub(super) const LOWER: Self = Self { kind: ScoreKind::UNIT, direction: Direction::Lower };
}

/// A peer's file as it was read.
#[derive(Default)]
pub(super) struct Sheet {
    pub(super) header: RunHeader,
    /// The tool's own version, where the file says it.
    pub(super) version: Option<String>,
    pub(super) seen: Vec<Seen>,
    pub(super) hints: BTreeMap<String, Hint>,
    /// Why the run is not whole.
    pub(super) incomplete: Option<String>,
    problems: Vec<BadLine>,
    bad: usize,
    repeats: HashMap<(String, String, String), u32>,
}

/// An outcome of a case, without scores.
pub(super) fn outcome(case: String, target: String, trial: u32) -> OutcomeLine {
    OutcomeLine {
        index: None,
        case,
        target,
        trial,
        tags: Vec::new(),
        cluster: None,
        content: None,
        place: None,
        input: None,
        reference: None,
        answer: None,
        error: None,
        scores: Vec::new(),
    }
}

impl Sheet {
    pub(super) fn push(&mut self, line: u64, outcome: OutcomeLine, unsaid: Unsaid) {
        self.seen.push(Seen { line, run: String::new(), outcome, unsaid });
    }

    pub(super) fn problem(&mut self, line: u64, problem: impl Into<String>) {
        self.bad_line(BadLine { line, column: None, problem: problem.into() });
    }

    pub(super) fn bad_line(&mut self, bad: BadLine) {
        self.bad += 1;
        if self.problems.len() < NAMED {
            self.problems.push(bad);
        }
    }

    /// The trial of a case that says none: how often it was seen before.
    pub(super) fn repeat(&mut self, run: &str, case: &str, target: &str) -> u32 {
        let count = self.repeats.entry((run.to_owned(), case.to_owned(), target.to_owned())).or_default();
        let trial = *count;
        *count = count.saturating_add(1);
        trial
    }

    /// Leaves other metrics out, where some are wanted: a number of theirs may be out of any range.
    ///
    /// # Errors
    /// `Corrupt` where one is wanted that is not there.
    pub(super) fn keep(&mut self, path: &Path, metrics: &[String]) -> Result<(), StoreError> {
        if metrics.is_empty() {
            return Ok(());
        }
        let all: BTreeSet<&str> =
            self.seen.iter().flat_map(|seen| &seen.outcome.scores).map(|score| score.metric.as_str()).collect();
        super::known(path, metrics, &all)?;
        self.seen.iter_mut().for_each(|seen| seen.outcome.scores.retain(|score| metrics.contains(&score.metric)));
        Ok(())
    }

    /// The runs, in the order in which they first appear.
    ///
    /// # Errors
    /// `Lines` with every bad line; `Corrupt` where nothing was measured.
    pub(super) fn runs(mut self, tool: &str, path: &Path, declared: &[MetricSpec]) -> Result<Vec<Run>, StoreError> {
        if self.bad == 0 && self.seen.is_empty() {
            let problem = format!("the file holds no result of {tool}");
            return Err(StoreError::Corrupt { path: path.to_owned(), line: 0, problem });
        }
        let metrics = self.metrics(declared);
        let header = self.run_header(tool, &metrics);
        let mut builders: Vec<(String, RunBuilder, Counts)> = Vec::new();
        for seen in std::mem::take(&mut self.seen) {
            let at = builders.iter().position(|(run, ..)| *run == seen.run).unwrap_or_else(|| {
                let id = if seen.run.is_empty() { header.id.clone() } else { seen.run.clone() };
                let header = RunHeader { id, ..header.clone() };
                builders.push((seen.run.clone(), RunBuilder::new(header), Counts::default()));
                builders.len() - 1
            });
            let Some((_, builder, counts)) = builders.get_mut(at) else { continue };
            let outcome = said(seen.outcome, &seen.unsaid, &metrics);
            counts.see(&outcome);
            if let Err(problem) = builder.outcome(&outcome, 0) {
                self.problem(seen.line, explained(problem, &outcome.scores, &metrics, declared));
            }
        }
        if self.bad > 0 {
            let more = self.bad.saturating_sub(self.problems.len());
            return Err(StoreError::Lines { path: path.to_owned(), problems: self.problems, more });
        }
        let incomplete = self.incomplete;
        let finish = |(_, builder, counts): (String, RunBuilder, Counts)| {
            let completion = Completion {
                complete: incomplete.is_none(),
                reason: incomplete.clone(),
                outcomes: counts.outcomes,
                ..Completion::default()
            };
            let mut run = builder.finish(Some(completion), None);
            run.header.cases = counts.cases.len() as u64;
            run.header.trials = counts.trials;
            run
        };
        Ok(builders.into_iter().map(finish).collect())
    }

    /// In the order of their names, so that the order of the file changes nothing.
    fn metrics(&self, declared: &[MetricSpec]) -> Vec<MetricSpec> {
        let scores = self.seen.iter().flat_map(|seen| &seen.outcome.scores).map(|score| score.metric.as_str());
        let planned = self.seen.iter().flat_map(|seen| match &seen.unsaid {
            Unsaid::Planned(names) => names.as_slice(),
            Unsaid::NotApplicable | Unsaid::Missing => &[],
        });
        let names: BTreeSet<&str> = scores.chain(planned.map(String::as_str)).collect();
        let spec = |name: &str| {
            let hint = self.hints.get(name).copied();
            let hint = hint.unwrap_or(Hint { kind: ScoreKind::UNIT, direction: Direction::Higher });
            declared.iter().find(|metric| *metric.name == *name).cloned().unwrap_or(MetricSpec {
                name: name.into(),
                kind: hint.kind,
                direction: hint.direction,
                pass_mark: None,
                fingerprint: None,
            })
        };
        names.into_iter().map(spec).collect()
    }

    fn run_header(&self, tool: &str, metrics: &[MetricSpec]) -> RunHeader {
        let targets: BTreeSet<&str> = self.seen.iter().map(|seen| seen.outcome.target.as_str()).collect();
        let version = self.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        RunHeader {
            tool: format!("{tool}{version}"),
            metrics: metrics.to_vec(),
            targets: targets.into_iter().map(Into::into).collect(),
            ..self.header.clone()
        }
    }
}

#[derive(Default)]
struct Counts {
    outcomes: u64,
    trials: u32,
    cases: BTreeSet<String>,
}

impl Counts {
    fn see(&mut self, outcome: &OutcomeLine) {
        self.outcomes += 1;
        self.trials = self.trials.max(outcome.trial.saturating_add(1));
        self.cases.insert(outcome.case.clone());
    }
}

/// The outcome with a word on every metric that applies.
fn said(mut outcome: OutcomeLine, unsaid: &Unsaid, metrics: &[MetricSpec]) -> OutcomeLine {
    for metric in metrics {
        if outcome.scores.iter().any(|score| *score.metric == *metric.name) {
            continue;
        }
        let applies = match unsaid {
            Unsaid::NotApplicable => false,
            Unsaid::Missing => true,
            Unsaid::Planned(names) => names.iter().any(|name| **name == *metric.name),
        };
        if applies {
            // Of a case without an answer an unsaid metric is known to be planned.
            if outcome.error.is_none() {
                outcome.scores.push(super::mark::left(&metric.name, "the file does not speak of it"));
            }
        } else {
            let skipped = Some(SkipReason::NotApplicable);
            outcome.scores.push(ScoreLine { metric: metric.name.to_string(), skipped, ..ScoreLine::default() });
        }
    }
    outcome
}

/// Where a scale is the matter, how to state it.
fn explained(problem: String, scores: &[ScoreLine], metrics: &[MetricSpec], declared: &[MetricSpec]) -> String {
    let outside = scores.iter().find(|score| {
        let kind = metrics.iter().find(|metric| *metric.name == *score.metric).map(|metric| metric.kind);
        matches!((kind, score.value), (Some(kind), Some(value)) if !kind.admits(value))
    });
    match outside {
        Some(score) if !declared.iter().any(|metric| *metric.name == *score.metric) => format!(
            "{problem}; where its scale is another, say so in a suite (`--suite`): `gate.metrics.NAME.type` and `range`; \
             where it is no score, leave it out: `--metric` names those that are compared"
        ),
        _ => problem,
    }
}
