//! Everything measured for one case, target and trial: one line of `results.jsonl`.

use std::sync::Arc;

use super::{Answer, Case, Failure, Score, TargetName};

#[derive(Clone, Debug)]
pub struct Outcome {
    pub case: Arc<Case>,
    pub target: TargetName,
    /// From 0.
    pub trial: u32,
    pub answer: Result<Answer, Failure>,
    /// In the order of the suite's evaluators; one for each, whatever happened.
    pub scores: Vec<Score>,
}
