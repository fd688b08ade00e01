//! What a rule found, in words (statistics §21): a fragment for the headline and one paragraph for a developer. Plain text; the
//! reports escape it for their sinks.

mod limits;
mod paired;
mod refusal;

pub(crate) use limits::{drop_rule, each_case, must_pass, no_scores, percentile, threshold};
pub(crate) use paired::comparison;
pub(crate) use refusal::{
    judge_changed, lost_in_the_baseline, no_slice, no_such_tag, nothing_selected, nothing_to_compare, sliced,
    small_slice, too_little_overlap, too_much_missing,
};
