//! What could a run have seen, and what would it take to see more? (§17)

use super::binomial::{binomial_masses, binomial_tail};
use super::distribution::normal_quantile;
use super::sign_flip::mcnemar;

/// Chance with which a drop is to be caught.
const POWER: f64 = 0.8;
/// No suite asks a case more often.
const MOST_TRIALS: u32 = 10;

fn steps(alpha: f64, power: f64) -> f64 {
    normal_quantile(1.0 - alpha) + normal_quantile(power)
}

/// The drop that would be caught in 8 of 10 runs.
///
/// **Inputs**: standard deviation of the units (≥ 0), their number (≥ 1), the level of the test (0 < alpha < 0.5), unit scale.
/// **Returns** a drop ≥ 0, which may exceed 1: then nothing can be seen. **Source**: §17.1.
pub fn detectable_drop(deviation: f64, n: u64, alpha: f64) -> f64 {
    detectable_drop_at(deviation, n, alpha, POWER)
}

/// The drop that would be caught with another chance than 8 of 10.
///
/// **Inputs** as [`detectable_drop`]; `power` in [0.5, 1). **Source**: §17.1.
pub fn detectable_drop_at(deviation: f64, n: u64, alpha: f64, power: f64) -> f64 {
    steps(alpha, power) * deviation / (n.max(1) as f64).sqrt()
}

/// Units needed to catch a drop in 8 of 10 runs.
///
/// **Inputs** as [`detectable_drop`], and the drop (> 0). **Source**: §17.1.
pub fn cases_needed(deviation: f64, drop: f64, alpha: f64) -> u64 {
    cases_needed_at(deviation, drop, alpha, POWER)
}

/// Units needed to catch a drop with another chance than 8 of 10.
///
/// **Inputs** as [`cases_needed`]; `power` in [0.5, 1). **Source**: §17.1.
pub fn cases_needed_at(deviation: f64, drop: f64, alpha: f64, power: f64) -> u64 {
    let root = steps(alpha, power) * deviation / drop;
    (root * root - 1e-9).ceil().max(1.0) as u64
}

/// (noise of trials, true differences between cases) in the variance of the units.
///
/// **Inputs**: deviation of the units; variance of single scores within a case; trials of the candidate (≥ 1) and of the
/// baseline (≥ 1) a case. **Source**: §17.2.
pub fn variance_parts(deviation: f64, within: f64, candidate_trials: f64, baseline_trials: f64) -> (f64, f64) {
    let noise = within * (1.0 / candidate_trials + 1.0 / baseline_trials);
    (noise, (deviation * deviation - noise).max(0.0))
}

/// Standard deviation of the units with other numbers of trials.
///
/// **Inputs**: the variance of true differences between cases from [`variance_parts`]; variance of single scores within a case; trials of
/// the candidate and of the baseline a case (≥ 1). **Source**: §17.3.
pub fn deviation_with(between: f64, within: f64, candidate_trials: f64, baseline_trials: f64) -> f64 {
    (between + within * (1.0 / candidate_trials + 1.0 / baseline_trials)).sqrt()
}

/// The fewest trials a case, up to ten, with which a drop would be caught in 8 of 10 runs.
///
/// **Inputs** as [`variance_parts`] and [`detectable_drop`]. **Returns** `None` where more trials cannot help.
/// **Source**: §17.3.
pub fn trials_needed(
    parts: (f64, f64),
    within: f64,
    baseline_trials: f64,
    n: u64,
    drop: f64,
    alpha: f64,
) -> Option<u32> {
    let (_, heterogeneity) = parts;
    (1..=MOST_TRIALS).find(|trials| {
        let deviation = deviation_with(heterogeneity, within, f64::from(*trials), baseline_trials);
        detectable_drop(deviation, n, alpha) <= drop + 1e-12
    })
}

/// Counts of cases that differ with less chance than this do not matter.
const RARE: f64 = 1e-15;

/// Chance that the sign-flip test of a binary metric with one trial a side sees a drop.
///
/// **Inputs**: cases; the chances that a case breaks and that one is fixed (their sum in [0, 1]); the level, 0 < alpha < 0.5.
/// **Returns** a chance in [0, 1]. **Source**: §17.4: over all counts of cases that differ, the mid-p test's chance to reject.
pub fn binary_power(n: u64, breaks: f64, fixes: f64, alpha: f64) -> f64 {
    let differ = breaks + fixes;
    if differ.is_nan() || differ <= 0.0 {
        return 0.0;
    }
    let of_count = |(count, mass): (usize, f64)| {
        let count = count as u64;
        if mass < RARE || count == 0 {
            return 0.0;
        }
        fewest_breaks(count, alpha).map_or(0.0, |fewest| mass * at_least(count, breaks / differ, fewest))
    };
    binomial_masses(n, differ).into_iter().enumerate().map(of_count).sum::<f64>().clamp(0.0, 1.0)
}

/// The fewest breaks among `count` cases that differ at which the test rejects.
fn fewest_breaks(count: u64, alpha: f64) -> Option<u64> {
    let rejects = |breaks: u64| mcnemar(breaks, count - breaks).p_mid <= alpha;
    if !rejects(count) {
        return None;
    }
    // p falls as breaks rise.
    let (mut no, mut yes) = (0, count);
    while yes - no > 1 {
        let middle = no + (yes - no) / 2;
        if rejects(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Some(yes)
}

/// P(X ≥ k) for X ~ Bin(n, p), p in [0, 1].
fn at_least(n: u64, p: f64, k: u64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p >= 1.0 || k == 0 { 1.0 } else { 0.0 };
    }
    let (above, at) = binomial_tail(n, p, k);
    above + at
}
