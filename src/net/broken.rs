//! Why there was no answer at all: the client's errors in words, with the addresses that were tried and what to do.

use std::error::Error;
use std::net::SocketAddr;

use reqwest::Url;

use super::Rejection;
use super::address::{AddressError, shown};
use super::connect::ConnectTimeout;
use super::resolve::Resolver;
use super::tls::{CA_FILE, UntrustedIssuer};
use crate::domain::{FailureKind, RetryClass};

/// The rejection for an exchange that broke before a complete head arrived.
pub(super) fn rejection(error: &reqwest::Error, url: &Url, resolver: &Resolver) -> Rejection {
    let address = shown(url);
    if let Some(refused) = find::<AddressError>(error) {
        return forbidden(refused);
    }
    if let Some(untrusted) = untrusted(error) {
        return Rejection::new(
            FailureKind::Connection,
            RetryClass::Endpoint,
            format!(
                "{address} is not trusted: {untrusted}; if it should be, name the authority's PEM file in the \
                 environment variable {CA_FILE} (or SSL_CERT_FILE)"
            ),
        );
    }
    if let Some(rustls::Error::InvalidCertificate(problem)) = find::<rustls::Error>(error) {
        let why = format!("the certificate of {address} is not valid: {problem}");
        return Rejection::new(FailureKind::Connection, RetryClass::Endpoint, why);
    }
    let tried = tried(url, resolver);
    if let Some(ConnectTimeout(limit)) = find::<ConnectTimeout>(error) {
        let why = format!("no connection to {address} within {} s{tried}", limit.as_secs_f64());
        return Rejection::new(FailureKind::Timeout, RetryClass::Retry, why);
    }
    let cause = cause(error);
    let (class, why) = if error.is_builder() {
        (RetryClass::Case, format!("the request to {address} could not be made: {cause}"))
    } else if error.is_connect() {
        (RetryClass::Retry, format!("could not connect to {address}{tried}: {cause}"))
    } else {
        (RetryClass::Retry, format!("the connection to {address} broke before an answer: {cause}"))
    };
    Rejection::new(FailureKind::Connection, class, why)
}

/// The rejection for an address that is never called.
pub(super) fn forbidden(error: &AddressError) -> Rejection {
    Rejection::new(FailureKind::Forbidden, RetryClass::Endpoint, error.to_string())
}

/// True where the connection ended before a byte of an answer.
pub(super) fn ended_without_answer(error: &reqwest::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    let broken = |kind| matches!(kind, ConnectionReset | BrokenPipe | ConnectionAborted);
    !error.is_connect()
        && !error.is_builder()
        && (cause(error).contains("connection closed before message completed")
            || find::<std::io::Error>(error).is_some_and(|error| broken(error.kind())))
}

/// ` (tried 127.0.0.1:80 and [::1]:80)`; nothing where the name was not resolved here.
fn tried(url: &Url, resolver: &Resolver) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    let found = resolver.found(url.host_str().unwrap_or_default());
    let addresses: Vec<String> = found.into_iter().map(|ip| SocketAddr::new(ip, port).to_string()).collect();
    if addresses.is_empty() { String::new() } else { format!(" (tried {})", addresses.join(" and ")) }
}

/// The innermost error's words: the ones around it say where, with addresses that may hold secrets.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let last = chain(error).last().map(|error| error.to_string()).unwrap_or_default();
    super::excerpt::one_line(&last)
}

fn find<'e, T: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e T> {
    chain(error).find_map(|error| error.downcast_ref::<T>())
}

fn untrusted<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e UntrustedIssuer> {
    match find::<rustls::Error>(error)? {
        rustls::Error::Other(other) => other.0.downcast_ref(),
        _ => None,
    }
}

/// An error and all that caused it, outermost first. An `io::Error` hides the error inside it from `source`.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let next = |error: &&'e (dyn Error + 'static)| -> Option<&'e (dyn Error + 'static)> {
        let error = *error;
        match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(hidden) => Some(hidden),
            None => error.source(),
        }
    };
    std::iter::successors(Some(error), next).take(32)
}
