//! The smallest form of results: lines of `{"case","metric","value"}` or `{"case","metric","error"}` (design §5).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;

use super::lines::{Line, Lines, json_parts};
use super::run_builder::{RunBuilder, cell};
use super::{BadLine, FailureLine, ScoreLine, StoreError};
use crate::domain::{
    Cell, Completion, Direction, FailureKind, MetricSpec, Run, RunHeader, ScoreKind, Side, SkipReason, TrialRecord,
};

/// Bad lines that are named; the others are counted.
const NAMED: usize = 20;
/// Up to so many trials a case, room is made for each alone.
const FEW_TRIALS: usize = 16;

#[derive(Deserialize)]
struct SmallLine<'l> {
    #[serde(borrow)]
    case: Cow<'l, str>,
    #[serde(borrow)]
    metric: Cow<'l, str>,
    #[serde(default)]
    value: Option<f64>,
    #[serde(default)]
    error: Option<serde_json::Value>,
    #[serde(default)]
    skipped: Option<serde_json::Value>,
    #[serde(default)]
    trial: u32,
    #[serde(default)]
    run: Option<serde_json::Value>,
    #[serde(borrow, default)]
    target: Cow<'l, str>,
    #[serde(default)]
    passed: Option<bool>,
    #[serde(borrow, default)]
    tags: Vec<Cow<'l, str>>,
    #[serde(borrow, default)]
    cluster: Option<Cow<'l, str>>,
}

/// Every run of the file, in the order in which they first appear; a file without `run` holds one.
pub(super) fn read_scores(mut reader: Lines, first: Line, declared: &[MetricSpec]) -> Result<Vec<Run>, StoreError> {
    let mut problems = Vec::new();
    let mut bad = 0_usize;
    let mut gathered = Gathered::default();
    let mut twice: Option<BadLine> = None;
    let mut next = Some(first);
    while let Some(line) = next {
        match check(&line, declared) {
            Ok((small, cell)) => {
                let placed = gathered.place(&small, cell, line.offset);
                if let (Err(problem), None) = (placed, &twice) {
                    twice = Some(BadLine { line: reader.number, column: None, problem });
                }
            }
            Err(problem) => {
                bad += 1;
                if problems.len() < NAMED {
                    problems.push(BadLine { line: reader.number, ..problem });
                }
            }
        }
        next = reader.next()?;
    }
    // What is no score at all is told first.
    if bad == 0
        && let Some(problem) = twice
    {
        return Err(StoreError::Lines { path: reader.path, problems: vec![problem], more: 0 });
    }
    if bad > 0 {
        return Err(StoreError::Lines { path: reader.path, problems, more: bad.saturating_sub(NAMED) });
    }
    Ok(gathered.finish(declared))
}

/// A line and what it measured.
fn check<'l>(line: &'l Line, declared: &[MetricSpec]) -> Result<(SmallLine<'l>, Cell), BadLine> {
    let bad = |problem: String| BadLine { line: 0, column: None, problem };
    let small: SmallLine<'l> = serde_json::from_str(&line.text).map_err(|error| {
        let (_, column) = json_parts(&error);
        let column = column.map(|column| {
            let before = line.text.as_bytes().get(..column.saturating_sub(1)).unwrap_or_default();
            u32::try_from(String::from_utf8_lossy(before).chars().count()).unwrap_or(u32::MAX).saturating_add(1)
        });
        BadLine { column, ..bad(wrong_form(&line.text, &error)) }
    })?;
    let kind =
        declared.iter().find(|metric| *metric.name == *small.metric).map_or(ScoreKind::UNIT, |metric| metric.kind);
    // Nearly every line is a plain value.
    if let (Some(value), None, None) = (small.value, &small.error, &small.skipped)
        && kind.admits(value)
    {
        let cell = Cell::Value { value, passed: small.passed };
        return Ok((small, cell));
    }
    let cell = other_cell(&small, kind).map_err(|problem| {
        let undeclared = !declared.iter().any(|metric| *metric.name == *small.metric);
        let hint = "; where its scale is another, say so in the suite: `gate.metrics.NAME.type` and `range`";
        bad(if undeclared && small.value.is_some() { format!("{problem}{hint}") } else { problem })
    })?;
    Ok((small, cell))
}

fn other_cell(small: &SmallLine<'_>, kind: ScoreKind) -> Result<Cell, String> {
    let failure = small.error.as_ref().map(|error| FailureLine {
        kind: FailureKind::Recorded,
        side: Side::Infra,
        message: error.as_str().map_or_else(|| error.to_string(), str::to_owned),
        attempts: 0,
        raw: None,
    });
    let score = ScoreLine {
        metric: small.metric.clone().into_owned(),
        value: small.value,
        passed: small.passed,
        error: failure,
        skipped: small.skipped.as_ref().map(|_| SkipReason::NotMeasured),
        ..ScoreLine::default()
    };
    cell(&score, kind)
}

