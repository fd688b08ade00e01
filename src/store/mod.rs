//! Every byte we keep, each file with a version: results, baselines, the ledger, cassettes.
//!
//! ```text
//! Outcome ─► results.jsonl ─► Run ─► accept, pool ─► Baseline ─► baseline file
//! shards' results.jsonl ─► Shards ─► one results.jsonl and Run
//! Call    ─► ledger (one row, committed before its answer is used) ─► the same call later
//!          └► cassette (one line, as far as the run used it) ─► the same run without network
//! baseline ─► place (file, branch, address, object store), over what was read there and nothing else
//! batch   ─► its calls' keys beside the ledger, before it is submitted ─► a later run waits for it
//! ```
//!
//! Promise: a file is old or new, never half ([`write_atomic`]); a file that cannot be right is `Corrupt` and left as it is, never
//! taken for missing; what was committed to the ledger survives any kill. Reports are bytes of the room `report`, written by `cli`.

mod baseline;
mod batches;
mod cassette;
mod earlier;
mod error;
mod first_line;
mod ledger;
mod line;
mod lines;
mod lock;
mod merge;
mod place;
mod pool;
mod results;
mod run_builder;
mod scores;
mod write;

pub use baseline::{BASELINE_SCHEMA, parse_baseline, read_baseline, render_baseline};
pub use batches::{Batches, Remembered};
pub use cassette::{
    CASSETTE_SCHEMA, CallKey, CallLine, Cassette, CassetteEnd, CassetteHeader, CassetteWriter, RequestLine,
    ResponseLine,
};
pub use earlier::EarlierOutcomes;
pub use error::{BadLine, StoreError};
pub use first_line::{FileKind, is_free_for};
pub use ledger::{
    Account, Bill, EndpointAccount, Found, Kept, Ledger, LedgerMode, LedgerUse, Peek, PruneSettings, Pruned, Resumed,
    Unfinished, account, prune,
};
pub use line::{AnswerLine, ContextLine, FailureLine, OutcomeLine, ScoreLine};
pub use lock::Lock;
pub use merge::{MergeError, Shards};
pub use place::{BRANCH, Mark, Place, Stored, Wanted, open as open_place};
pub use pool::{accept, pool, repeats};
pub use results::{RESULTS_SCHEMA, ResultsWriter, Texts, read_results, read_runs};
pub(crate) use run_builder::RunBuilder;
pub use write::{Staged, put_in_place, stage, tidy, write_atomic};
