//! Is the number in the answer the expected one, within a tolerance?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, FailureKind, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::amount::{Decimal, amounts};

pub const INFO: Info = Info {
    name: "numeric",
    summary: "1 if the number in the answer is that of the reference (or `value`), within a tolerance, else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "|answer − expected| ≤ the larger of `absolute` and `relative` × |expected|",
};

/// With `value`, no reference is needed.
const OF_VALUE: Info = Info { needs: &[Needs::Answer], ..INFO };

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Is the number in the answer the expected one?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The expected number; default: that in the case's reference.
    value: Option<f64>,
    /// Largest difference that passes. Default: 0.
    #[serde(default)]
    absolute: f64,
    /// Largest difference that passes, as a part of the expected number: 0.01 is one percent. Default: 0.
    #[serde(default)]
    relative: f64,
    /// Which number of a text counts: the `only` one (a text with several does not pass), the `first` or the `last`. Default: only.
    #[serde(default)]
    take: Take,
    /// What separates the decimals: `point` (1,234.5) or `comma` (1.234,5). Default: point.
    #[serde(default)]
    decimal: DecimalMark,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    #[default]
    Only,
    First,
    Last,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecimalMark {
    #[default]
    Point,
    Comma,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mut fine = sound;
    for (key, tolerance) in [("absolute", settings.absolute), ("relative", settings.relative)] {
        if !tolerance.is_finite() || tolerance < 0.0 {
            let problem =
                block.problem(&format!("/{key}"), "tolerance-out-of-range", format!("`{key}` is {tolerance}"));
            diagnostics.push(problem.help("a tolerance is 0 or more"));
            fine = false;
        }
    }
    if settings.value.is_some_and(|value| !value.is_finite()) {
        let problem = block.problem("/value", "invalid-value", "the expected number is not finite");
        diagnostics.push(problem.help("write a number that an answer can have"));
        fine = false;
    }
    let info = if settings.value.is_some() { &OF_VALUE } else { &INFO };
    fine.then(|| ready(block, info, None, settings))
}

impl Measure for Settings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let expected = match self.value {
            Some(value) => value,
            None => self.number(reference(subject)?).map_err(|what| {
                let message = format!("the reference has {what}: give the case one number, or the evaluator a `value`");
                Failure::infra(FailureKind::Missing, message)
            })?,
        };
        Ok(match self.number(&subject.answer.text) {
            Ok(number) => {
                let near = self.near(number, expected);
                let word = if near { "within" } else { "outside" };
                Found::check(near, format!("{number}, {word} the tolerance of {expected}"))
            }
            Err(what) => Found::check(false, format!("the answer has {what}; expected {expected}")),
        })
    }
}

impl Settings {
    /// The number of a text that counts; `Err` with what the text has instead.
    fn number(&self, text: &str) -> Result<f64, String> {
        let decimal = match self.decimal {
            DecimalMark::Point => Decimal::Point,
            DecimalMark::Comma => Decimal::Comma,
        };
        let numbers = amounts(text, decimal);
        let taken = match (self.take, numbers.as_slice()) {
            (Take::Only, [_, _, ..]) => return Err(format!("{} numbers (see `take`)", numbers.len())),
            (Take::Only | Take::First, numbers) => numbers.first(),
            (Take::Last, numbers) => numbers.last(),
        };
        taken.copied().ok_or_else(|| "no number".to_owned())
    }

    fn near(&self, number: f64, expected: f64) -> bool {
        let tolerance = self.absolute.max(self.relative * expected.abs());
        // What is written in decimals is not exact in binary: 3.14 and 3.13 differ by a hair more than 0.01.
        let hair = 4.0 * f64::EPSILON * number.abs().max(expected.abs());
        (number - expected).abs() <= tolerance + hair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(value: serde_json::Value) -> Settings {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn tolerances_are_inclusive_and_the_larger_one_counts() {
        let near = settings(serde_json::json!({"absolute": 0.01, "relative": 0.1}));
        assert!(near.near(5.14, 5.13) && near.near(110.0, 100.0) && near.near(-90.0, -100.0));
        assert!(!near.near(111.0, 100.0) && !near.near(0.02, 0.0));
        assert!(settings(serde_json::json!({})).near(0.3, 0.3));
    }

    #[test]
    fn a_text_with_several_numbers_needs_a_choice() {
        let text = "between 3 and 5";
        assert!(settings(serde_json::json!({})).number(text).unwrap_err().starts_with("2 numbers"));
        assert_eq!(settings(serde_json::json!({"take": "first"})).number(text), Ok(3.0));
        assert_eq!(settings(serde_json::json!({"take": "last"})).number(text), Ok(5.0));
        assert_eq!(settings(serde_json::json!({"decimal": "comma"})).number("1.234,5 €"), Ok(1234.5));
    }
}
