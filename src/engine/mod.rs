//! Runs every case, in order, within limits, and tells what happens as [`Event`](crate::domain::Event)s.
//!
//! [`run`] streams the data set through `target → evaluators` with a bounded number of cases in flight; there is no barrier
//! between the stages. Every call goes through the [`Caller`], which asks the ledger first, holds the limits, retries what can succeed, and
//! keeps the answer on disk before it is used; where it cannot be kept, nothing more is sent and the run is not complete. Calls of judges may wait for a batch
//! instead of a slot ([`Batcher`]), and for their neighbours where several share a request (`pack`). Outcomes are written in the data set's order, whatever order they finish in.
//!
//! [`extend`] asks for more trials of some cases of a run that has ended, with the same [`Caller`].
//!
//! A [`Tape`] records what each call came to, or plays it back instead of the [`Caller`].
//!
//! Promise: planned = the sum of outcomes; one bad job never costs another; a cancelled run ends within a second.

mod assumed;
mod batch;
mod budget;
mod caller;
mod cancel;
mod job;
mod kept;
mod key;
mod landing;
mod limiter;
mod more;
mod pack;
mod plan;
mod preview;
mod retry;
mod schedule;
mod tally;
mod tape;
#[cfg(test)]
mod tests;
mod waits;

pub use batch::Batcher;
pub use caller::{Caller, CallerSettings};
pub use cancel::{Cancel, Canceller, Stop, cancellation};
pub use more::{More, extend};
pub use plan::{Limits, Pace, Plan};
pub use preview::{Forecast, Preview, Span, Unaskable, preview};
pub use retry::RetryPolicy;
pub use schedule::{EngineError, run};
pub use tape::Tape;
