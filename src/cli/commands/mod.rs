//! One file a command.

pub(super) mod baseline;
pub(super) mod check;
pub(super) mod comment;
pub(super) mod compare;
pub(super) mod completions;
pub(super) mod drift;
pub(super) mod evaluators;
pub(super) mod judge;
pub(super) mod ledger;
pub(super) mod man;
pub(super) mod merge;
pub(super) mod power;
pub(super) mod run;
pub(super) mod schema;
