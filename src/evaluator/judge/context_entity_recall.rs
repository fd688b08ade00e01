//! How many of the entities of the reference are in the contexts?

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::prompt::{contexts_of, fill};
use super::settings::{Common, stepped};
use super::sheet::Sheet;
use super::steps::{Conversation, Steps, Stop, useless};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};
use crate::text::normalize::fold;

pub const INFO: Info = Info {
    name: "context_entity_recall",
    summary: "a model lists the entities of reference and contexts; the share of the reference's that the contexts have: 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Contexts, Needs::Reference, Needs::Judge],
    version: 1,
    source: "ragas ContextEntityRecall (0.4): common entities divided by those of the reference; letter case and white space do not count, and a reference without entities has no score",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RUBRIC: &str = include_str!("prompts/entities.txt");

/// Asks a model for entities.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let steps: Arc<dyn Steps> = Arc::new(Entities);
    stepped(block, (&INFO, INFO.score), (&settings.common, sound), (Some(steps), Some(None)), context, diagnostics)
}

struct Entities;

impl Steps for Entities {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let contexts = contexts_of(talk.subject);
            if contexts.is_empty() {
                return Ok(Found::nothing_retrieved());
            }
            let reference = talk.subject.case.reference.as_deref().unwrap_or_default();
            let rubric = fill(RUBRIC, &[("what", "reference answer")]);
            let of_contexts = fill(RUBRIC, &[("what", "contexts")]);
            let (wanted, there) = tokio::join!(
                talk.list(Sheet::new(&rubric).text("the reference answer", reference)),
                talk.list(Sheet::new(&of_contexts).contexts(contexts))
            );
            let (wanted, there) = (wanted?, there?);
            if wanted.is_empty() {
                return Err(useless("it finds no entity in the reference"));
            }
            let there: BTreeSet<String> = there.iter().map(|entity| fold(entity)).collect();
            let wanted: BTreeSet<String> = wanted.iter().map(|entity| fold(entity)).collect();
            let missing: Vec<&str> = wanted.difference(&there).map(String::as_str).collect();
            let found = wanted.len() - missing.len();
            let mut reason = format!("{found} of {} entities of the reference are in the contexts", wanted.len());
            if !missing.is_empty() {
                reason.push_str(&format!("; missing: {}", missing.join(", ")));
            }
            Ok(Found { value: found as f64 / wanted.len() as f64, reason: Some(reason) })
        })
    }

    fn prompts(&self) -> Vec<String> {
        vec![RUBRIC.to_owned()]
    }
}
