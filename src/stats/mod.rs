//! Numbers in, numbers out: the mathematics of the gate. No I/O, no clock, no random numbers, nothing of the other rooms.
//!
//! Scores become exact numbers ([`decimal`], [`CaseMean`], [`Ratio`]); paired differences become integers
//! ([`Differences`]) that the [`sign_flip`] test reads, and floats that the intervals read. On top of them stand the break
//! guard, the run-effect guard, multiplicity, thresholds and sensitivity. `§` in a Source line is a section of `statistics.md`.
//!
//! Promise: the same numbers in any order, on any system, give the same result to the last bit; special functions are accurate to 1e-10 (§19.3); ties are
//! exact because scores are added and compared as integers. Tests of reports
//! and tools ([`wilcoxon`], [`paired_t_test`], [`bootstrap_interval`], §22) stand here too; no verdict reads them.

mod agreement;
mod binomial;
mod bootstrap;
mod break_guard;
mod change_point;
mod distribution;
mod exact;
mod flake;
mod interval;
mod judge_bias;
mod judge_noise;
mod moment;
mod multiplicity;
mod must_pass;
mod order;
mod paired;
mod paired_t;
mod proportion;
mod run_effect;
mod sensitivity;
mod sequential;
mod sign_flip;
mod special;
mod threshold;
#[cfg(test)]
mod vectors;
mod wilcoxon;

pub use agreement::Confusion;
pub use bootstrap::{bootstrap_interval, seed_for};
pub use break_guard::{BreakCount, break_guard, break_tail, lone_low};
pub use change_point::{ChangePoint, change_points};
pub use distribution::{
    beta_quantile, chi_squared_tail, normal_cdf, normal_quantile, student_t_cdf, student_t_quantile,
};
pub use exact::{CaseMean, Ratio, SCALE, decimal, total};
pub use flake::{flip_rate, is_flaky};
pub use interval::{hall_bound, mean_interval, smallest_certifying_n, spread};
pub use judge_bias::{Corrected, JudgeRates, prediction_powered_mean, rogan_gladen};
pub use judge_noise::{JudgeNoise, judge_noise, judge_share};
pub use multiplicity::{benjamini_hochberg, holm};
pub use must_pass::{flake_rate, must_pass_false_alarm};
pub use order::percentile_ranks;
pub use paired::{Differences, Pair, cluster_means, differences};
pub use paired_t::{PairedT, clustered_standard_error, paired_t_test};
pub use proportion::{clopper_pearson, wilson};
pub use run_effect::{RunEffect, adjust_for_runs, run_effect, run_variance};
pub use sensitivity::{
    binary_power, cases_needed, cases_needed_at, detectable_drop, detectable_drop_at, deviation_with, trials_needed,
    variance_parts,
};
pub use sequential::{LookAction, LookLevels, Spending, look, look_levels, sequential_boundaries, spent};
pub use sign_flip::{FlipMethod, SignFlip, mcnemar, sign_flip};
pub use threshold::{ThresholdMode, ThresholdState, threshold_state};
pub use wilcoxon::{Wilcoxon, Zeros, wilcoxon};
