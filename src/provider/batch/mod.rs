//! Providers' batch interfaces: many requests in one submission, at a lower price, within a day.
//!
//! One file a dialect; [`Access`] makes their requests, [`route`] says which calls may go by batch: those of judges, since a target is
//! measured as it answers its users.

mod access;
mod anthropic;
mod openai;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::net::{BatchApi, Purpose, Route};

pub(super) use access::Access;
pub(super) use anthropic::AnthropicBatches;
pub(super) use openai::OpenAiBatches;
pub(super) use settings::{BatchSpec, Mode, patience};

/// How a call with this purpose is sent.
pub(super) fn route(purpose: Purpose, batches: Option<&Arc<dyn BatchApi>>) -> Route {
    match (purpose, batches) {
        (Purpose::Judge, Some(batches)) => Route::Batch(Arc::clone(batches)),
        (Purpose::Judge, None) | (Purpose::Target | Purpose::Embedding, _) => Route::Direct,
    }
}
