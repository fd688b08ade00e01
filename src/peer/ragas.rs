//! ragas: a result as CSV (`to_pandas().to_csv()`), JSON lines or a JSON list.
//!
//! **Case**: `id` where there is one, else the question with its reference. **Trial**: the same question again. **Metric**: each column
//! that is none of the data set's. **Error**: ragas turns a failed metric into NaN, so NaN and empty cells are missing, never left out
//! in silence. Columns of `noise_sensitivity` are better when they are lower.

use super::Peer;
use super::look::{Shape, Text};
use super::sheet::{Hint, Sheet};
use super::table::{Wide, wide};
use crate::store::StoreError;

pub(super) const PEER: Peer = Peer {
    name: "ragas",
    known_by: "a column `user_input` (or `question` with `answer`, `contexts` or `ground_truth`)",
    fits,
    read,
};

/// Columns of a ragas data set, of this and earlier versions.
const DATA: &[&str] = &[
    "user_input",
    "response",
    "retrieved_contexts",
    "reference",
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "multi_responses",
    "rubrics",
    "rubric",
    "persona_name",
    "query_style",
    "query_length",
    "synthesizer_name",
    "reference_tool_calls",
    "reference_topics",
    "question",
    "answer",
    "contexts",
    "ground_truth",
    "ground_truths",
];

fn fits(text: &Text) -> bool {
    let old = text.has("question") && text.has_any(&["answer", "contexts", "ground_truth", "ground_truths"]);
    matches!(text.shape, Shape::Lines | Shape::List | Shape::Cells) && (text.has("user_input") || old)
}

fn read(text: &Text) -> Result<Sheet, StoreError> {
    let form = Wide { content: &["user_input", "question"], detail: &["reference", "ground_truth"], data: DATA };
    let mut sheet = wide(text, &form)?;
    let names = sheet.seen.first().map(|seen| seen.outcome.scores.clone()).unwrap_or_default();
    for score in names.into_iter().filter(|score| score.metric.starts_with("noise_sensitivity")) {
        sheet.hints.insert(score.metric, Hint::LOWER);
    }
    Ok(sheet)
}
