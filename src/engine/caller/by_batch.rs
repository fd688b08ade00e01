//! The way of a call that may wait for a batch: reserved, waited for, read, kept, settled.

use super::{Caller, cancelled, failure};
use crate::domain::{Failure, RetryClass};
use crate::engine::batch::{Billed, Delivery};
use crate::engine::landing::settle;
use crate::engine::limiter::Limiter;
use crate::net::{Accept, Call, Receipt, Route};

impl Caller {
    /// The answer of a batch, for calls that may wait for one; no place is held meanwhile. `None`: the call is to be made directly.
    pub(super) async fn by_batch(
        &self,
        call: &Call,
        accept: &Accept<'_>,
        limiter: &Limiter,
        key: [u8; 32],
    ) -> Result<Option<Receipt>, Failure> {
        let (Some(batcher), Route::Batch(api)) = (&self.batcher, &call.route) else { return Ok(None) };
        self.still_open(limiter)?;
        let reserved = tokio::select! {
            biased;
            why = self.cancel.cancelled() => return Err(cancelled(why, 0)),
            reserved = self.account.reserve_for_batch(&call.expected) => reserved?,
        };
        // A call that is left in its batch keeps what is reserved for it: it will be paid for.
        let (response, first) = match batcher.ask(key, call, api).await? {
            Delivery::Answer { response, first } => (response, first),
            Delivery::Direct => {
                reserved.unsent();
                batcher.settle(&key).await;
                return Ok(None);
            }
            Delivery::Rejected(rejection, billed) => {
                match billed {
                    Billed::No => reserved.give_back(),
                    // It stays reserved: the batch goes on, whether anybody can look at it or not.
                    Billed::Perhaps => drop(reserved),
                }
                // What is wrong with a request is settled; a batch that could not be looked at is not.
                if rejection.class == RetryClass::Case {
                    batcher.settle(&key).await;
                }
                self.heed(call, limiter, &rejection);
                return Err(failure(call, rejection, 1));
            }
        };
        let response = response.masked(&self.redactor);
        let read = accept(&response);
        match &read {
            Ok(spent) if first => reserved.settle(spent),
            Err(rejection) if first => settle(reserved, rejection),
            Ok(_) | Err(_) => reserved.give_back(),
        }
        match read {
            Ok(spent) => {
                let receipt = self.keep(key, call, (response, spent), 1).await?;
                batcher.settle(&key).await;
                Ok(Some(Receipt { attempts: u32::from(first), cached: !first, ..receipt }))
            }
            Err(rejection) => {
                batcher.settle(&key).await;
                match rejection.class {
                    // Something is wrong with the answer, not with the request.
                    RetryClass::Retry | RetryClass::Endpoint => Ok(None),
                    RetryClass::Case | RetryClass::Unusable => Err(failure(call, rejection, 1)),
                }
            }
        }
    }
}
