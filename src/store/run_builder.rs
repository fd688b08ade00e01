//! Outcomes → a run as numbers.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;
use std::path::PathBuf;
use std::sync::Arc;

use hashbrown::HashTable;

use super::{OutcomeLine, ScoreLine};
use crate::domain::{CaseRecord, Cell, Completion, Place, Run, RunHeader, ScoreKind, TrialRecord};

/// Room is made for at most so many trials before they come: a file may say anything.
const TRIALS_AT_ONCE: u32 = 16;
/// Models of a metric's judges that are kept: a file may say anything.
const JUDGES: usize = 16;
/// The same for cases.
const CASES_AT_ONCE: usize = 1 << 16;

/// Texts that are shared at most.
const SHARED: usize = 4_096;

/// Collects outcomes as numbers, a case's trials together, in the order in which cases first appear.
#[derive(Default)]
pub(crate) struct RunBuilder {
    run: Run,
    /// Positions of cases by target and id, which stand in the cases themselves: there may be a million of them.
    positions: HashTable<u32>,
    hasher: RandomState,
    /// Few texts that many cases have: targets, files, tags, clusters.
    shared: HashSet<Arc<str>>,
    metrics: HashMap<String, usize>,
}

impl RunBuilder {
    pub(crate) fn new(header: RunHeader) -> Self {
        let metrics = header.metrics.iter().enumerate().map(|(at, metric)| (metric.name.to_string(), at)).collect();
        // A list that grows by doubling holds the old one beside the new one.
        let planned =
            usize::try_from(header.cases).unwrap_or(usize::MAX).saturating_mul(header.reported_targets().len());
        let cases = Vec::with_capacity(planned.min(CASES_AT_ONCE));
        Self { run: Run { header, cases, ..Run::default() }, metrics, ..Self::default() }
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
                .filter(|answer| !answer.usage.is_empty() && !answer.half_counted)
                .map(|answer| answer.usage.prompt_tokens.saturating_add(answer.usage.completion_tokens)),
            // The price of a part is not what it cost.
            cost: answer.filter(|answer| !answer.half_counted).and_then(|answer| answer.cost),
            attempts: answer
                .map_or_else(|| line.error.as_ref().map_or(0, |failure| failure.attempts), |answer| answer.attempts),
            offset,
        };
        let planned = self.run.header.trials.clamp(1, TRIALS_AT_ONCE) as usize;
        let tags = line.tags.iter().map(|tag| self.share(tag)).collect();
        let cluster = line.cluster.as_deref().map(|cluster| self.share(cluster));
        let place = line.place.as_ref().map(|place| Place { file: self.share(&place.file), line: place.line });
        let case = self.case(&line.case, &line.target)?;
        if case.trials.iter().any(|trial| trial.trial == record.trial) {
            return Err(format!("case `{}`, trial {} stands twice", line.case, line.trial));
        }
        if case.trials.is_empty() {
            // A list that grows by itself begins with room for four, and there may be a million of them.
            case.trials.reserve_exact(planned);
            case.content = line.content;
            (case.tags, case.cluster, case.place) = (tags, cluster, place);
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

    /// The case of that id under that target, a new one if there is none yet.
    ///
    /// # Errors
    /// More cases than can be counted.
    pub(super) fn case(&mut self, id: &str, target: &str) -> Result<&mut CaseRecord, String> {
        let lost = || "a case without a place".to_owned();
        let is = |case: &CaseRecord| *case.id == *id && *case.target == *target;
        // Lines of a case mostly stand together.
        let last = self.run.cases.len().checked_sub(1).filter(|last| self.run.cases.get(*last).is_some_and(is));
        if let Some(last) = last {
            return self.run.cases.get_mut(last).ok_or_else(lost);
        }
        let hash = self.hasher.hash_one((id, target));
        let (cases, hasher) = (&self.run.cases, &self.hasher);
        let at = |at: u32| cases.get(at as usize);
        if let Some(found) = self.positions.find(hash, |position| at(*position).is_some_and(is)).copied() {
            return self.run.cases.get_mut(found as usize).ok_or_else(lost);
        }
        let position = u32::try_from(cases.len()).map_err(|_| "there are more cases than can be counted".to_owned())?;
        let again = |position: &u32| at(*position).map_or(0, |case| hasher.hash_one((&*case.id, &*case.target)));
        self.positions.insert_unique(hash, position, again);
        let target = self.share(target);
        self.run.cases.push(CaseRecord {
            id: id.into(),
            target,
            content: None,
            tags: Vec::new(),
            cluster: None,
            place: None,
            trials: Vec::new(),
        });
        self.run.cases.last_mut().ok_or_else(lost)
    }

    /// One text for all that are equal.
    fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.shared.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        // As many clusters as cases are possible: then there is nothing to share.
        if self.shared.len() < SHARED {
            self.shared.insert(Arc::clone(&new));
        }
        new
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
