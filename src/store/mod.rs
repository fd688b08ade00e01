//! Every byte we keep, each file with a version: results, verdicts, baselines, the ledger.
//!
//! Promise: a file is old or new, never half ([`write_atomic`]); what was committed to the ledger survives any kill.

mod baseline;
mod error;
mod ledger;
mod line;
mod lines;
mod lock;
mod results;
mod run_builder;
mod scores;
mod write;

pub use baseline::{BASELINE_SCHEMA, accept, pool, read_baseline, render_baseline};
pub use error::StoreError;
pub use ledger::{Found, Kept, Ledger};
pub use line::{AnswerLine, ContextLine, FailureLine, OutcomeLine, ScoreLine};
pub use lock::Lock;
pub use results::{RESULTS_SCHEMA, ResultsWriter, Texts, read_results, read_runs};
pub(crate) use run_builder::RunBuilder;
pub use write::write_atomic;
