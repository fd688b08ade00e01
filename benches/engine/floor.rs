//! `floor plain|paced URL CASES WORKERS`: the least that a client must do. Two judge calls for each case through `reqwest`, with
//! nothing kept and nothing scored; `paced` learns the request limit from the answers' headers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::{Value, json};

use crate::Error;

pub const ROLE: &str = "floor";

const ASKS: [&str; 2] = [
    "Please tell if the response is supported by the context. Answer YES or NO.",
    "Please tell if the response is relevant to the query and context. Answer YES or NO.",
];

/// What all workers share.
struct Work {
    cases: Vec<Value>,
    next: AtomicUsize,
    good: AtomicUsize,
    client: reqwest::Client,
    url: String,
    pacer: Option<Mutex<Pacer>>,
}

/// # Errors
/// Where a call was not answered.
pub fn fire(arguments: &[String]) -> Result<(), Error> {
    let [how, url, cases, workers] = arguments else { return Err("floor plain|paced URL CASES WORKERS".into()) };
    let text = std::fs::read_to_string(cases)?;
    let cases = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let total = cases.len() * ASKS.len();
    let work = Arc::new(Work {
        cases,
        next: AtomicUsize::new(0),
        good: AtomicUsize::new(0),
        client: client()?,
        url: format!("{url}/v1/chat/completions"),
        pacer: (how == "paced").then(|| Mutex::new(Pacer::new())),
    });
    let workers: usize = workers.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let tasks: Vec<_> = (0..workers.min(total)).map(|_| tokio::spawn(Arc::clone(&work).toil())).collect();
        for task in tasks {
            task.await?;
        }
        Ok::<(), Error>(())
    })?;
    let good = work.good.load(Ordering::Relaxed);
    if good == total { Ok(()) } else { Err(format!("{good} of {total} calls were answered").into()) }
}

/// TLS that is never used, so that nothing is read for it.
fn client() -> Result<reqwest::Client, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().build()?)
}

impl Work {
    async fn toil(self: Arc<Self>) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let (Some(case), Some(ask)) = (self.cases.get(at / ASKS.len()), ASKS.get(at % ASKS.len())) else { return };
            if self.ask(body(case, ask)).await {
                self.good.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    async fn ask(&self, body: Vec<u8>) -> bool {
        loop {
            if let Some(pacer) = &self.pacer {
                leave(pacer).await;
            }
            let request = self.client.post(&self.url).header(CONTENT_TYPE, "application/json").body(body.clone());
            let Ok(answer) = request.send().await else { return false };
            if let Some(pacer) = &self.pacer {
                let limited = answer.status() == 429;
                pacer.lock().unwrap_or_else(PoisonError::into_inner).learn(answer.headers(), limited);
                if limited {
                    continue;
                }
            }
            return answer.bytes().await.is_ok_and(|bytes| passed(&bytes));
        }
    }
}

fn body(case: &Value, ask: &str) -> Vec<u8> {
    let text = |key| case.get(key).and_then(Value::as_str).unwrap_or_default();
    let contexts = case.get("contexts").and_then(Value::as_array).into_iter().flatten();
    let contexts: Vec<&str> = contexts.filter_map(Value::as_str).collect();
    let prompt =
        format!("{ask}\nQuery: {}\nContext: {}\nResponse: {}", text("query"), contexts.join("\n"), text("response"));
    json!({"model": "fake", "temperature": 0, "messages": [{"role": "user", "content": prompt}]})
        .to_string()
        .into_bytes()
}

fn passed(answer: &[u8]) -> bool {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let said = answer.pointer("/choices/0/message/content").and_then(Value::as_str);
    said.is_some_and(|said| said == "YES" || said == "NO")
}

async fn leave(pacer: &Mutex<Pacer>) {
    loop {
        let wait = pacer.lock().unwrap_or_else(PoisonError::into_inner).wait();
        if wait.is_zero() {
            return;
        }
        tokio::time::sleep(wait).await;
    }
}

/// One request alone until its answer tells the limit; then what the bucket holds, then the rate.
struct Pacer {
    next: Instant,
    interval: Option<Duration>,
    burst: u32,
    probing: bool,
}

impl Pacer {
    fn new() -> Self {
        Self { next: Instant::now(), interval: None, burst: 0, probing: false }
    }

    /// How long to wait before asking again; zero is leave to send.
    fn wait(&mut self) -> Duration {
        let now = Instant::now();
        match self.interval {
            None if self.probing => Duration::from_millis(5),
            None => {
                self.probing = true;
                Duration::ZERO
            }
            Some(_) if self.burst > 0 => {
                self.burst -= 1;
                Duration::ZERO
            }
            Some(_) if self.next > now => self.next - now,
            Some(interval) => {
                // A late start is made up for by a few calls at most.
                self.next = self.next.max(now.checked_sub(interval * 3).unwrap_or(now)) + interval;
                Duration::ZERO
            }
        }
    }

    fn learn(&mut self, headers: &HeaderMap, limited: bool) {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<f64>().ok();
        if self.interval.is_none() {
            let limit = number("x-ratelimit-limit-requests").unwrap_or(1e9);
            self.interval = Some(Duration::from_secs_f64(60.0 / limit));
            self.burst = number("x-ratelimit-remaining-requests").unwrap_or(0.0) as u32;
            self.next = Instant::now();
        }
        if limited {
            self.burst = 0;
            let wait = Duration::from_secs_f64(number("retry-after-ms").unwrap_or(1000.0) / 1000.0);
            self.next = self.next.max(Instant::now() + wait);
        }
    }
}
