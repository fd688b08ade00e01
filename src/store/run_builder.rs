//! Outcomes → a run as numbers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::{OutcomeLine, ScoreLine};
use crate::domain::{CaseRecord, Cell, Completion, Run, RunHeader, ScoreKind, TrialRecord};

/// Room is made for at most so many trials before they come: a file may say anything.
const TRIALS_AT_ONCE: u32 = 16;
/// Models of a metric's judges that are kept: a file may say anything.
const JUDGES: usize = 16;
/// The same for cases.
const CASES_AT_ONCE: usize = 1 << 16;

/// Collects outcomes as numbers, a case's trials together, in the order in which cases first appear.
#[derive(Default)]
pub(crate) struct RunBuilder {
    run: Run,
    /// Target → case → position.
    positions: HashMap<Arc<str>, HashMap<Arc<str>, usize>>,
    metrics: HashMap<String, usize>,
}

impl RunBuilder {
    pub(crate) fn new(header: RunHeader) -> Self {
        let metrics = header.metrics.iter().enumerate().map(|(at, metric)| (metric.name.to_string(), at)).collect();
        // A list that grows by doubling holds the old one beside the new one.
        let planned =
            usize::try_from(header.cases).unwrap_or(usize::MAX).saturating_mul(header.reported_targets().len());
        let cases = Vec::with_capacity(planned.min(CASES_AT_ONCE));
        Self { run: Run { header, cases, ..Run::default() }, positions: HashMap::new(), metrics }
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
            self.note_judge(at, score.model.as_deref());
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
        let planned = self.run.header.trials.clamp(1, TRIALS_AT_ONCE) as usize;
        let case = self.case(&line.case, &line.target);
        if case.trials.iter().any(|trial| trial.trial == record.trial) {
            return Err(format!("case `{}`, trial {} stands twice", line.case, line.trial));
        }
        if case.trials.is_empty() {
            // A list that grows by itself begins with room for four, and there may be a million of them.
            case.trials.reserve_exact(planned);
            case.content = line.content;
            case.tags = line.tags.iter().map(|tag| tag.as_str().into()).collect();
            case.cluster = line.cluster.as_deref().map(Into::into);
            case.place.clone_from(&line.place);
        }
        case.trials.push(record);
        Ok(())
    }

    /// Keeps who judged. Nearly every line names the one that is known.
    fn note_judge(&mut self, at: usize, model: Option<&str>) {
        let (Some(model), Some(metric)) = (model, self.run.header.metrics.get(at)) else { return };
        let known = self.run.judges.entry(metric.name.clone()).or_default();
        for name in model.split(", ") {
            if known.len() < JUDGES && !known.contains(name) {
                known.insert(name.into());
            }
        }
    }

    pub(super) fn case(&mut self, id: &str, target: &str) -> &mut CaseRecord {
        let Self { run, positions, .. } = self;
        let cases = &mut run.cases;
        // Lines of a case mostly stand together.
        let same = cases
            .len()
            .checked_sub(1)
            .filter(|last| cases.get(*last).is_some_and(|case| *case.id == *id && *case.target == *target));
        let known = || positions.get(target).and_then(|cases| cases.get(id)).copied();
        let at = same.or_else(known).unwrap_or_else(|| {
            // Few targets, many cases: one name for all of a target.
            let target = positions.get_key_value(target).map_or_else(|| target.into(), |(name, _)| Arc::clone(name));
            let id: Arc<str> = id.into();
            positions.entry(Arc::clone(&target)).or_default().insert(Arc::clone(&id), cases.len());
            cases.push(CaseRecord {
                id,
                target,
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

    /// The case that was added to last, where lines come case by case.
    pub(crate) fn last(&self) -> Option<&CaseRecord> {
        self.run.cases.last()
    }

    pub(crate) fn finish(mut self, completion: Option<Completion>, file: Option<PathBuf>) -> Run {
        self.run.completion = completion;
        self.run.file = file;
        self.run
    }
}

pub(super) fn cell(score: &ScoreLine, kind: ScoreKind) -> Result<Cell, String> {
    match (score.value, &score.error, &score.unusable, score.skipped) {
        (Some(value), None, None, None) if kind.admits(value) => Ok(Cell::Value { value, passed: score.passed }),
        (Some(value), None, None, None) => {
            let (lo, hi) = kind.range();
            Err(format!("{value} is no score of `{}`: it must be from {lo} to {hi}", score.metric))
        }
        (None, Some(failure), None, None) => Ok(Cell::Error { kind: failure.kind, side: failure.side }),
        (None, None, Some(failure), None) => Ok(Cell::Unusable { kind: failure.kind }),
        (None, None, None, Some(reason)) => Ok(Cell::Skipped(reason)),
        _ => Err(format!("metric `{}` needs exactly one of value, error, unusable, skipped", score.metric)),
    }
}
