//! How much of what the answer gets wrong comes from the contexts?

use std::sync::Arc;

use futures_util::future::try_join_all;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::claims;
use super::prompt::contexts_of;
use super::settings::{Common, stepped};
use super::steps::{Conversation, Steps, Stop, useless};
use crate::diagnostic::Diagnostics;
use crate::domain::{Context, Direction, Failure, FailureKind, Measurement, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};
use crate::text::normalize::excerpt;

pub const INFO: Info = Info {
    name: "noise_sensitivity",
    summary: "share of the answer's claims that are wrong and come from a relevant (or irrelevant) context: 0 to 1, lower is better",
    score: ScoreKind::UNIT,
    direction: Direction::Lower,
    pass_mark: None,
    needs: &[Needs::Input, Needs::Answer, Needs::Contexts, Needs::Reference, Needs::Judge],
    version: 1,
    source: "ragas NoiseSensitivity (0.4), modes relevant and irrelevant; without contexts, as in ragas, or without claims in answer or reference there is no score",
};

const NO_CONTEXTS: &str =
    "no contexts were retrieved, so there is no noise to measure; no model was asked. Look why retrieval found nothing";

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Asks a model which claims are wrong and which contexts hold them: two calls for each context.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// Wrong claims from `relevant` contexts (default), those that hold part of the reference, or from `irrelevant` ones.
    #[serde(default)]
    mode: Mode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Relevant,
    Irrelevant,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let steps: Arc<dyn Steps> = Arc::new(Noise(settings.mode));
    stepped(block, (&INFO, INFO.score), (&settings.common, sound), (Some(steps), Some(None)), context, diagnostics)
}

struct Noise(Mode);

/// What a context holds.
struct Holds {
    /// Some statement of the reference.
    relevant: bool,
    /// Parallel to the answer's claims.
    claims: Vec<bool>,
}

impl Steps for Noise {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let contexts = contexts_of(talk.subject);
            if contexts.is_empty() {
                // Lower is better: the share of nothing would be the best score of all, for a retriever that is broken.
                return Err(Box::new(Measurement::Error(Failure::infra(FailureKind::Missing, NO_CONTEXTS))));
            }
            let (claims, reference) = tokio::join!(claims::of_answer(talk), claims::of_reference(talk));
            let (claims, reference) = (claims?, reference?);
            if claims.is_empty() || reference.is_empty() {
                return Err(useless("it finds no claim in the answer or in the reference"));
            }
            let each = contexts.iter().map(|context| holds(talk, context, &reference, &claims));
            let (right, contexts) = tokio::join!(claims::by_statements(talk, &reference, &claims), try_join_all(each));
            let (right, contexts) = (right?, contexts?);
            let noisy = noisy(self.0, &right, &contexts);
            let found = noisy.iter().filter(|noisy| **noisy).count();
            let mut reason = format!("{found} of {} claims are wrong and come from such a context", claims.len());
            for (claim, _) in claims.iter().zip(&noisy).filter(|(_, noisy)| **noisy).take(5) {
                reason.push_str(&format!("; \"{}\"", excerpt(claim, 200)));
            }
            Ok(Found { value: found as f64 / claims.len() as f64, reason: Some(reason) })
        })
    }

    fn prompts(&self) -> Vec<String> {
        claims::prompts()
    }
}

async fn holds(
    talk: &Conversation<'_>,
    context: &Context,
    reference: &[String],
    claims: &[String],
) -> Result<Holds, Stop> {
    let context = std::slice::from_ref(context);
    let (of_reference, of_answer) =
        tokio::join!(claims::by_contexts(talk, context, reference), claims::by_contexts(talk, context, claims));
    Ok(Holds {
        relevant: of_reference?.iter().any(|said| said.value == 1.0),
        claims: of_answer?.iter().map(|said| said.value == 1.0).collect(),
    })
}

/// Which claims are wrong and held by a context of the wanted sort; a claim that a relevant context holds is none of the irrelevant ones'.
fn noisy(mode: Mode, right: &[bool], contexts: &[Holds]) -> Vec<bool> {
    let held = |relevant: bool, at: usize| {
        contexts.iter().any(|context| context.relevant == relevant && context.claims.get(at).copied().unwrap_or(false))
    };
    let of = |at: usize| match mode {
        Mode::Relevant => held(true, at),
        Mode::Irrelevant => held(false, at) && !held(true, at),
    };
    right.iter().enumerate().map(|(at, right)| !right && of(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by hand from ragas' `_compute_score`.
    #[test]
    fn wrong_claims_are_put_down_to_the_contexts_that_hold_them() {
        let contexts = [
            Holds { relevant: true, claims: vec![true, true, false, false] },
            Holds { relevant: false, claims: vec![false, true, true, false] },
        ];
        let right = [true, false, false, false];
        assert_eq!(noisy(Mode::Relevant, &right, &contexts), [false, true, false, false]);
        assert_eq!(noisy(Mode::Irrelevant, &right, &contexts), [false, false, true, false]);
    }
}