/// What is wrong with a line, in the words of who wrote it.
fn wrong_form(text: &str, error: &serde_json::Error) -> String {
    const FORM: &str = "lines are `{\"case\": …, \"metric\": …, \"value\": …}`";
    let line = match serde_json::from_str::<serde_json::Value>(text) {
        Ok(serde_json::Value::Object(line)) => line,
        Ok(_) => return format!("not a JSON object; {FORM}"),
        Err(_) => return format!("not JSON; {FORM}"),
    };
    if let Some(missing) = ["case", "metric"].iter().find(|key| !line.contains_key(**key)) {
        return format!("missing key `{missing}`; {FORM}");
    }
    let wrong = |key: &str, fits: fn(&serde_json::Value) -> bool| line.get(key).is_some_and(|value| !fits(value));
    if wrong("value", |value| value.is_number() || value.is_null()) {
        return "`value` must be a number, without quotes".to_owned();
    }
    if let Some(key) = ["case", "metric", "target"].iter().find(|key| wrong(key, serde_json::Value::is_string)) {
        return format!("`{key}` must be a text, in quotes");
    }
    error.to_string()
}

/// The lines so far, as runs.
#[derive(Default)]
struct Gathered {
    /// By first appearance; the columns of the cells until the end.
    metrics: Vec<String>,
    builders: Vec<(RunBuilder, u64)>,
    /// `run` as written → position.
    runs: HashMap<String, usize>,
    /// That of the line before.
    last: Option<(Option<serde_json::Value>, usize)>,
    /// That of the line before.
    column: usize,
    /// Trials of a case at most.
    trials: u32,
}

impl Gathered {
    fn place(&mut self, line: &SmallLine<'_>, found: Cell, offset: u64) -> Result<(), String> {
        self.trials = self.trials.max(line.trial.saturating_add(1));
        let column = self.column(&line.metric);
        let (at, width) = (self.run(line), self.metrics.len());
        let Some((builder, lines)) = self.builders.get_mut(at) else { return Err("a run without a place".to_owned()) };
        *lines += 1;
        let case = builder.case(&line.case, &line.target)?;
        if case.trials.is_empty() {
            case.tags = line.tags.iter().map(|tag| Arc::from(&**tag)).collect();
            case.cluster = line.cluster.as_deref().map(Into::into);
        }
        let at = case.trials.iter().position(|trial| trial.trial == line.trial);
        let at = at.unwrap_or_else(|| {
            // A list that grows by itself begins with room for four, and there may be a million of them.
            if case.trials.len() < FEW_TRIALS {
                case.trials.reserve_exact(1);
            }
            case.trials.push(TrialRecord {
                trial: line.trial,
                answered: Ok(()),
                cells: Vec::with_capacity(width),
                latency_ms: None,
                tokens: None,
                cost: None,
                attempts: 0,
                offset,
            });
            case.trials.len() - 1
        });
        let cells = case.trials.get_mut(at).map(|trial| &mut trial.cells).ok_or("a trial without a place")?;
        if cells.len() <= column {
            cells.resize(column + 1, None);
        }
        match cells.get_mut(column) {
            Some(slot) if slot.is_none() => {
                *slot = Some(found);
                Ok(())
            }
            _ => Err(format!("case `{}`, metric `{}`, trial {} stands twice", line.case, line.metric, line.trial)),
        }
    }

    /// Mostly the metric after that of the line before.
    fn column(&mut self, metric: &str) -> usize {
        let is = |at: &usize| self.metrics.get(*at).is_some_and(|known| known == metric);
        let next = self.column.checked_add(1).filter(is).or(Some(0).filter(is));
        let known = next.or_else(|| self.metrics.iter().position(|known| known == metric));
        self.column = known.unwrap_or_else(|| {
            self.metrics.push(metric.to_owned());
            self.metrics.len() - 1
        });
        self.column
    }

    /// Position of the line's run.
    fn run(&mut self, line: &SmallLine<'_>) -> usize {
        if let Some((run, at)) = &self.last
            && *run == line.run
        {
            return *at;
        }
        let name = |run: &serde_json::Value| run.as_str().map_or_else(|| run.to_string(), str::to_owned);
        let name = line.run.as_ref().map_or_else(String::new, name);
        let Self { runs, builders, .. } = self;
        let at = *runs.entry(name.clone()).or_insert_with(|| {
            builders.push((RunBuilder::new(RunHeader { id: name, ..RunHeader::default() }), 0));
            builders.len() - 1
        });
        self.last = Some((line.run.clone(), at));
        at
    }

    /// Metrics in the order of their names, so that the order of the lines changes nothing.
    fn finish(self, declared: &[MetricSpec]) -> Vec<Run> {
        let Self { metrics: written, builders, trials, .. } = self;
        let mut order: Vec<usize> = (0..written.len()).collect();
        order.sort_by_key(|at| written.get(*at));
        let metrics: Vec<MetricSpec> =
            order.iter().filter_map(|at| written.get(*at)).map(|name| spec(name, declared)).collect();
        let finish = |(builder, lines): (RunBuilder, u64)| {
            let completion = Completion { complete: true, outcomes: lines, ..Completion::default() };
            let mut run = builder.finish(Some(completion), None);
            run.header.metrics.clone_from(&metrics);
            run.header.trials = trials;
            for trial in run.cases.iter_mut().flat_map(|case| &mut case.trials) {
                trial.cells.resize(written.len(), None);
                if !order.is_sorted() {
                    let sorted = order.iter().map(|at| trial.cells.get(*at).copied().flatten()).collect();
                    trial.cells = sorted;
                }
            }
            run
        };
        builders.into_iter().map(finish).collect()
    }
}

fn spec(name: &str, declared: &[MetricSpec]) -> MetricSpec {
    declared.iter().find(|metric| *metric.name == *name).cloned().unwrap_or(MetricSpec {
        name: name.into(),
        kind: ScoreKind::UNIT,
        direction: Direction::Higher,
        pass_mark: None,
        fingerprint: None,
    })
}
