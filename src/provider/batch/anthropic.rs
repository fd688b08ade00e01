//! Anthropic's message batches: one request with all requests, one file of results.
//!
//! **Source**: Anthropic's API reference "Message Batches", 2026-11: 100,000 requests, 256 MB, 24 hours, results for 29 days. A batch
//! carries no words of ours, so a lost submission is recognised by time and size, and confirmed by the ids in its results.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Access;
use super::access::{Search, Sent, Size, answer, below, gather, id_of, json, lines, readable};
use crate::domain::{FailureKind, RetryClass};
use crate::net::{
    Attempt, BatchApi, BatchItem, BatchLimits, BatchStatus, BoxFuture, ItemResult, NotSubmitted, Patience, Rejection,
    Sought, Url, classify, shown,
};

/// Below the stated limits of 100,000 requests and 256 MB.
const LIMITS: BatchLimits = BatchLimits { requests: 100_000, bytes: 240_000_000 };
/// What is sent beside a request itself, at most.
const AROUND: usize = 128;
/// Clocks may differ by so much, in seconds.
const SKEW: i64 = 600;

#[derive(Debug)]
pub(in crate::provider) struct AnthropicBatches {
    /// `…/v1/messages/batches`
    batches: Url,
    access: Access,
    patience: Patience,
}

/// A line of the results.
#[derive(Deserialize)]
struct Line<'a> {
    custom_id: String,
    #[serde(borrow)]
    result: LineResult<'a>,
}

#[derive(Deserialize)]
struct LineResult<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl AnthropicBatches {
    /// `messages` is the address of the messages.
    pub(in crate::provider) fn new(messages: &Url, access: Access, patience: Patience) -> Self {
        Self { batches: below(messages, &["batches"]), access, patience }
    }

    async fn create(&self, outside: &dyn Attempt, items: &[BatchItem]) -> Result<String, Rejection> {
        let sent = Sent::Json(requests(items).into());
        let response = self.access.ask(outside, &self.batches, sent, Size::Transfer).await?;
        Ok(id_of(&json(&response, &self.batches)?, "id", &self.batches)?.to_owned())
    }

    async fn look_for(&self, outside: &dyn Attempt, sought: &Sought) -> Result<Vec<String>, Rejection> {
        let mut found = Vec::new();
        let earliest = sought.since.saturating_sub(SKEW);
        let wanted = u64::try_from(sought.requests).unwrap_or(u64::MAX);
        let look = |batches: &[Value], page: &Url| {
            let fits = |batch: &&Value| created(batch).is_some_and(|at| at >= earliest) && total(batch) == wanted;
            for batch in batches.iter().filter(fits) {
                let away = created(batch).map_or(u64::MAX, |at| at.abs_diff(sought.since));
                found.push((away, id_of(batch, "id", page)?.to_owned()));
            }
            let older = batches.last().and_then(created).is_some_and(|at| at < earliest);
            Ok(if older { Search::Over } else { Search::GoOn })
        };
        self.access.look_through(outside, (&self.batches, "after_id"), look).await?;
        found.sort();
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }

    async fn look_at(&self, outside: &dyn Attempt, id: &str) -> Result<BatchStatus, Rejection> {
        let url = below(&self.batches, &[id]);
        let response = self.access.ask(outside, &url, Sent::Nothing, Size::Question).await?;
        let body = json(&response, &url)?;
        match body.get("processing_status").and_then(Value::as_str) {
            Some("ended") => Ok(BatchStatus::Ended { files: Vec::new() }),
            Some(_) => {
                let waiting = body.pointer("/request_counts/processing").and_then(Value::as_u64).unwrap_or_default();
                Ok(BatchStatus::Running { done: total(&body).saturating_sub(waiting) })
            }
            None => {
                let why = format!("{} answered without a `processing_status`", shown(&url));
                Err(Rejection::new(FailureKind::Malformed, RetryClass::Endpoint, why))
            }
        }
    }

    /// The address of the results is made here rather than taken from the answer: the key goes to no other place.
    async fn fetch(&self, outside: &dyn Attempt, id: &str) -> Result<HashMap<String, ItemResult>, Rejection> {
        let url = below(&self.batches, &[id, "results"]);
        let response = self.access.ask(outside, &url, Sent::Nothing, Size::Transfer).await?;
        let read = lines(&response.body).filter_map(|line| serde_json::from_slice::<Line<'_>>(line).ok());
        let mut results = HashMap::new();
        gather(&mut results, read.map(|line| self.result(id, line)));
        readable(results, id)
    }

    fn result(&self, id: &str, line: Line<'_>) -> (String, ItemResult) {
        let LineResult { kind, message, error } = line.result;
        let result = match (kind.as_str(), message, error) {
            ("succeeded", Some(message), _) => ItemResult::Answer(answer(id, 200, message.get())),
            ("errored", _, Some(error)) => {
                // The line has no status; where its words do not decide, an invalid request is the request's fault.
                let status = if error.get().contains("\"invalid_request_error\"") { 400 } else { 500 };
                let response = answer(id, status, error.get());
                ItemResult::Failed(classify(&response, self.access.dialect, &format!("batch {id}")))
            }
            ("canceled", ..) => ItemResult::Skipped("cancelled".to_owned()),
            ("expired", ..) => ItemResult::Skipped("expired".to_owned()),
            _ => ItemResult::Skipped("without an answer".to_owned()),
        };
        (line.custom_id, result)
    }
}

fn requests(items: &[BatchItem]) -> Vec<u8> {
    let size: usize = items.iter().map(|item| item.body.len().saturating_add(AROUND)).sum();
    let mut body = Vec::with_capacity(size.saturating_add(AROUND));
    body.extend_from_slice(b"{\"requests\":[");
    for (at, item) in items.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        body.extend_from_slice(format!("{comma}{{\"custom_id\":\"{}\",\"params\":", item.id).as_bytes());
        body.extend_from_slice(&item.body);
        body.push(b'}');
    }
    body.extend_from_slice(b"]}");
    body
}

/// Seconds since 1970.
fn created(batch: &Value) -> Option<i64> {
    let written = batch.get("created_at").and_then(Value::as_str)?;
    written.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

fn total(batch: &Value) -> u64 {
    let counts = batch.get("request_counts").and_then(Value::as_object);
    counts.into_iter().flat_map(|counts| counts.values()).filter_map(Value::as_u64).fold(0, u64::saturating_add)
}

impl BatchApi for AnthropicBatches {
    fn limits(&self) -> BatchLimits {
        LIMITS
    }

    fn patience(&self) -> Patience {
        self.patience
    }

    fn submit<'a>(
        &'a self,
        outside: &'a dyn Attempt,
        _tag: &'a str,
        items: &'a [BatchItem],
    ) -> BoxFuture<'a, Result<String, NotSubmitted>> {
        Box::pin(async move { self.create(outside, items).await.map_err(NotSubmitted::of) })
    }

    fn find<'a>(
        &'a self,
        outside: &'a dyn Attempt,
        sought: &'a Sought,
    ) -> BoxFuture<'a, Result<Vec<String>, Rejection>> {
        Box::pin(self.look_for(outside, sought))
    }

    fn status<'a>(&'a self, outside: &'a dyn Attempt, id: &'a str) -> BoxFuture<'a, Result<BatchStatus, Rejection>> {
        Box::pin(self.look_at(outside, id))
    }

    fn results<'a>(
        &'a self,
        outside: &'a dyn Attempt,
        id: &'a str,
        _files: &'a [String],
    ) -> BoxFuture<'a, Result<HashMap<String, ItemResult>, Rejection>> {
        Box::pin(self.fetch(outside, id))
    }
}
