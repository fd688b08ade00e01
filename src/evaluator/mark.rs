//! The `threshold` of a block for scores of either direction.

use super::Info;
use super::pure::threshold;
use crate::diagnostic::Diagnostics;
use crate::domain::Direction;
use crate::suite::Block;

/// As [`threshold`], where a lower score may be the better one; `Err` after pushing a problem. A mark that every score reaches is refused.
pub(super) fn mark(
    block: &Block,
    info: &Info,
    written: Option<f64>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<f64>, ()> {
    let (lo, hi) = info.score.range();
    match (info.direction, written) {
        (Direction::Higher, written) => threshold(block, info, written, diagnostics),
        (Direction::Lower, Some(mark)) if !(mark >= lo && mark < hi) => {
            let message = format!("threshold {mark} of `{}` must be at least {lo} and below {hi}", block.name);
            let problem = block.problem("/threshold", "threshold-out-of-range", message);
            diagnostics.push(problem.help("a lower score is better; a case passes at the threshold or below"));
            Err(())
        }
        (Direction::Lower, written) => Ok(written),
    }
}
