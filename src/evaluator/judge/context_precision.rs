//! Do the useful contexts stand before the others?

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::prompt::{contexts_of, fill};
use super::settings::{Common, stepped};
use super::sheet::Sheet;
use super::steps::{Conversation, Steps, Stop, told};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "context_precision",
    summary: "a model judges each retrieved context; mean precision at the ranks of the useful ones: 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Input, Needs::Contexts, Needs::Reference, Needs::Judge],
    version: 1,
    source: "ragas LLMContextPrecisionWithReference and …WithoutReference (0.4): sum of precision at k times usefulness, divided by the useful contexts; 0 without any",
};

/// With the answer in its place.
const OF_ANSWER: Info = Info { needs: &[Needs::Input, Needs::Answer, Needs::Contexts, Needs::Judge], ..INFO };

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RUBRIC: &str = include_str!("prompts/context_precision.txt");

/// Asks a model which contexts were useful.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// What a context is to be useful for: the `reference` (default) or the `answer`, for cases without a reference.
    #[serde(default)]
    against: Against,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Against {
    #[default]
    Reference,
    Answer,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { common, against } = settings;
    let info = if against == Against::Answer { &OF_ANSWER } else { &INFO };
    let steps: Arc<dyn Steps> = Arc::new(Ranked(against));
    stepped(block, (info, info.score), (&common, sound), (Some(steps), Some(None)), context, diagnostics)
}

struct Ranked(Against);

impl Steps for Ranked {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let contexts = contexts_of(talk.subject);
            if contexts.is_empty() {
                return Ok(Found::nothing_retrieved());
            }
            let (what, name, text) = match self.0 {
                Against::Reference => {
                    let reference = talk.subject.case.reference.as_deref().unwrap_or_default();
                    ("reference answer", "the reference answer", reference)
                }
                Against::Answer => ("answer", "the answer", talk.subject.answer.text.as_str()),
            };
            let rubric = fill(RUBRIC, &[("what", what)]);
            let sheet = Sheet::new(&rubric).text("the question", &talk.subject.case.input).text(name, text);
            let texts: Vec<&str> = contexts.iter().map(|context| context.text.as_str()).collect();
            let verdicts = talk.verdicts(sheet, "the context", &texts).await?;
            let useful: Vec<bool> = verdicts.iter().map(|said| said.value == 1.0).collect();
            Ok(Found {
                value: average(&useful),
                reason: Some(told(&verdicts, &texts, "contexts are useful", "not useful")),
            })
        })
    }

    fn prompts(&self) -> Vec<String> {
        vec![RUBRIC.to_owned()]
    }
}

/// Mean of the precision at the ranks that are useful; 0 without any.
fn average(useful: &[bool]) -> f64 {
    let (mut found, mut sum) = (0_u32, 0.0);
    for (rank, _) in (1_u32..).zip(useful).filter(|(_, useful)| **useful) {
        found = found.saturating_add(1);
        sum += f64::from(found) / f64::from(rank);
    }
    if found == 0 { 0.0 } else { sum / f64::from(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of ragas' own `_calculate_average_precision`, which adds 1e-10 to the divisor.
    #[test]
    fn useful_contexts_count_by_their_rank() {
        assert_eq!(average(&[true, true]), 1.0);
        assert_eq!(average(&[false, true]), 0.5);
        assert!((average(&[true, false, true]) - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-9);
        assert_eq!(average(&[false, false]), 0.0);
        assert_eq!(average(&[]), 0.0);
    }
}
