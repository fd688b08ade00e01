//! The skeleton of a suite as written: what this room reads itself. Everything inside a block belongs to the block's owner.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::text::duration::Period;

/// A scoregate suite: what is asked, of whom, how the answers are scored, and when that is good enough.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SuiteSpec {
    /// The version of this form.
    #[expect(dead_code, reason = "only checked")]
    pub version: Version,
    /// The suite's name, shown in every report.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Where the cases come from: one source or a list of them.
    #[expect(dead_code, reason = "read as blocks")]
    pub dataset: OneOrMany,
    /// The systems under test, by name. Without any, the answers recorded in the data set are scored.
    #[schemars(extend("minProperties" = 1))]
    #[expect(dead_code, reason = "read as blocks")]
    pub targets: Option<BTreeMap<String, Map<String, Value>>>,
    /// Models that evaluators (and targets) use, by name.
    #[expect(dead_code, reason = "read as blocks")]
    pub models: Option<BTreeMap<String, Map<String, Value>>>,
    /// What is measured: the key is the metric's name; `use` names the evaluator and defaults to the key.
    #[schemars(extend("minProperties" = 1))]
    #[expect(dead_code, reason = "read as blocks")]
    pub evaluators: BTreeMap<String, Option<Map<String, Value>>>,
    /// When the result is good enough.
    #[expect(dead_code, reason = "read as a block")]
    pub gate: Option<Map<String, Value>>,
    /// How the cases are run.
    pub run: Option<RunSpec>,
    /// What is written, and where.
    #[expect(dead_code, reason = "read as a block")]
    pub reports: Option<Map<String, Value>>,
    /// Who is told by a message, and when.
    #[expect(dead_code, reason = "read as blocks")]
    pub alerts: Option<Vec<Map<String, Value>>>,
}

/// `1`.
#[derive(Debug, Deserialize)]
pub(super) struct Version(#[expect(dead_code, reason = "only checked")] u64);

impl JsonSchema for Version {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Version".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": 1 })
    }
}

/// One mapping or a list of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(#[expect(dead_code, reason = "read as blocks")] Map<String, Value>),
    Many(
        #[schemars(length(min = 1))]
        #[expect(dead_code, reason = "read as blocks")]
        Vec<Map<String, Value>>,
    ),
}

/// How the cases are run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunSpec {
    /// Calls in flight at most, for each endpoint: a number, or `auto` (the default): as many as the endpoint keeps up with, up to 64
    /// for a model, 16 for a service, and the number of processors for a program.
    pub workers: Option<Workers>,
    /// Judge questions packed into one request, for each judge (default: 1, each alone).
    #[schemars(range(min = 1, max = 20))]
    pub batch_size: Option<u32>,
    /// How often every case is asked (default: 1). A list is a plan of looks: `[1, 3]` asks once, and up to three times where the comparison
    /// with the baseline is suspicious then.
    pub trials: Option<TrialsSpec>,
    /// Time for one attempt, from connecting to the last byte (default: 60s).
    pub timeout: Option<Period>,
    /// Time for connecting (default: 10s).
    pub connect_timeout: Option<Period>,
    /// Time for the whole run, which ends there: what is missing then is not measured, and the exit code is 3 (default: none).
    pub deadline: Option<Period>,
    /// When failed calls are tried again.
    pub retry: Option<RetrySpec>,
    /// What the run may spend; what is left then is not measured, the exit code is 3, and a later run goes on there.
    pub budget: Option<BudgetSpec>,
    /// Experiment parameters of any form, kept with the run and compared with the baseline's.
    #[expect(dead_code, reason = "read as written")]
    pub record: Option<Map<String, Value>>,
    /// Where paid calls are kept, and for how long; a path is short for `{ path: … }`.
    pub ledger: Option<LedgerSpec>,
}

/// A fixed number, or the trials at each look.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum TrialsSpec {
    Fixed(NonZeroU32),
    Looks(#[schemars(length(min = 1, max = 10))] Vec<NonZeroU32>),
}

/// A path, or the whole form.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum LedgerSpec {
    Path(#[schemars(length(min = 1))] String),
    Settings(LedgerSettings),
}

/// Where paid calls are kept, and which of them answer again.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgerSettings {
    /// The file, relative to the suite's folder (default: .scoregate/ledger.sqlite).
    #[schemars(length(min = 1))]
    pub path: Option<String>,
    /// Answers older than this are asked for again (default: never).
    pub ttl: Option<Period>,
    /// Which kept answers are used: `on` (the default), `refresh` or `off`. `--ledger` goes before it.
    pub mode: Option<Reuse>,
}

/// Which kept answers a run uses. A run that was stopped goes on where it was in every mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Those that were kept and are not too old.
    #[default]
    On,
    /// None: everything is asked again, and the new answers are kept.
    Refresh,
    /// None, and nothing is kept for other runs.
    Off,
}

/// When failed calls are tried again.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RetrySpec {
    /// Attempts for one call, the first included (default: 6).
    pub attempts: Option<NonZeroU32>,
    /// Time for one call with all its attempts (default: 10m).
    pub max_elapsed: Option<Period>,
}

/// What the run may spend. Answers from the ledger cost nothing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BudgetSpec {
    /// US dollars, for models that have a `price`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub usd: Option<f64>,
    /// Tokens, sent and received together.
    pub tokens: Option<NonZeroU64>,
    /// Requests, repeated ones included.
    pub requests: Option<NonZeroU64>,
    /// Time after which no further call is made; those in flight are waited for.
    pub time: Option<Period>,
}

/// `auto` or a number.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Workers {
    Auto(Auto),
    Number(NonZeroUsize),
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Auto {
    Auto,
}
