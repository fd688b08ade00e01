//! How much of the reference do the contexts hold?

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::claims;
use super::prompt::contexts_of;
use super::settings::{Common, stepped};
use super::steps::{Conversation, Steps, Stop, borrowed, share, told, useless};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "context_recall",
    summary: "a model takes the reference apart into statements; the share that the retrieved contexts support: 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Input, Needs::Contexts, Needs::Reference, Needs::Judge],
    version: 1,
    source: "ragas LLMContextRecall (0.4): attributed statements divided by statements of the reference; without any statement there is no score",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Asks a model which parts of the reference the contexts support.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let steps: Arc<dyn Steps> = Arc::new(Recalled);
    stepped(block, (&INFO, INFO.score), (&settings.common, sound), (Some(steps), Some(None)), context, diagnostics)
}

struct Recalled;

impl Steps for Recalled {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let contexts = contexts_of(talk.subject);
            if contexts.is_empty() {
                return Ok(Found::nothing_retrieved());
            }
            let statements = claims::of_reference(talk).await?;
            if statements.is_empty() {
                return Err(useless("it finds no statement in the reference"));
            }
            let verdicts = claims::by_contexts(talk, contexts, &statements).await?;
            let reason = told(
                &verdicts,
                &borrowed(&statements),
                "statements of the reference are in the contexts",
                "not in them",
            );
            Ok(Found { value: share(&verdicts).unwrap_or(f64::NAN), reason: Some(reason) })
        })
    }

    fn prompts(&self) -> Vec<String> {
        claims::prompts()
    }
}
