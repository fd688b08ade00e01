//! An address of the web: GET and PUT, pre-signed or with headers. 404 means absent; every other status that is no success, and
//! everything that keeps an answer from arriving, means that it is not known whether there is a baseline.

use std::time::Duration;

use bytes::Bytes;
use http::Method;

use super::{LIMIT, Mark, Place, Stored, Wanted, moved, too_large, unreachable};
use crate::domain::{EndpointLimits, Env, RetryClass, Secret};
use crate::net::{
    Attempt as _, BoxFuture, Call, Client, Deadlines, Dialect, Expected, HttpRequest, Purpose, Rejection, Request,
    Response, Route, Url, check_address, first_words, shown,
};
use crate::store::StoreError;

const DEADLINES: Deadlines = Deadlines { connect: Duration::from_secs(10), whole: Duration::from_secs(120) };
/// Attempts, and the pause before the second.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(250);

struct Address {
    get: String,
    put: String,
    name: String,
    headers: Vec<(String, String)>,
    credentials: Vec<(String, Secret)>,
    env: Env,
}

pub(super) fn open(wanted: &Wanted<'_>) -> Result<Box<dyn Place>, String> {
    let checked = |text: &str| -> Result<Url, String> {
        let url = check_address(text).map_err(|error| error.to_string())?;
        if url.scheme() == "http" && !is_here(&url) {
            return Err(format!(
                "{} is plain text, in which anybody on the way may change a baseline: use https",
                shown(&url)
            ));
        }
        Ok(url)
    };
    let get = checked(wanted.from)?;
    let put = wanted.put.map(checked).transpose()?.unwrap_or_else(|| get.clone());
    let (mut headers, mut credentials) = (Vec::new(), Vec::new());
    for (name, value) in wanted.headers {
        // What is long enough to be a secret is treated as one.
        match Secret::new(name.as_str(), value.as_str()) {
            Ok(secret) => credentials.push((name.clone(), secret)),
            Err(_) => headers.push((name.clone(), value.clone())),
        }
    }
    Ok(Box::new(Address {
        name: shown(&get),
        get: get.into(),
        put: put.into(),
        headers,
        credentials,
        env: wanted.env.clone(),
    }))
}

fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let loopback = host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    loopback || host == "localhost" || host.ends_with(".localhost")
}

impl Address {
    fn failed(&self, problem: impl ToString) -> StoreError {
        unreachable(&self.name, problem)
    }

    fn call(&self, method: Method, url: &str, more: Vec<(String, String)>, body: Bytes) -> Call {
        let headers = self.headers.iter().cloned().chain(more).collect();
        let request = HttpRequest { method, url: url.to_owned(), headers, credentials: self.credentials.clone(), body };
        Call {
            request: Request::Http(request),
            endpoint: self.name.as_str().into(),
            purpose: Purpose::Target,
            dialect: Dialect::Raw,
            deadlines: DEADLINES,
            trial: 0,
            version: None,
            redirects: false,
            // A baseline may be as large as a batch, and a PUT is not sent twice unasked.
            route: Route::Control,
            what: "the baseline".to_owned(),
            limits: EndpointLimits::default(),
            expected: Expected::default(),
        }
    }

    /// Tries again where that may help.
    async fn send(&self, call: &Call) -> Result<Response, StoreError> {
        let client = Client::new(&self.env).map_err(|error| self.failed(error))?;
        let mut pause = PAUSE;
        for attempt in 1.. {
            let answer = client.attempt(call).await;
            let again = match &answer {
                Ok(response) => matches!(response.status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
                Err(Rejection { class, .. }) => matches!(class, RetryClass::Retry),
            };
            if again && attempt < ATTEMPTS {
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2);
                continue;
            }
            return answer.map_err(|rejection| self.failed(rejection.message));
        }
        Err(self.failed("it was never asked"))
    }

    async fn get(&self) -> Result<Stored, StoreError> {
        let response = self.send(&self.call(Method::GET, &self.get, Vec::new(), Bytes::new())).await?;
        match response.status {
            200 => {}
            404 | 410 => return Err(StoreError::Absent { path: self.name.clone().into() }),
            status => return Err(self.failed(format!("it answered {status}{}", words(&response)))),
        }
        if response.body.len() as u64 > LIMIT {
            return Err(too_large(&self.name));
        }
        let page =
            response.header("content-type").is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/html"));
        if page {
            let words = first_words(&response.body);
            return Err(
                self.failed(format!("it answered with a web page, perhaps to sign in, and no baseline: {words}"))
            );
        }
        let mark = Mark::Is(response.header("etag").unwrap_or_default().to_owned());
        Ok(Stored { bytes: response.body.to_vec(), mark })
    }

    async fn put(&self, bytes: &[u8], over: &Mark) -> Result<(), StoreError> {
        let condition = match over {
            Mark::Nothing => ("If-None-Match", "*".to_owned()),
            Mark::Is(tag) if tag.is_empty() || tag.starts_with("W/") => {
                let why = "it tells no strong ETag, so nobody could know whether another baseline was written meanwhile; remove the old one \
                           first, or use another store";
                return Err(self.failed(why));
            }
            Mark::Is(tag) => ("If-Match", tag.clone()),
        };
        let mut headers =
            vec![(condition.0.to_owned(), condition.1), ("Content-Type".to_owned(), "application/x-ndjson".to_owned())];
        // Learn, "Put Blob": required there, and nowhere else.
        if self.put.contains(".blob.") {
            headers.push(("x-ms-blob-type".to_owned(), "BlockBlob".to_owned()));
        }
        let call = self.call(Method::PUT, &self.put, headers, Bytes::copy_from_slice(bytes));
        let response = self.send(&call).await?;
        match response.status {
            200..=204 => Ok(()),
            // The answer to our own write may have been lost.
            409 | 412 if self.get().await.is_ok_and(|kept| kept.bytes == bytes) => Ok(()),
            409 | 412 => Err(moved(&self.name)),
            status => Err(self.failed(format!("it answered {status} to the PUT{}", words(&response)))),
        }
    }
}

/// What the server says of it, if it does.
fn words(response: &Response) -> String {
    if response.body.is_empty() { String::new() } else { format!(": {}", first_words(&response.body)) }
}

impl Place for Address {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn load(&self) -> BoxFuture<'_, Result<Stored, StoreError>> {
        Box::pin(self.get())
    }

    fn save<'a>(&'a self, bytes: &'a [u8], over: &'a Mark) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.put(bytes, over))
    }
}
