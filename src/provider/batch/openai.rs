//! OpenAI's batches: a file of requests, a batch over it, files of results.
//!
//! **Source**: OpenAI's API reference and guide "Batch API", 2026-11: 50,000 requests, 200 MB, `completion_window` 24h, errors of
//! single requests in a file of their own.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Access;
use super::access::{Search, Sent, Size, answer, below, gather, id_of, is_id, json, lines, readable};
use crate::domain::{FailureKind, RetryClass};
use crate::net::{
    Attempt, BatchApi, BatchItem, BatchLimits, BatchStatus, BoxFuture, ItemResult, NotSubmitted, Patience, Rejection,
    Sought, Url, classify, shown,
};

/// Below the stated limits of 50,000 requests and 200 MB.
const LIMITS: BatchLimits = BatchLimits { requests: 50_000, bytes: 190_000_000 };
/// What a line holds beside the request itself, at most.
const AROUND: usize = 256;
/// What stands before a path of the service in a batch, whatever its address.
const VERSION: &str = "/v1";
/// The key of our tag in a batch's metadata.
const TAG: &str = "scoregate";
/// Clocks may differ by so much, in seconds.
const SKEW: i64 = 3600;
/// Problems of a refused batch that are told.
const TOLD: usize = 3;

#[derive(Debug)]
pub(in crate::provider) struct OpenAiBatches {
    files: Url,
    batches: Url,
    /// Where the requests of a batch go.
    endpoint: String,
    access: Access,
    patience: Patience,
}

/// A line of a file of results.
#[derive(Deserialize)]
struct Line<'a> {
    custom_id: String,
    #[serde(borrow)]
    response: Option<LineResponse<'a>>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct LineResponse<'a> {
    status_code: u16,
    #[serde(borrow)]
    body: &'a RawValue,
}

impl OpenAiBatches {
    /// `direct` is the address of single requests, which ends in `path`.
    pub(in crate::provider) fn new(direct: &Url, path: &str, access: Access, patience: Patience) -> Self {
        let mut root = direct.clone();
        let below_root = root.path().trim_end_matches(path).to_owned();
        root.set_path(&below_root);
        let (files, batches) = (below(&root, &["files"]), below(&root, &["batches"]));
        Self { files, batches, endpoint: format!("{VERSION}{path}"), access, patience }
    }

    async fn upload(&self, outside: &dyn Attempt, tag: &str, items: &[BatchItem]) -> Result<String, Rejection> {
        let (content_type, body) = form(tag, &requests(items, &self.endpoint));
        let url = &self.files;
        let response = self.access.ask(outside, url, Sent::Form(content_type, body), Size::Transfer).await?;
        Ok(id_of(&json(&response, url)?, "id", url)?.to_owned())
    }

    async fn create(&self, outside: &dyn Attempt, tag: &str, file: &str) -> Result<String, Rejection> {
        let body = json!({
            "input_file_id": file, "endpoint": self.endpoint, "completion_window": "24h", "metadata": {TAG: tag},
        });
        let sent = Sent::Json(body.to_string().into());
        let response = self.access.ask(outside, &self.batches, sent, Size::Question).await?;
        Ok(id_of(&json(&response, &self.batches)?, "id", &self.batches)?.to_owned())
    }

    async fn look_for(&self, outside: &dyn Attempt, sought: &Sought) -> Result<Vec<String>, Rejection> {
        let mut found = Vec::new();
        let earliest = sought.since.saturating_sub(SKEW);
        let look = |batches: &[Value], page: &Url| {
            let ours = |batch: &&Value| {
                batch.get("metadata").and_then(|data| data.get(TAG)).and_then(Value::as_str) == Some(&sought.tag)
            };
            if let Some(batch) = batches.iter().find(ours) {
                found.push(id_of(batch, "id", page)?.to_owned());
                return Ok(Search::Over);
            }
            let created = batches.last().and_then(|last| last.get("created_at")).and_then(Value::as_i64);
            Ok(if created.is_some_and(|at| at < earliest) { Search::Over } else { Search::GoOn })
        };
        self.access.look_through(outside, (&self.batches, "after"), look).await?;
        Ok(found)
    }

    async fn look_at(&self, outside: &dyn Attempt, id: &str) -> Result<BatchStatus, Rejection> {
        let url = below(&self.batches, &[id]);
        let response = self.access.ask(outside, &url, Sent::Nothing, Size::Question).await?;
        let body = json(&response, &url)?;
        let count = |name: &str| {
            body.get("request_counts").and_then(|counts| counts.get(name)).and_then(Value::as_u64).unwrap_or_default()
        };
        Ok(match body.get("status").and_then(Value::as_str) {
            Some("failed") => BatchStatus::Refused(problems(&body)),
            Some("completed" | "expired" | "cancelled") => {
                let file = |key: &str| body.get(key).and_then(Value::as_str).filter(|id| is_id(id)).map(str::to_owned);
                BatchStatus::Ended {
                    files: [file("output_file_id"), file("error_file_id")].into_iter().flatten().collect(),
                }
            }
            Some(_) => BatchStatus::Running { done: count("completed").saturating_add(count("failed")) },
            None => {
                let why = format!("{} answered without a `status`", shown(&url));
                return Err(Rejection::new(FailureKind::Malformed, RetryClass::Endpoint, why));
            }
        })
    }

