//! Asks a model for a verdict on an answer.
//!
//! `prompt` and `sheet` put a case's texts into a prompt as escaped data; `form` says how to reply; `talk` asks, and once more where the
//! reply does not keep its contract; `reading` turns a reply into a verdict or says why it is none; `guard` knows texts that speak to the
//! judge. `ask` is a judge with one verdict, `pack` asks it about several cases in one request, `steps` are judges that ask several
//! questions (`claims` is what many of them ask), `panel` is several models that judge the same. The judges themselves are prompts,
//! settings and an `INFO` each.
//!
//! Promise: no text that is judged can end its own quotation, and no text but the judge's own reply is read as a verdict.

mod answer_correctness;
mod answer_relevancy;
mod ask;
mod claims;
mod closed_qa;
mod context_entity_recall;
mod context_precision;
mod context_recall;
mod context_relevancy;
mod correctness;
mod factual_correctness;
mod factuality;
mod faithfulness;
mod form;
mod g_eval;
mod guard;
mod guideline;
mod noise_sensitivity;
mod pack;
mod pairwise;
mod panel;
mod prompt;
mod reading;
mod relevancy;
mod response_relevancy;
mod rival;
mod rubric;
mod settings;
mod shape;
mod sheet;
mod steps;
mod talk;

#[cfg(test)]
mod tests;

use super::Kind;

pub use guard::{CONTEXT_SPEAKS_TO_THE_JUDGE, SPEAKS_TO_THE_JUDGE};
pub(super) use pack::may_do_better_alone;
pub use panel::JUDGES_DISAGREE;
pub use reading::{Contract, Grade, JudgeReading, Lenient, Unusable, Why, read, read_list, read_pack};
pub(super) use settings::embedder;

pub(super) const KINDS: &[Kind] = &[
    faithfulness::KIND,
    relevancy::KIND,
    context_relevancy::KIND,
    answer_relevancy::KIND,
    correctness::KIND,
    guideline::KIND,
    pairwise::KIND,
    rubric::KIND,
    g_eval::KIND,
    factuality::KIND,
    closed_qa::KIND,
    context_precision::KIND,
    context_recall::KIND,
    context_entity_recall::KIND,
    answer_correctness::KIND,
    factual_correctness::KIND,
    response_relevancy::KIND,
    noise_sensitivity::KIND,
];
