//! What is taken to be right where nobody says.

use std::num::NonZeroUsize;

use crate::net::{Call, Dialect, Purpose, Request};

/// What an endpoint is asked for at once at most where nobody says.
pub(super) fn most_at_once(call: &Call) -> usize {
    const MODEL: usize = 64;
    const SERVICE: usize = 16;
    match (&call.request, call.purpose, call.dialect) {
        (Request::Command(_), ..) => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        (Request::Http(_), _, Dialect::Plain | Dialect::Raw) => SERVICE,
        (Request::Http(_), Purpose::Target | Purpose::Judge | Purpose::Embedding, _) => MODEL,
    }
}
