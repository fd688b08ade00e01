//! Sockets and processes: send, receive, classify. The only room that opens either.
//!
//! Who wants something from outside describes it as a [`Call`] and hands it to a [`Transport`] with a reader, a pure
//! function that says whether a complete response is the expected answer. The engine's transport adds the ledger, limits, retries and
//! budgets around [`Client`]'s single attempts, so that targets, evaluators and providers know nothing of them.
//!
//! ```text
//! Call ─► client ─► (address, resolve, proxy, tls, connect, redirect) ─► body ─► Response ─► reader
//!            └────► process, worker ─► group, capture       └─► broken, classify (error_body, words, rate_hint, excerpt) ─► Rejection
//! ```
//!
//! Git is asked as a program too ([`Git`]), for what a repository holds and not for answers.
//!
//! Calls of judges may also go by batch ([`Route`], [`BatchApi`]): the provider's room knows how, the engine when.
//!
//! Promise: what the reader accepted was complete (length, chunks, checksum) and arrived within its deadline; credentials go to the
//! configured origin only; link-local and metadata addresses are never called; whether to try again is decided here and nowhere else.

mod address;
mod batch;
mod body;
mod broken;
mod call;
mod capture;
mod classify;
mod client;
mod connect;
mod error_body;
mod excerpt;
mod git;
mod group;
mod issuer;
mod process;
mod proxy;
mod rate_hint;
mod redirect;
mod resolve;
mod tls;
mod words;
mod worker;

#[cfg(test)]
pub(crate) mod tests;

pub use address::{AddressError, check_address, shown};
pub use batch::{
    BATCH_HEADER, BatchApi, BatchItem, BatchLimits, BatchStatus, ItemResult, NotSubmitted, Patience, Route, Sought,
};
pub use body::BODY_LIMIT;
pub use call::{Accept, Attempt, BoxFuture, Deadlines, Dialect, Rejection};
pub use call::{Call, CommandRequest, Expected, HttpRequest, Purpose, Receipt, Request, Response, Transport, exchange};
pub use classify::{classify, classify_error_object};
pub use client::Client;
pub use git::{Ended, Git, GitError, Object, Remote, is_commit, is_ref_name};
pub use process::{OUTPUT_LIMIT, STDERR_LIMIT, child_environment};
pub use rate_hint::rate_hint;
pub use redirect::is_credential_header;
pub use reqwest::Url;
pub use tls::{CA_FILE, ClientError, http_client};

/// A server's words on one line of plain text, at most 200 characters.
pub fn first_words(body: &[u8]) -> String {
    excerpt::excerpt(body)
}
