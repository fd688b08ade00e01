//! What a target's calls took that brought no answer: a reply that was cut off is paid for like any other.

use std::sync::{Mutex, PoisonError};

use crate::domain::{Failure, Spent};
use crate::net::{Accept, BoxFuture, Call, Receipt, Response, Transport};

/// Adds up what refused responses took.
pub(super) struct Tally<'a> {
    through: &'a dyn Transport,
    refused: Mutex<Spent>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(through: &'a dyn Transport) -> Self {
        Self { through, refused: Mutex::default() }
    }

    pub(super) fn refused(self) -> Spent {
        self.refused.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Tally<'_> {
    fn send<'a>(&'a self, call: &'a Call, accept: &'a Accept<'a>) -> BoxFuture<'a, Result<Receipt, Failure>> {
        Box::pin(async move {
            let tallied = |response: &Response| {
                accept(response).inspect_err(|rejection| {
                    *self.refused.lock().unwrap_or_else(PoisonError::into_inner) += rejection.spent;
                })
            };
            self.through.send(call, &tallied).await
        })
    }
}
