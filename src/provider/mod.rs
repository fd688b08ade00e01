//! One model API call in each dialect. A [`ChatApi`] turns messages into a [`Call`] and a response into a [`ChatReply`]; an
//! [`EmbeddingApi`] does so with texts and their vectors.
//!
//! `models` of the suite → [`build`] → [`Models`]; evaluators and targets take their model by its key. One file a provider; [`kinds`]
//! lists them.
//!
//! Promise: only a complete reply is a reply; refusals, filters, cut-offs, tool calls and replies without any text are rejections by
//! name. A model whose credentials are missing is found before the first call, and credentials go to the model's address only.

mod anthropic;
mod azure_openai;
mod batch;
mod credentials;
mod embedding;
mod gemini;
mod headers;
mod openai;
mod openai_responses;
mod price;
mod prompt_size;
mod reasoning;
mod reply;
mod service;
mod structured;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostics;
use crate::domain::{Env, Fingerprint, Secret, Usage, Usd};
use crate::net::{Call, Deadlines, Purpose, Rejection, Response};
use crate::suite::Block;

pub use embedding::{Embedder, EmbeddingApi, EmbeddingKind, EmbeddingReply, EmbeddingRequest};
pub(crate) use headers::Headers;
pub use structured::ReplyForm;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub role: Role,
    pub text: String,
}

/// What to ask, beside the model's own settings.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    pub messages: Vec<Message>,
    pub trial: u32,
    pub purpose: Purpose,
    /// The run's; a model's own `timeout` goes before.
    pub deadlines: Deadlines,
    /// For messages to people: `faithfulness of case q17`.
    pub what: String,
    /// Of a reply that is asked for in JSON; the service holds it to the form where it can and the suite wants it.
    pub form: Option<ReplyForm>,
}

/// A complete reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatReply {
    /// May be empty: the model had its say and said nothing.
    pub text: String,
    pub usage: Usage,
    /// `None` without a `price` in the suite or in the answer, or where the server counted no tokens.
    pub cost: Option<Usd>,
    /// The model's name as the server returned it.
    pub model: Option<String>,
    pub stop_reason: Option<String>,
}

/// One dialect's chat call.
pub trait ChatApi: Send + Sync {
    fn call(&self, request: &ChatRequest) -> Call;
    /// # Errors
    /// Anything that is not a complete reply to `call` with text; a reply that was paid for has the class `Unusable`, with its text in `raw`.
    fn read(&self, call: &Call, response: &Response) -> Result<ChatReply, Rejection>;
    /// True where calls of judges may wait for a batch (`mode: batch`).
    fn batches(&self) -> bool {
        false
    }
}

/// An entry of `models`, ready to use.
#[derive(Clone)]
pub struct Model {
    pub name: Arc<str>,
    pub chat: Arc<dyn ChatApi>,
    /// Parts `model`, `parameters`, `endpoint`.
    pub fingerprint: Fingerprint,
}

/// A model, and what it knows that must be masked.
pub struct Built {
    pub model: Model,
    pub secrets: Vec<Secret>,
}

/// One kind of provider.
pub struct Kind {
    /// The word under `provider`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    pub schema: fn() -> schemars::Schema,
    /// `None` after pushing diagnostics.
    pub build: fn(&Block, &Env, &mut Diagnostics) -> Option<Built>,
}

const KINDS: [Kind; 5] = [openai::KIND, openai_responses::KIND, azure_openai::KIND, anthropic::KIND, gemini::KIND];

/// Every provider.
pub fn kinds() -> &'static [Kind] {
    &KINDS
}

const EMBEDDINGS: [EmbeddingKind; 1] = [embedding::OPENAI];

/// Every provider of embeddings.
pub fn embedding_kinds() -> &'static [EmbeddingKind] {
    &EMBEDDINGS
}

/// The suite's models by their keys, and the secrets that came with them (keys that the environment holds beside the suite).
#[derive(Default)]
pub struct Models {
    pub by_name: BTreeMap<String, Model>,
    /// Those that embed texts, by their keys.
    pub embedders: BTreeMap<String, Embedder>,
    pub secrets: Vec<Secret>,
}

/// Builds every model of a suite; problems are pushed, and the models without problems returned.
pub fn build(blocks: &[Block], env: &Env, diagnostics: &mut Diagnostics) -> Models {
    let mut models = Models::default();
    for block in blocks {
        if let Some(kind) = EMBEDDINGS.iter().find(|kind| kind.name == &*block.kind) {
            if let Some(built) = (kind.build)(block, env, diagnostics) {
                models.embedders.insert(block.name.to_string(), built.embedder);
                models.secrets.extend(built.secrets);
            }
            continue;
        }
        let Some(kind) = KINDS.iter().find(|kind| kind.name == &*block.kind) else {
            let known = KINDS.iter().map(|kind| kind.name).chain(EMBEDDINGS.iter().map(|kind| kind.name));
            diagnostics.push(block.unknown_kind("provider", known));
            continue;
        };
        if let Some(built) = (kind.build)(block, env, diagnostics) {
            models.by_name.insert(block.name.to_string(), built.model);
            models.secrets.extend(built.secrets);
        }
    }
    models
}
