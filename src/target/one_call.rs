//! Targets that are asked with one call a case: what they send and how they read the reply is theirs, the rest is here.

use super::Target;
use super::blame::blame;
use crate::domain::{Answer, Case, Failure, Spent};
use crate::net::{BoxFuture, Call, Rejection, Response, Transport, exchange};

pub(super) trait OneCall: Send + Sync {
    /// What is sent for a case.
    ///
    /// # Errors
    /// On side `Infra`: a value that the case lacks, or that would change whom the call reaches.
    fn call(&self, case: &Case, trial: u32) -> Result<Call, Failure>;

    /// The answer in a response; its latency and attempts are filled in later.
    ///
    /// # Errors
    /// A response that is no answer.
    fn read(&self, case: &Case, call: &Call, response: &Response) -> Result<Answer, Rejection>;

    /// See [`Target::brings_contexts`].
    fn brings_contexts(&self) -> bool;
}

impl<T: OneCall> Target for T {
    fn brings_contexts(&self) -> bool {
        OneCall::brings_contexts(self)
    }

    fn ask<'a>(
        &'a self,
        case: &'a Case,
        trial: u32,
        transport: &'a dyn Transport,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let call = self.call(case, trial)?;
            let read = |response: &Response| {
                let answer = self.read(case, &call, response)?;
                let spent = Spent { usage: answer.usage, cost: answer.cost };
                Ok((answer, spent))
            };
            let (answer, receipt) = exchange(transport, &call, read).await.map_err(blame)?;
            Ok(Answer { latency: Some(receipt.latency), attempts: receipt.attempts, cached: receipt.cached, ..answer })
        })
    }
}
