//! The parts of a composite: found among the suite's metrics, then read from a case's scores.

use serde_json::json;

use super::super::{Ready, Way};
use super::{Composite, Rule};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::domain::{
    Digest, Direction, Failure, FailureKind, Measurement, MetricSpec, Reading, Score, ScoreKind, SkipReason,
};
use crate::suite::Block;
use crate::text::number::case_score;
use crate::text::suggest::{did_you_mean, list};

/// A metric that a composite is made of.
#[derive(Clone, Debug)]
pub(super) struct Part {
    name: String,
    weight: f64,
    /// Its place among the suite's metrics, and what it is.
    found: Option<(usize, MetricSpec)>,
}

impl Part {
    pub(super) fn named(name: String, weight: f64) -> Self {
        Self { name, weight, found: None }
    }

    /// From 0, the worst, to 1, the best.
    fn share(&self, reading: &Reading) -> f64 {
        let Some((_, spec)) = &self.found else { return 0.0 };
        let (lo, hi) = spec.kind.range();
        let share = if hi > lo { (reading.value() - lo) / (hi - lo) } else { 0.0 };
        match spec.direction {
            Direction::Higher => share,
            Direction::Lower => 1.0 - share,
        }
    }
}

/// Finds the parts of every composite. A composite that lacks one is left out, with a problem unless the part has its own.
pub fn connect(mut ready: Vec<Ready>, blocks: &[Block], problems: &mut Diagnostics) -> Vec<Ready> {
    let metrics: Vec<(MetricSpec, bool)> =
        ready.iter().map(|one| (one.spec.clone(), matches!(one.way, Way::Composite(_)))).collect();
    let mut sound = vec![true; ready.len()];
    for (one, sound) in ready.iter_mut().zip(&mut sound) {
        let Way::Composite(composite) = &mut one.way else { continue };
        let Some(block) = blocks.iter().find(|block| block.name == one.spec.name) else { continue };
        for (position, part) in composite.parts.iter_mut().enumerate() {
            match find(part, composite.rule, position, block, blocks, &metrics) {
                Ok(found) => part.found = Some(found),
                Err(problem) => {
                    problem.into_iter().for_each(|problem| problems.push(*problem));
                    *sound = false;
                }
            }
        }
        if let Some(fingerprint) = one.spec.fingerprint.as_mut().filter(|_| *sound) {
            fingerprint.0.insert("parts".to_owned(), composite.measured_with());
        }
    }
    // Places stay true: what is left out has a problem, and a suite with problems is not run.
    let mut sound = sound.into_iter();
    ready.retain(|_| sound.next().unwrap_or(true));
    ready
}

/// The part's place and metric; `Err` with a problem, or with none where the part has one of its own.
fn find(
    part: &Part,
    rule: Rule,
    position: usize,
    block: &Block,
    blocks: &[Block],
    metrics: &[(MetricSpec, bool)],
) -> Result<(usize, MetricSpec), Option<Box<Diagnostic>>> {
    let pointer = match rule {
        Rule::WeightedMean => format!("/of/{}", part.name),
        Rule::All | Rule::Any => format!("/of/{position}"),
    };
    let problem = |code, message: String, help: String| {
        let problem = match rule {
            Rule::WeightedMean => block.key_problem(&pointer, code, message),
            Rule::All | Rule::Any => block.problem(&pointer, code, message),
        };
        Err(Some(Box::new(problem.help(help))))
    };
    let name = &part.name;
    let Some((place, (spec, composite))) = metrics.iter().enumerate().find(|(_, (spec, _))| *spec.name == **name)
    else {
        if blocks.iter().any(|other| *other.name == **name) {
            return Err(None);
        }
        let names = || metrics.iter().filter(|(_, composite)| !composite).map(|(spec, _)| &*spec.name);
        let help = did_you_mean(name, names()).unwrap_or_else(|| format!("there are {}", list(names(), "and")));
        let message = format!("`{}` is made of `{name}`, which is no metric of the suite", block.name);
        return problem("unknown-metric", message, help);
    };
    if *composite {
        let message = format!("`{}` is made of `{name}`, which is made of others itself", block.name);
        return problem("composite-of-composite", message, "name the metrics that it is made of".to_owned());
    }
    if rule != Rule::WeightedMean && spec.pass_mark.is_none() {
        let message = format!("`{}` asks whether `{name}` passed, but `{name}` has no notion of passing", block.name);
        return problem("no-pass-mark", message, format!("give `{name}` a `threshold`"));
    }
    Ok((place, spec.clone()))
}

