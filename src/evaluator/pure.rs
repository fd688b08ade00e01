//! Around every pure evaluator: needs are checked, the value is checked, the pass mark is applied. One place for all three.

use super::{Info, Needs, Ready, Scorer, Subject, Way, missing, spec};
use crate::diagnostic::Diagnostics;
use crate::domain::{Failure, FailureKind, Measurement, Reading};
use crate::suite::Block;

/// What an evaluator found, before anyone checked that it is a score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub value: f64,
    pub reason: Option<String>,
}

impl Found {
    pub(crate) fn value(value: f64) -> Self {
        Self { value, reason: None }
    }

    /// The worst, where higher is better: retrieval brought nothing that a model could be asked about.
    pub(crate) fn nothing_retrieved() -> Self {
        Self { value: 0.0, reason: Some("no contexts were retrieved; no model was asked".to_owned()) }
    }

    /// 1 where `holds`, else 0.
    pub(crate) fn check(holds: bool, reason: impl Into<String>) -> Self {
        Self { value: f64::from(u8::from(holds)), reason: Some(reason.into()) }
    }
}

/// The computation of one evaluator. Total: any text, any ids.
pub(crate) trait Measure: Send + Sync {
    /// # Errors
    /// Where this case and answer cannot be measured with these settings.
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure>;
}

struct Checked<M> {
    info: &'static Info,
    pass_mark: Option<f64>,
    measure: M,
}

impl<M: Measure> Scorer for Checked<M> {
    fn score(&self, subject: Subject<'_>) -> Measurement {
        if let Some(nothing) = missing(subject, self.info.needs) {
            return nothing;
        }
        let found = match self.measure.measure(subject) {
            Ok(found) => found,
            Err(failure) => return Measurement::Error(failure),
        };
        match reading(self.info, self.pass_mark, found.value) {
            Ok(mut reading) => {
                reading.reason = found.reason;
                Measurement::Value(reading)
            }
            Err(failure) => Measurement::Error(failure),
        }
    }
}

/// A checked reading with `passed` from the pass mark.
pub(crate) fn reading(info: &Info, pass_mark: Option<f64>, value: f64) -> Result<Reading, Failure> {
    let mut reading = Reading::new(info.score, value)?;
    reading.passed = pass_mark.or(info.pass_mark).map(|mark| info.direction.reaches(reading.value(), mark));
    Ok(reading)
}

/// A pure evaluator, ready to use.
pub(crate) fn ready(
    block: &Block,
    info: &'static Info,
    pass_mark: Option<f64>,
    measure: impl Measure + 'static,
) -> Ready {
    Ready {
        spec: spec(block, info, pass_mark),
        info,
        way: Way::Pure(Box::new(Checked { info, pass_mark: pass_mark.or(info.pass_mark), measure })),
    }
}

/// The `threshold` of a block, checked against the scale; `Err` after pushing a diagnostic. A mark that every score reaches is
/// refused: such a check could never fail.
pub(crate) fn threshold(
    block: &Block,
    info: &Info,
    threshold: Option<f64>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<f64>, ()> {
    let (lo, hi) = info.score.range();
    match threshold {
        Some(mark) if !(mark > lo && mark <= hi) => {
            let message = format!("threshold {mark} of `{}` must be above {lo} and at most {hi}", block.name);
            diagnostics.push(block.problem("/threshold", "threshold-out-of-range", message).help(format!(
                "scores of `{}` go from {lo} to {hi}; a case passes at the threshold or above",
                info.name
            )));
            Err(())
        }
        threshold => Ok(threshold),
    }
}

/// Texts that would take too long to compare.
pub(crate) fn too_long(what: &str, left: usize, right: usize) -> Failure {
    let message = format!(
        "the texts have {left} and {right} {what}, which would take too long to compare: shorten them, or use `contains`, `token_f1` or `bleu`"
    );
    Failure::infra(FailureKind::Missing, message)
}

/// The reference of a case whose evaluator needs one (which [`missing`] has checked).
pub(crate) fn reference<'a>(subject: Subject<'a>) -> Result<&'a str, Failure> {
    subject.case.reference.as_deref().ok_or_else(|| super::no(Needs::Reference))
}
