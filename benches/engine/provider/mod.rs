//! `provider SETTINGS`: a fake provider that speaks OpenAI's chat completions, keeps a rate limit, breaks on request, and counts what
//! its clients do. Settings are JSON; the first line it prints is its address; `GET /stats` gives the counters.
//!
//! Equal requests get equal replies: everything random is a function of the request and of how often it was asked before.
//! One thread, so that it takes one core at most.

mod count;
mod fault;
mod http;
mod limit;
pub mod random;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};

pub use count::Stats;
pub use fault::Fault;

use self::count::Counts;
use self::http::{Answer, Headers, Request};
use self::limit::Bucket;
use crate::Error;

pub const ROLE: &str = "provider";

/// How it behaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub latency_ms: f64,
    /// Share of the requests that are answered YES; the others NO.
    pub yes: f64,
    pub limit: Option<Limit>,
    /// Which faults strike which share of the requests; a repeated request draws afresh.
    pub faults: Vec<(Fault, f64)>,
    /// Share of the requests that are answered 400 whenever they are asked.
    pub refused: f64,
    /// After so many good answers the quota is spent.
    pub quota: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { latency_ms: 0.0, yes: 0.9, limit: None, faults: Vec::new(), refused: 0.0, quota: None }
    }
}

/// A limit of requests.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Limit {
    pub per_minute: f64,
    /// Requests let through at once.
    pub burst: f64,
    /// Every answer tells the limit and what is left of it.
    pub headers: bool,
    /// A refusal tells when to come again.
    pub retry_after: bool,
}

struct Provider {
    settings: Settings,
    state: Mutex<State>,
}

struct State {
    bucket: Option<Bucket>,
    counts: Counts,
}

/// # Errors
/// Where the settings are wrong or no port is free.
pub fn serve(arguments: &[String]) -> Result<(), Error> {
    let settings: Settings = serde_json::from_str(arguments.first().ok_or("provider SETTINGS")?)?;
    let bucket = settings.limit.map(|limit| Bucket::full(limit.per_minute, limit.burst, Instant::now()));
    let state = Mutex::new(State { bucket, counts: Counts::default() });
    let provider = Arc::new(Provider { settings, state });
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(Arc::clone(&provider).converse(stream));
        }
    })
}

impl Provider {
    async fn converse(self: Arc<Self>, mut stream: TcpStream) {
        let mut buffer = Vec::with_capacity(8192);
        while let Some(request) = http::read(&mut stream, &mut buffer).await {
            let answer = match &request {
                Request::Stats => Answer::json(200, self.stats()),
                Request::Chat(body) => self.chat(body).await,
            };
            let sent = answer.send(&mut stream).await;
            if let Request::Chat(body) = &request {
                self.state().counts.ended(random::hash(body), &answer, sent);
            }
            // Whoever asks for the counters reads to the end.
            if !sent || answer.ends() || matches!(request, Request::Stats) {
                return;
            }
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stats(&self) -> String {
        serde_json::to_string(&self.state().counts.stats()).unwrap_or_default()
    }

    async fn chat(&self, body: &[u8]) -> Answer {
        let key = random::hash(body);
        let (nth, told) = match self.enter(key) {
            Ok(entered) => entered,
            Err(refusal) => return refusal,
        };
        if self.settings.latency_ms > 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(self.settings.latency_ms / 1000.0)).await;
        }
        if random::unit(random::mix(key, 0xbad)) < self.settings.refused {
            return Answer::error(400, "context_length_exceeded", "This model's maximum context length is exceeded.");
        }
        let yes = random::unit(random::mix(key, 0x1e5)) < self.settings.yes;
        let answer = Answer::json(200, completion(if yes { "YES" } else { "NO" }, body.len())).with(told);
        match fault::draw(&self.settings.faults, random::mix(key, u64::from(nth))) {
            None => answer,
            Some(fault) => {
                self.state().counts.faults += 1;
                fault.spoil(answer)
            }
        }
    }

    /// Counts the request: how often it was asked before, and the headers that tell the limit; or the refusal.
    fn enter(&self, key: u64) -> Result<(u32, Headers), Answer> {
        let now = Instant::now();
        let mut state = self.state();
        let State { bucket, counts } = &mut *state;
        let nth = counts.entered(key, now);
        if self.settings.quota.is_some_and(|quota| counts.let_through >= quota) {
            counts.quota(now);
            return Err(Answer::error(
                429,
                "insufficient_quota",
                "You exceeded your current quota, please check your plan.",
            ));
        }
        let (Some(bucket), Some(limit)) = (bucket, self.settings.limit) else {
            counts.let_through += 1;
            return Ok((nth, Vec::new()));
        };
        let wait = bucket.take(now);
        let mut told = if limit.headers { bucket.headers() } else { Vec::new() };
        let Some(wait) = wait else {
            counts.let_through += 1;
            return Ok((nth, told));
        };
        counts.limited(now);
        if limit.retry_after {
            let ms = wait.as_micros().div_ceil(1000).max(1);
            told.push(("retry-after", ms.div_ceil(1000).to_string()));
            told.push(("retry-after-ms", ms.to_string()));
        }
        Err(Answer::error(429, "rate_limit_exceeded", "Rate limit reached for requests per min (RPM).").with(told))
    }
}

/// A token is four bytes.
fn completion(said: &str, bytes: usize) -> String {
    let tokens = bytes.div_ceil(4);
    format!(
        "{{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"fake\",\"choices\":[{{\
         \"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":\"{said}\",\"refusal\":null}},\"logprobs\":null,\
         \"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":{tokens},\"completion_tokens\":1,\"total_tokens\":{}}}}}",
        tokens + 1
    )
}
