//! Redirects: an error by default; followed where the suite allows it, at most five times, never with credentials to another
//! origin, never from TLS to plain text, and never with another method than the one that was asked for.

use http::{HeaderMap, Method, StatusCode};
use reqwest::Url;

use super::address::{check_url, shown};
use super::{Call, Rejection, broken};
use crate::domain::{FailureKind, RetryClass};

const MOST_HOPS: u32 = 5;

/// Headers that speak for the caller, whoever wrote them.
const PERSONAL: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key"];

/// Where a request goes.
pub(super) struct Hop {
    pub(super) url: Url,
    count: u32,
    /// Every step so far stayed at the scheme, host and port of the first.
    same_origin: bool,
}

impl Hop {
    pub(super) fn first(url: Url) -> Self {
        Self { url, count: 0, same_origin: true }
    }

    pub(super) fn carries_credentials(&self) -> bool {
        self.same_origin
    }

    /// True where the header may be sent here.
    pub(super) fn may_carry(&self, name: &str) -> bool {
        self.same_origin || !is_credential_header(name)
    }
}

/// True for headers whose value is a credential whatever it is.
pub fn is_credential_header(name: &str) -> bool {
    PERSONAL.contains(&name.to_ascii_lowercase().as_str())
}

pub(super) fn is_redirect(status: StatusCode, headers: &HeaderMap) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) && headers.contains_key(http::header::LOCATION)
}

/// Where `answer`, a redirect, leads.
///
/// # Errors
/// Redirects are not allowed for this call, or not this one.
pub(super) fn next(call: &Call, method: &Method, hop: &Hop, answer: &reqwest::Response) -> Result<Hop, Rejection> {
    let from = shown(&hop.url);
    let status = answer.status().as_u16();
    let location = answer.headers().get(http::header::LOCATION).and_then(|value| value.to_str().ok());
    let Some(url) = location.and_then(|location| hop.url.join(location).ok()) else {
        return Err(refused(format!("{from} answered {status} with a redirect to no readable address")));
    };
    let what = format!("{from} answered {status}, a redirect to {}", shown(&url));
    if !call.redirects {
        return Err(refused(format!("{what}; use that address, or set `redirects: follow`")));
    }
    check_url(&url).map_err(|error| broken::forbidden(&error))?;
    let repeats = matches!(method, &Method::GET | &Method::HEAD) || matches!(status, 307 | 308);
    if !repeats {
        return Err(refused(format!("{what}, which would turn the {method} into a GET; use that address")));
    }
    if hop.url.scheme() == "https" && url.scheme() != "https" {
        return Err(refused(format!("{what}, from TLS to plain text, which is not followed")));
    }
    let count = hop.count.saturating_add(1);
    if count > MOST_HOPS {
        return Err(refused(format!("{what}: more than {MOST_HOPS} redirects")));
    }
    let same_origin = hop.same_origin && url.origin() == hop.url.origin();
    Ok(Hop { url, count, same_origin })
}

fn refused(message: String) -> Rejection {
    Rejection::new(FailureKind::Redirect, RetryClass::Case, message)
}