/// Fills in the scores of all composites; `scores` are those of `evaluators`, one each, in their order.
pub fn compose(evaluators: &[Ready], scores: &mut [Score]) {
    for (position, evaluator) in evaluators.iter().enumerate() {
        let Way::Composite(composite) = &evaluator.way else { continue };
        let measurement = composite.of(scores);
        if let Some(score) = scores.get_mut(position) {
            score.measurement = measurement;
        }
    }
}

impl Composite {
    /// What the parts are measured with, and what passes where that counts.
    fn measured_with(&self) -> String {
        let part = |part: &Part| {
            let (_, spec) = part.found.as_ref()?;
            let fingerprint = serde_json::to_string(&spec.fingerprint).unwrap_or_default();
            let mark = spec.pass_mark.filter(|_| self.rule != Rule::WeightedMean);
            Some((part.name.clone(), json!([Digest::of([fingerprint]).to_string(), mark])))
        };
        serde_json::Value::Object(self.parts.iter().filter_map(part).collect()).to_string()
    }

    fn of(&self, scores: &[Score]) -> Measurement {
        let measured: Vec<(&Part, &Measurement)> = self
            .parts
            .iter()
            .filter_map(|part| {
                let (place, spec) = part.found.as_ref()?;
                scores.get(*place).filter(|score| score.metric == spec.name).map(|score| (part, &score.measurement))
            })
            .collect();
        if measured.len() != self.parts.len() {
            return Measurement::Error(Failure::infra(FailureKind::Internal, "a composite without its parts"));
        }
        let measurement = match self.rule {
            Rule::WeightedMean => self.mean(&measured),
            Rule::All => self.checks(&measured, false),
            Rule::Any => self.checks(&measured, true),
        };
        self.finished(measurement)
    }

    fn mean(&self, measured: &[(&Part, &Measurement)]) -> Measurement {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (part, measurement) in measured.iter().filter(|(part, _)| part.weight > 0.0) {
            let Measurement::Value(reading) = measurement else { return without(part, measurement) };
            sum += part.weight * part.share(reading);
            weights += part.weight;
        }
        // Rounding may leave the scale by a hair; no `min`: it would turn NaN into a perfect score.
        let mean = sum / weights;
        self.reading(ScoreKind::UNIT, if mean > 1.0 { 1.0 } else { mean }, measured)
    }

    /// `decisive`: the answer of one part that settles the matter.
    fn checks(&self, measured: &[(&Part, &Measurement)], decisive: bool) -> Measurement {
        let passed = |measurement: &Measurement| match measurement {
            Measurement::Value(reading) => reading.passed,
            Measurement::Error(_) | Measurement::Unusable(_) | Measurement::Skipped(..) => None,
        };
        let settled = measured.iter().any(|(_, measurement)| passed(measurement) == Some(decisive));
        if !settled && let Some((part, open)) = measured.iter().find(|(_, measurement)| passed(measurement).is_none()) {
            return without(part, open);
        }
        self.reading(ScoreKind::Binary, f64::from(u8::from(settled == decisive)), measured)
    }

    fn reading(&self, kind: ScoreKind, value: f64, measured: &[(&Part, &Measurement)]) -> Measurement {
        match Reading::new(kind, value) {
            Ok(mut reading) => {
                reading.passed = self.pass_mark.map(|mark| reading.value() >= mark);
                Measurement::Value(reading.because(told(measured)))
            }
            Err(failure) => Measurement::Error(failure),
        }
    }
}

/// The parts with their scores, for people.
fn told(measured: &[(&Part, &Measurement)]) -> String {
    let one = |(part, measurement): &(&Part, &Measurement)| match measurement {
        Measurement::Value(reading) => format!("{} {}", part.name, case_score(reading.value())),
        Measurement::Error(_) | Measurement::Unusable(_) | Measurement::Skipped(..) => {
            format!("{} without a score", part.name)
        }
    };
    measured.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What the composite comes to where a part has no score: the same, named.
fn without(part: &Part, measurement: &Measurement) -> Measurement {
    let name = &part.name;
    let failed = |failure: &Failure| Failure {
        message: format!("`{name}` has no score: {}", failure.message),
        attempts: 0,
        raw: None,
        ..failure.clone()
    };
    match measurement {
        Measurement::Error(failure) => Measurement::Error(failed(failure)),
        Measurement::Unusable(failure) => Measurement::Unusable(failed(failure)),
        Measurement::Skipped(reason, why) => Measurement::Skipped(*reason, format!("`{name}` has no score: {why}")),
        // A value that says nothing about passing, although its metric does.
        Measurement::Value(_) => {
            Measurement::Skipped(SkipReason::NotMeasured, format!("`{name}` does not say whether it passed"))
        }
    }
}
