//! The lines of a cassette as they are written and read.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::domain::CallCounts;
use crate::net::{Request, Response};
use crate::store::FailureLine;

/// What identifies a request: the digest of all that decides its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallKey(pub [u8; 32]);

/// The first line, after `type` and `schema`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CassetteHeader {
    /// Version of scoregate.
    #[serde(default)]
    pub tool: String,
    #[serde(default)]
    pub suite: String,
    /// When the recording began: RFC 3339, UTC, whole seconds.
    #[serde(default)]
    pub recorded: String,
}

/// One call and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallLine {
    pub key: CallKey,
    /// The target whose case it was made for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// `answer to case q17`, `faithfulness of case q17`.
    #[serde(default)]
    pub what: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trial: u32,
    #[serde(default)]
    pub request: RequestLine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureLine>,
    /// Requests sent for the response (0: from the ledger).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
    /// Of the attempt that succeeded.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub latency_ns: u64,
}

/// What was asked, for people. Request headers are not stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestLine {
    /// Method and address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// Program and arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// What was sent: the body, or standard input.
    #[serde(flatten)]
    pub body: BodyLine,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponseLine {
    pub status: u16,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(flatten)]
    pub body: BodyLine,
}

/// Bytes as text, or as Base64 where they are none; neither where there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BodyLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

/// A recording reached its end here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CassetteEnd {
    /// Lines of calls before this one.
    #[serde(default)]
    pub calls: u64,
    /// All requests of the run, as its reports say them.
    #[serde(default)]
    pub counts: CallCounts,
}

impl CallLine {
    /// The recorded time of the attempt that succeeded.
    pub fn latency(&self) -> Duration {
        Duration::from_nanos(self.latency_ns)
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        if self.response.is_none() && self.error.is_none() {
            return Some("a call has neither a `response` nor an `error`".to_owned());
        }
        let bodies = [Some(&self.request.body), self.response.as_ref().map(|response| &response.body)];
        bodies.into_iter().flatten().find_map(|body| body.bytes().err())
    }
}

impl RequestLine {
    /// `clean` masks secrets.
    pub fn of(request: &Request, clean: impl Fn(&str) -> String, clean_bytes: impl Fn(&Bytes) -> Bytes) -> Self {
        match request {
            Request::Http(request) => Self {
                http: Some(clean(&format!("{} {}", request.method, request.url))),
                command: None,
                body: BodyLine::of(&clean_bytes(&request.body)),
            },
            Request::Command(request) => Self {
                http: None,
                command: Some(request.argv.iter().map(|argument| clean(argument)).collect()),
                body: BodyLine::of(&clean_bytes(&request.stdin)),
            },
        }
    }

    /// The part in which `now` differs.
    pub fn difference(&self, now: &Self) -> Option<&'static str> {
        if self.http != now.http {
            Some("another method or address")
        } else if self.command != now.command {
            Some("other arguments")
        } else if self.body != now.body {
            Some("another body or standard input")
        } else {
            None
        }
    }
}

impl ResponseLine {
    pub fn of(response: &Response) -> Self {
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &response.headers {
            // Readers take the first of a name.
            headers.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Self { status: response.status, headers, body: BodyLine::of(&response.body) }
    }

    /// # Errors
    /// A body that is no Base64, in words.
    pub fn response(&self, latency: Duration) -> Result<Response, String> {
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(Response { status: self.status, headers, body: self.body.bytes()?, latency })
    }
}

impl BodyLine {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok("") => Self::default(),
            Ok(text) => Self { body: Some(text.to_owned()), body_base64: None },
            Err(_) => Self { body: None, body_base64: Some(STANDARD.encode(bytes)) },
        }
    }

    fn bytes(&self) -> Result<Bytes, String> {
        match (&self.body, &self.body_base64) {
            (None, None) => Ok(Bytes::new()),
            (Some(text), None) => Ok(Bytes::from(text.clone())),
            (None, Some(encoded)) => STANDARD
                .decode(encoded)
                .map(Bytes::from)
                .map_err(|error| format!("`body_base64` is no Base64: {error}")),
            (Some(_), Some(_)) => Err("`body` and `body_base64` cannot both be there".to_owned()),
        }
    }
}

impl Serialize for CallKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}", blake3::Hash::from_bytes(self.0).to_hex()))
    }
}

impl<'de> Deserialize<'de> for CallKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let wrong = |_| serde::de::Error::custom("a key is 64 hexadecimal digits");
        blake3::Hash::from_hex(text.as_bytes()).map(|hash| Self(*hash.as_bytes())).map_err(wrong)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}