    async fn fetch(
        &self,
        outside: &dyn Attempt,
        id: &str,
        files: &[String],
    ) -> Result<HashMap<String, ItemResult>, Rejection> {
        let mut results = HashMap::new();
        for file in files {
            let url = below(&self.files, &[file, "content"]);
            let response = self.access.ask(outside, &url, Sent::Nothing, Size::Transfer).await?;
            let read = lines(&response.body).filter_map(|line| serde_json::from_slice::<Line<'_>>(line).ok());
            gather(&mut results, read.map(|line| self.result(id, line)));
        }
        if files.is_empty() { Ok(results) } else { readable(results, id) }
    }

    fn result(&self, id: &str, line: Line<'_>) -> (String, ItemResult) {
        let result = match (line.response, line.error) {
            (Some(LineResponse { status_code, body }), _) => {
                let response = answer(id, status_code, body.get());
                if (200..300).contains(&status_code) {
                    ItemResult::Answer(response)
                } else {
                    ItemResult::Failed(classify(&response, self.access.dialect, &format!("batch {id}")))
                }
            }
            (None, Some(error)) => {
                let said = |key: &str| error.get(key).and_then(Value::as_str);
                ItemResult::Skipped(match said("code") {
                    Some("batch_expired") => "expired".to_owned(),
                    Some("batch_cancelled") => "cancelled".to_owned(),
                    code => said("message").or(code).unwrap_or("failed").to_owned(),
                })
            }
            (None, None) => ItemResult::Skipped("without an answer".to_owned()),
        };
        (line.custom_id, result)
    }
}

/// The file of requests.
fn requests(items: &[BatchItem], endpoint: &str) -> Vec<u8> {
    let size: usize = items.iter().map(|item| item.body.len().saturating_add(AROUND)).sum();
    let mut file = Vec::with_capacity(size);
    for item in items {
        let head = format!("{{\"custom_id\":\"{}\",\"method\":\"POST\",\"url\":\"{endpoint}\",\"body\":", item.id);
        file.extend_from_slice(head.as_bytes());
        file.extend_from_slice(&item.body);
        file.extend_from_slice(b"}\n");
    }
    file
}

/// The file as a form (RFC 7578), with its content type. The tag is random, so that no request holds the boundary.
fn form(tag: &str, file: &[u8]) -> (String, Bytes) {
    let boundary = format!("scoregate-{tag}");
    let head = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{boundary}\r\n\
         content-disposition: form-data; name=\"file\"; filename=\"scoregate-{tag}.jsonl\"\r\n\
         content-type: application/jsonl\r\n\r\n"
    );
    let body = [head.as_bytes(), file, format!("\r\n--{boundary}--\r\n").as_bytes()].concat();
    (format!("multipart/form-data; boundary={boundary}"), body.into())
}

/// Why a batch was refused.
fn problems(batch: &Value) -> String {
    let errors = batch.pointer("/errors/data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let one = |error: &Value| {
        let message = error.get("message").or_else(|| error.get("code")).and_then(Value::as_str).unwrap_or("no reason");
        match error.get("line").and_then(Value::as_u64) {
            Some(line) => format!("line {line}: {message}"),
            None => message.to_owned(),
        }
    };
    let mut told: Vec<String> = errors.iter().take(TOLD).map(one).collect();
    match errors.len().saturating_sub(TOLD) {
        0 if errors.is_empty() => told.push("no reason was given".to_owned()),
        0 => {}
        more => told.push(format!("and {more} more problems")),
    }
    told.join("; ")
}

impl BatchApi for OpenAiBatches {
    fn limits(&self) -> BatchLimits {
        LIMITS
    }

    fn patience(&self) -> Patience {
        self.patience
    }

    fn submit<'a>(
        &'a self,
        outside: &'a dyn Attempt,
        tag: &'a str,
        items: &'a [BatchItem],
    ) -> BoxFuture<'a, Result<String, NotSubmitted>> {
        Box::pin(async move {
            // A file alone is no batch, whatever became of it.
            let file = self.upload(outside, tag, items).await.map_err(NotSubmitted::Refused)?;
            self.create(outside, tag, &file).await.map_err(NotSubmitted::of)
        })
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
        files: &'a [String],
    ) -> BoxFuture<'a, Result<HashMap<String, ItemResult>, Rejection>> {
        Box::pin(self.fetch(outside, id, files))
    }
}
