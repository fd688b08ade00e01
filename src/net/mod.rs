//! Sockets and processes: send, receive, classify. The only room that opens either.
//!
//! Who wants something from outside describes it as a [`Call`] and hands it to a [`Transport`] with a reader, a pure
//! function that says whether a complete response is the expected answer. The engine's transport adds the ledger, limits, retries and
//! budgets around [`Client`]'s single attempts, so that targets, evaluators and providers know nothing of them.
//!
//! Promise: what the reader accepted was complete (length, chunks, checksum) and arrived within its deadline.

mod call;
mod tls;

pub use call::{Accept, Attempt, BoxFuture, Deadlines, Dialect, Rejection};
pub use call::{Call, CommandRequest, HttpRequest, Purpose, Receipt, Request, Response, Transport, exchange};
pub use tls::{ClientError, http_client};
