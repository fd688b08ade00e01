//! Sends messages, again where that helps, within a bound that all alerts of a run share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;

use super::news::News;
use super::settings::Alert;
use crate::domain::{EndpointLimits, RetryClass};
use crate::net::{
    Attempt, Call, Deadlines, Dialect, Expected, HttpRequest, Purpose, Request, Response, Route, Url, rate_hint,
};

const ATTEMPTS: u32 = 3;
/// Before the second attempt.
const BACKOFF: Duration = Duration::from_secs(1);
/// A service that asks for more is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// All attempts and waits, of all alerts side by side.
const WHOLE: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(5);
const ATTEMPT: Duration = Duration::from_secs(10);

/// Tells every one of `alerts`, side by side; returns what could not be told, one sentence each, with no address and no secret in it.
///
/// **Inputs**: `now` is milliseconds since 1970, for signatures and for dates in answers.
pub async fn send(alerts: &[&Alert], news: &News, net: &dyn Attempt, now: i64) -> Vec<String> {
    send_after(BACKOFF, alerts, news, net, now).await
}

/// **Inputs**: `backoff` is the wait before the second attempt; doubled for the third.
pub(super) async fn send_after(
    backoff: Duration,
    alerts: &[&Alert],
    news: &News,
    net: &dyn Attempt,
    now: i64,
) -> Vec<String> {
    let told = alerts.iter().map(|alert| async move {
        let sent = tokio::time::timeout(WHOLE, tell(backoff, alert, news, net, now)).await;
        let why = sent.unwrap_or_else(|_| Err("it took too long".to_owned())).err()?;
        Some(format!("the alert {} was not sent: {why}", alert.name))
    });
    join_all(told).await.into_iter().flatten().collect()
}

/// Why an attempt failed.
struct Refusal {
    why: String,
    /// After at least this long it may succeed; `None`: it will not.
    again: Option<Duration>,
}

async fn tell(backoff: Duration, alert: &Alert, news: &News, net: &dyn Attempt, now: i64) -> Result<(), String> {
    let (url, body) = alert.service.message(alert.url.expose(), news, now)?;
    let call = call(alert, url, body.to_string());
    let mut wait = backoff;
    for attempt in 1..=ATTEMPTS {
        let Err(Refusal { why, again }) = once(alert, &call, net, now).await else { return Ok(()) };
        let pause = again.map(|asked| asked.max(wait)).filter(|pause| *pause <= LONGEST_WAIT);
        let Some(pause) = pause.filter(|_| attempt < ATTEMPTS) else {
            let times = if attempt > 1 { format!(" (tried {attempt} times)") } else { String::new() };
            return Err(format!("{why}{times}"));
        };
        tokio::time::sleep(pause).await;
        wait = wait.saturating_mul(2);
    }
    Ok(())
}

async fn once(alert: &Alert, call: &Call, net: &dyn Attempt, now: i64) -> Result<(), Refusal> {
    // Its message may show the address.
    let answer = net.attempt(call).await.map_err(|rejection| Refusal {
        why: format!("{}: {}", host(alert.url.expose()), rejection.kind.word().replace('_', " ")),
        again: (rejection.class == RetryClass::Retry).then(|| rejection.hint.retry_after.unwrap_or_default()),
    })?;
    let Response { status, headers, body, .. } = &answer;
    if !(200..300).contains(status) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now.try_into().unwrap_or_default());
        let asked = rate_hint(headers, now).retry_after.unwrap_or_default();
        let again = matches!(status, 408 | 425 | 429 | 500..=599).then_some(asked);
        return Err(Refusal { why: format!("{} answered {status}", host(alert.url.expose())), again });
    }
    alert.service.heard(body).map_err(|(code, words)| {
        let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
        let again = code.is_some_and(|code| alert.service.may_come_again(code)).then_some(Duration::ZERO);
        let code = code.map_or_else(String::new, |code| format!(" with the code {code}"));
        Refusal { why: format!("{} refused it{code} ({words})", host(alert.url.expose())), again }
    })
}

/// What may be shown of an address.
fn host(url: &str) -> String {
    Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| "the webhook".to_owned())
}

fn call(alert: &Alert, url: String, body: String) -> Call {
    Call {
        request: Request::Http(HttpRequest {
            method: Method::POST,
            url,
            headers: std::iter::once(("content-type".to_owned(), "application/json; charset=utf-8".to_owned()))
                .chain(alert.headers.clone())
                .collect(),
            credentials: alert.credentials.clone(),
            body: Bytes::from(body),
        }),
        endpoint: Arc::from(alert.name.as_str()),
        purpose: Purpose::Target,
        // Every complete answer comes here.
        dialect: Dialect::Raw,
        deadlines: Deadlines { connect: CONNECT, whole: ATTEMPT },
        trial: 0,
        version: None,
        redirects: false,
        route: Route::Direct,
        what: alert.name.clone(),
        limits: EndpointLimits::default(),
        expected: Expected::default(),
    }
}
