//! Does the answer list what the reference lists?

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference, threshold};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use super::f_measure;
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::normalize::{collapse_space, excerpt};

pub const INFO: Info = Info {
    name: "set_f1",
    summary: "F1 of the items that the lists of answer and reference share, from 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "2 · common / sum of the sizes of both sets; with an empty side 1 only if both are empty",
};

/// With `values`, no reference is needed.
const OF_VALUES: Info = Info { needs: &[Needs::Answer], ..INFO };

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// What separates the items of a list unless the suite says otherwise.
const SEPARATORS: [&str; 6] = [",", ";", "，", "、", "；", "\n"];

/// Does the answer list what the reference lists?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The expected items; default: those of the case's reference.
    values: Option<Vec<String>>,
    /// What separates items. Default: comma, semicolon (full-width ones and 、 too) and line end. A JSON list of texts and numbers is
    /// taken as it is.
    separators: Option<Vec<String>>,
    /// Upper and lower case are the same. Default: true.
    #[serde(default = "yes")]
    ignore_case: bool,
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    threshold: Option<f64>,
}

fn yes() -> bool {
    true
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mark = threshold(block, &INFO, settings.threshold, diagnostics).ok()?;
    if settings.separators.iter().flatten().any(String::is_empty) {
        let problem = block.problem("/separators", "empty-text", "the empty text separates nothing");
        diagnostics.push(problem.help("write what stands between the items"));
        return None;
    }
    let info = if settings.values.is_some() { &OF_VALUES } else { &INFO };
    sound.then(|| ready(block, info, mark, settings))
}

impl Measure for Settings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let answer = self.items(&subject.answer.text);
        let expected = match &self.values {
            Some(values) => values.iter().filter_map(|value| self.item(value)).collect(),
            None => self.items(reference(subject)?),
        };
        if answer.is_empty() && expected.is_empty() {
            return Ok(Found { value: 1.0, reason: Some("both lists are empty".to_owned()) });
        }
        let common = answer.intersection(&expected).count();
        let value = f_measure(common, answer.len(), expected.len());
        let mut reason = format!("{common} of {} expected items among {} in the answer", expected.len(), answer.len());
        if let Some(missing) = expected.difference(&answer).next() {
            reason.push_str(&format!("; missing: `{}`", excerpt(missing, 60)));
        }
        Ok(Found { value, reason: Some(reason) })
    }
}

impl Settings {
    fn items(&self, text: &str) -> BTreeSet<String> {
        if let Ok(serde_json::Value::Array(list)) = serde_json::from_str(text.trim()) {
            let plain = |value: &serde_json::Value| match value {
                serde_json::Value::String(text) => Some(text.clone()),
                serde_json::Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            if let Some(list) = list.iter().map(plain).collect::<Option<Vec<String>>>() {
                return list.iter().filter_map(|value| self.item(value)).collect();
            }
        }
        let mut parts = vec![text];
        let own = self.separators.as_ref().map(|own| own.iter().map(String::as_str).collect::<Vec<_>>());
        for separator in own.as_deref().unwrap_or(&SEPARATORS) {
            parts = parts.into_iter().flat_map(|part| part.split(separator)).collect();
        }
        parts.into_iter().filter_map(|part| self.item(part)).collect()
    }

    /// An item without its bullet and full stop; `None` where nothing is left.
    fn item(&self, text: &str) -> Option<String> {
        let item = collapse_space(bare(text).trim_end_matches(['.', '。']));
        let item = if self.ignore_case { item.to_lowercase() } else { item };
        (!item.is_empty()).then_some(item)
    }
}

/// Without the bullet of a list: `- `, `* `, `• `, `3. `, `3) `.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let bullet = text.strip_prefix(['-', '*', '•']);
    let numbered = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = if numbered.len() < text.len() { numbered.strip_prefix(['.', ')']) } else { None };
    match bullet.or(numbered) {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<String> {
        serde_json::from_str::<Settings>("{}").unwrap().items(text).into_iter().collect()
    }

    #[test]
    fn lists_in_every_usual_form() {
        assert_eq!(items("Red, green,  RED"), ["green", "red"]);
        assert_eq!(items("- red\n* green blue\n3. 1.5\n"), ["1.5", "green blue", "red"]);
        assert_eq!(items("[\"a, b\", 2]"), ["2", "a, b"]);
        assert_eq!(items("刘备、关羽，张飞。"), ["关羽", "刘备", "张飞"]);
        assert!(items(" , \n").is_empty());
    }
}
