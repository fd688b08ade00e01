//! Outcomes → a run as numbers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::{OutcomeLine, ScoreLine};
use crate::domain::{CaseRecord, Cell, Completion, Run, RunHeader, ScoreKind, TrialRecord};

/// Collects outcomes as numbers, a case's trials together, in the order in which cases first appear.
#[derive(Default)]
pub(crate) struct RunBuilder {
    run: Run,
    positions: HashMap<(Arc<str>, Arc<str>), usize>,
    metrics: HashMap<String, usize>,
}

impl RunBuilder {
    pub(crate) fn new(header: RunHeader) -> Self {
        let metrics = header.metrics.iter().enumerate().map(|(at, metric)| (metric.name.to_string(), at)).collect();
        Self { run: Run { header, ..Run::default() }, positions: HashMap::new(), metrics }
    }

    /// # Errors
    /// What is wrong with the line, in words.
    pub(crate) fn outcome(&mut self, line: &OutcomeLine, offset: u64) -> Result<(), String> {
        let mut cells = vec![None; self.run.header.metrics.len()];
        for score in &line.scores {
            let at = *self
                .metrics
                .get(&score.metric)
                .ok_or_else(|| format!("metric `{}` is not among the metrics of the run's first line", score.metric))?;
            let kind = self.run.header.metrics.get(at).map_or(ScoreKind::UNIT, |metric| metric.kind);
            let slot = cells.get_mut(at).ok_or("a metric without a place")?;
            if slot.replace(cell(score, kind)?).is_some() {
                return Err(format!("metric `{}` stands twice in one outcome", score.metric));
            }
        }
        let answer = line.answer.as_ref();
        let record = TrialRecord {
            trial: line.trial,
            answered: match &line.error {
                Some(failure) => Err((failure.kind, failure.side)),
                None => Ok(()),
            },
            cells,
            latency_ms: answer.filter(|answer| !answer.cached).and_then(|answer| answer.latency_ms),
            tokens: answer
                .filter(|answer| !answer.usage.is_empty())
                .map(|answer| answer.usage.prompt_tokens.saturating_add(answer.usage.completion_tokens)),
            cost: answer.and_then(|answer| answer.cost),
            attempts: answer
                .map_or_else(|| line.error.as_ref().map_or(0, |failure| failure.attempts), |answer| answer.attempts),
            offset,
        };
        let case = self.case(&line.case, &line.target);
        if case.trials.iter().any(|trial| trial.trial == record.trial) {
            return Err(format!("case `{}`, trial {} stands twice", line.case, line.trial));
        }
        if case.trials.is_empty() {
            case.content = line.content;
            case.tags = line.tags.iter().map(|tag| tag.as_str().into()).collect();
            case.cluster = line.cluster.as_deref().map(Into::into);
            case.place.clone_from(&line.place);
        }
        case.trials.push(record);
        Ok(())
    }

    pub(super) fn case(&mut self, id: &str, target: &str) -> &mut CaseRecord {
        let key: (Arc<str>, Arc<str>) = (id.into(), target.into());
        let cases = &mut self.run.cases;
        let at = *self.positions.entry(key.clone()).or_insert_with(|| {
            cases.push(CaseRecord {
                id: key.0,
                target: key.1,
                content: None,
                tags: Vec::new(),
                cluster: None,
                place: None,
                trials: Vec::new(),
            });
            cases.len() - 1
        });
        &mut cases[at]
    }

    pub(crate) fn finish(mut self, completion: Option<Completion>, file: Option<PathBuf>) -> Run {
        self.run.completion = completion;
        self.run.file = file;
        self.run
    }
}

pub(super) fn cell(score: &ScoreLine, kind: ScoreKind) -> Result<Cell, String> {
    let given = [score.value.is_some(), score.error.is_some(), score.unusable.is_some(), score.skipped.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        return Err(format!("metric `{}` needs exactly one of value, error, unusable, skipped", score.metric));
    }
    if let Some(value) = score.value {
        if !kind.admits(value) {
            let (lo, hi) = kind.range();
            return Err(format!("{value} is no score of `{}`: it must be from {lo} to {hi}", score.metric));
        }
        return Ok(Cell::Value { value, passed: score.passed });
    }
    if let Some(failure) = &score.error {
        return Ok(Cell::Error { kind: failure.kind, side: failure.side });
    }
    if let Some(failure) = &score.unusable {
        return Ok(Cell::Unusable { kind: failure.kind });
    }
    Ok(Cell::Skipped(score.skipped.unwrap_or(crate::domain::SkipReason::NotMeasured)))
}
