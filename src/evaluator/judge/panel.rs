//! Several models judge the same answer. Each of them counts once; one that fails is an error of the panel, not a vote.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{Asked, Evaluator, Subject};
use super::ask::{finish, passed};
use crate::domain::{Direction, Failure, Measurement, Reading, ScoreKind, Spent};
use crate::net::{BoxFuture, Transport};

/// The flag of scores on which the members of a panel do not agree.
pub const JUDGES_DISAGREE: &str = "judges_disagree";

/// How the scores of a panel become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Combine {
    /// What more than half of an odd number of judges say, of 0 and 1.
    Majority,
    /// Their mean.
    Mean,
    /// The one in the middle; of an even number, the mean of the two in the middle.
    Median,
}

/// Judges of one metric.
pub(super) struct Panel {
    /// Model and judge.
    pub members: Vec<(Arc<str>, Box<dyn Evaluator>)>,
    pub combine: Combine,
    /// Of the panel's score.
    pub kind: ScoreKind,
    pub direction: Direction,
    pub pass_mark: Option<f64>,
}

impl Evaluator for Panel {
    fn evaluate<'a>(&'a self, subject: Subject<'a>, transport: &'a dyn Transport) -> BoxFuture<'a, Asked> {
        Box::pin(async move {
            let asked = join_all(self.members.iter().map(|(_, judge)| judge.evaluate(subject, transport))).await;
            let mut whole = Asked::nobody(Measurement::Error(Failure::infra(
                crate::domain::FailureKind::Internal,
                "a panel without members",
            )));
            whole.spent = Spent::default();
            let mut measurements = Vec::with_capacity(asked.len());
            for one in asked {
                whole.spent += one.spent;
                whole.attempts = whole.attempts.saturating_add(one.attempts);
                whole.repairs = whole.repairs.saturating_add(one.repairs);
                measurements.push(one.measurement);
            }
            whole.measurement = self.verdict(measurements);
            whole
        })
    }
}

impl Panel {
    fn verdict(&self, measurements: Vec<Measurement>) -> Measurement {
        let mut readings = Vec::with_capacity(measurements.len());
        for ((name, _), measurement) in self.members.iter().zip(measurements) {
            match measurement {
                Measurement::Value(reading) => readings.push((name, reading)),
                Measurement::Error(failure) => return Measurement::Error(of_member(name, failure)),
                Measurement::Unusable(failure) => return Measurement::Unusable(of_member(name, failure)),
                skipped @ Measurement::Skipped(..) => return skipped,
            }
        }
        let mut values: Vec<f64> = readings.iter().map(|(_, reading)| reading.value()).collect();
        let agree = values.windows(2).all(|pair| pair.first() == pair.last());
        let value = combined(self.combine, &mut values);
        let reading = Reading::new(self.kind, value)
            .and_then(|reading| passed(reading, self.direction, self.pass_mark))
            .map(|mut reading| {
                reading.reason = Some(told(&readings, agree));
                reading.repaired = readings.iter().any(|(_, one)| one.repaired);
                let models: BTreeSet<&str> = readings
                    .iter()
                    .filter_map(|(_, one)| one.model.as_deref())
                    .flat_map(|names| names.split(", "))
                    .collect();
                reading.model = (!models.is_empty()).then(|| models.into_iter().collect::<Vec<_>>().join(", ").into());
                for flag in readings.iter().flat_map(|(_, one)| &one.flags) {
                    if !reading.flags.contains(flag) {
                        reading.flags.push(Arc::clone(flag));
                    }
                }
                if !agree {
                    reading.flags.push(Arc::from(JUDGES_DISAGREE));
                }
                reading
            });
        finish(reading)
    }
}

fn of_member(name: &str, mut failure: Failure) -> Failure {
    failure.message = format!("judge `{name}` of the panel: {}", failure.message);
    failure
}

/// Of at least one value. `Majority` is of an odd number of zeros and ones, whose median it is.
fn combined(combine: Combine, values: &mut [f64]) -> f64 {
    match combine {
        Combine::Mean => values.iter().sum::<f64>() / values.len() as f64,
        Combine::Median | Combine::Majority => {
            values.sort_by(f64::total_cmp);
            let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
            let half = values.len() / 2;
            if values.len() % 2 == 1 { at(half) } else { (at(half.saturating_sub(1)) + at(half)) / 2.0 }
        }
    }
}

/// `agreed: a 1, b 1` or `disagreed: a 1, b 0`, and what each of them gave as its reason.
fn told(readings: &[(&Arc<str>, Reading)], agree: bool) -> String {
    let scores: Vec<String> = readings.iter().map(|(name, reading)| format!("{name} {}", reading.value())).collect();
    let mut text = format!("the judges {}: {}", if agree { "agree" } else { "disagree" }, scores.join(", "));
    for (name, reading) in readings {
        if let Some(reason) = &reading.reason {
            text.push_str(&format!("; {name}: {reason}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_combined_as_they_are_called() {
        let of = |combine, values: &[f64]| combined(combine, &mut values.to_vec());
        assert_eq!(of(Combine::Majority, &[1.0, 0.0, 1.0]), 1.0);
        assert_eq!(of(Combine::Majority, &[0.0, 1.0, 0.0]), 0.0);
        assert_eq!(of(Combine::Mean, &[1.0, 0.0, 0.5]), 0.5);
        assert_eq!(of(Combine::Median, &[5.0, 1.0, 4.0]), 4.0);
        assert_eq!(of(Combine::Median, &[5.0, 1.0, 4.0, 2.0]), 3.0);
    }
}
