//! The nouns that flow through scoregate. They say what things are; there is no I/O and no async here.
//!
//! `Case` → (`Answer` | `Failure`) → `Score` → `Outcome` → `Run` → (with a `Baseline`) → `Verdict`.
//! Every other room imports this one; this one imports none.
//!
//! Promise: a `Measurement` is a value or the reason why there is none. Nothing here can hold a NaN score.

mod answer;
mod base;
mod baseline;
mod case;
mod case_set;
mod env;
mod event;
mod failure;
mod fingerprint;
mod limits;
mod metric;
mod outcome;
mod redact_writer;
mod redactor;
mod resource;
mod retry;
mod run;
mod score;
mod secret;
mod selection;
mod shard;
mod usage;
mod verdict;

pub use answer::{Answer, Context};
pub use base::{BaseRecord, JudgedBy, PolicyChange};
pub use baseline::{Baseline, BaselineCase, BaselineRun, BaselineSource};
pub use case::{Case, CaseId, ExpectedContext, Place};
pub use case_set::CaseSet;
pub use env::Env;
pub use event::{Event, EventSink, SoFar};
pub use failure::{Failure, FailureKind, Side};
pub use fingerprint::{Digest, Fingerprint};
pub use limits::{EndpointLimits, LimiterState};
pub use metric::{Direction, MetricName, MetricSpec, ScoreKind, TargetName};
pub use outcome::Outcome;
pub use redact_writer::RedactingWriter;
pub use redactor::Redactor;
pub use resource::{Resource, Statistic, Taken, Unit};
pub use retry::{Allowance, Complaint, RateHint, RetryClass};
pub use run::{CaseRecord, Cell, Completion, JudgeModels, Run, RunHeader, ScoreCounts, TrialRecord};
pub use score::{Measurement, Reading, Score, SkipReason};
pub use secret::{MASK, SHORTEST_SECRET, Secret, SecretError};
pub use selection::Selection;
pub use shard::{Part, Shard};
pub use usage::{CallCounts, Spent, Usage, Usd};
pub use verdict::{
    Bound, BrokenCase, CaseChanges, Comparison, Decision, FlakyCase, LookEnd, LooksTaken, Reason, RuleKind,
    RuleVerdict, Severity, SliceChange, SliceLine, Verdict, VerdictCounts,
};
