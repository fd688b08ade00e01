//! One model API call in each dialect. A [`ChatApi`] turns messages into a [`Call`] and a response into a [`ChatReply`].
//!
//! Promise: only a complete reply with text is a reply; refusals, filters, cut-offs and tool calls are rejections by name.

use std::sync::Arc;

use crate::domain::{Fingerprint, Usage, Usd};
use crate::net::{Call, Deadlines, Purpose, Rejection, Response};

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
    pub deadlines: Deadlines,
    /// For messages to people: `faithfulness of case q17`.
    pub what: String,
}

/// A complete reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatReply {
    pub text: String,
    pub usage: Usage,
    pub cost: Option<Usd>,
    /// The model's name as the server returned it.
    pub model: Option<String>,
    pub stop_reason: Option<String>,
}

/// One dialect's chat call.
pub trait ChatApi: Send + Sync {
    fn call(&self, request: &ChatRequest) -> Call;
    /// # Errors
    /// Anything that is not a complete reply with text.
    fn read(&self, response: &Response) -> Result<ChatReply, Rejection>;
}

/// An entry of `models`, ready to use.
#[derive(Clone)]
pub struct Model {
    pub name: Arc<str>,
    pub chat: Arc<dyn ChatApi>,
    /// Parts `model`, `parameters`, `endpoint`.
    pub fingerprint: Fingerprint,
}
