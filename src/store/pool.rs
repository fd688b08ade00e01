//! A run accepted as a baseline, and the pool of the last accepted runs.

use super::{StoreError, Texts};
use crate::domain::{Baseline, BaselineCase, BaselineRun, BaselineSource, Run, Taken};

/// Characters of an answer that are kept to be shown beside a new one.
const ANSWER_LIMIT: usize = 2000;
/// Runs a pool holds at most; the oldest leave first (statistics §15.1).
const POOL: usize = 10;

/// A baseline of one run.
///
/// # Errors
/// Those of reading the run's texts.
pub fn accept(run: &Run, accepted: BaselineRun, texts: Option<&Texts>) -> Result<Baseline, StoreError> {
    let planned = match run.header.trials {
        0 => usize::MAX,
        trials => usize::try_from(trials).unwrap_or(usize::MAX),
    };
    let mut cases = Vec::with_capacity(run.cases.len());
    for case in &run.cases {
        let answer = answer_of(case.trials.first().map(|trial| trial.offset), texts)?;
        cases.push(BaselineCase { answer, ..BaselineCase::of(case, &run.header.metrics, planned) });
    }
    cases.sort_by(|left, right| (&left.id, &left.target).cmp(&(&right.id, &right.target)));
    Ok(Baseline {
        source: BaselineSource::default(),
        suite: run.header.suite.clone(),
        runs: vec![accepted],
        metrics: run.header.metrics.clone(),
        cases,
    })
}

/// The pool with one more run. Cases, metrics and fingerprints must be the same: only then is it the same thing, measured again.
///
/// # Errors
/// What differs, by name.
pub fn pool(mut pool: Baseline, newest: Baseline) -> Result<Baseline, String> {
    if pool.metrics != newest.metrics {
        return Err(
            "the run measured other metrics than the baseline, or measured them otherwise: start a new baseline"
                .to_owned(),
        );
    }
    if pool.runs.iter().any(|known| newest.runs.iter().any(|run| run.id == known.id)) {
        return Err("this run is in the baseline already".to_owned());
    }
    if pool.cases.len() != newest.cases.len() {
        let (had, has) = (pool.cases.len(), newest.cases.len());
        return Err(format!("the baseline holds {had} cases, the run {has}: start a new baseline"));
    }
    let (runs, more) = (pool.runs.len(), newest.runs.len());
    for (known, case) in pool.cases.iter_mut().zip(newest.cases) {
        if (&known.id, &known.target, known.content) != (&case.id, &case.target, case.content) {
            return Err(format!(
                "case `{}` is not the same in the baseline and the run: start a new baseline",
                case.id
            ));
        }
        if known.not_applicable != case.not_applicable || !known.scores.keys().eq(case.scores.keys()) {
            return Err(format!(
                "other metrics apply to case `{}` in the baseline than in the run: start a new baseline",
                case.id
            ));
        }
        for (known, runs) in known.scores.values_mut().zip(case.scores.into_values()) {
            known.extend(runs);
        }
        known.answered |= case.answered;
        known.answer = case.answer;
        known.taken = joined(known.taken.take(), runs, case.taken, more);
    }
    pool.runs.extend(newest.runs);
    let old = pool.runs.len().saturating_sub(POOL);
    pool.runs.drain(..old);
    pool.cases.iter_mut().for_each(|case| case.retire(old, true));
    Ok(pool)
}

/// What the answers took in the runs of two pools; who says nothing has empty places.
fn joined(earlier: Option<Box<Taken>>, runs: usize, later: Option<Box<Taken>>, more: usize) -> Option<Box<Taken>> {
    if earlier.is_none() && later.is_none() {
        return None;
    }
    let (mut all, mut later) = (earlier.unwrap_or_default(), later.unwrap_or_default());
    all.pad(runs);
    later.pad(more);
    all.append(*later);
    Some(all)
}

/// The run of `pool` whose every score `newest` repeats: the same to the last digit, in all cases, trials and metrics.
pub fn repeats<'p>(pool: &'p Baseline, newest: &Baseline) -> Option<&'p BaselineRun> {
    let same = |run: usize| {
        pool.cases.len() == newest.cases.len()
            && pool.cases.iter().zip(&newest.cases).all(|(known, case)| {
                known.scores.keys().eq(case.scores.keys())
                    && known.scores.iter().all(|(metric, runs)| {
                        let now = case.scores.get(metric).and_then(|runs| runs.last());
                        runs.get(run) == now
                    })
            })
    };
    pool.runs.iter().enumerate().find(|(at, _)| same(*at)).map(|(_, run)| run)
}

fn answer_of(offset: Option<u64>, texts: Option<&Texts>) -> Result<Option<String>, StoreError> {
    let (Some(offset), Some(texts)) = (offset, texts) else { return Ok(None) };
    let line = texts.outcome(offset)?;
    Ok(line.answer.map(|answer| answer.text.chars().take(ANSWER_LIMIT).collect()))
}

#[cfg(test)]
mod tests;
