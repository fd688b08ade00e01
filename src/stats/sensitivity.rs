//! What could a run have seen, and what would it take to see more? (§17)

use super::distribution::normal_quantile;

/// Chance with which a drop is to be caught.
const POWER: f64 = 0.8;
/// No suite asks a case more often.
const MOST_TRIALS: u32 = 10;

fn steps(alpha: f64) -> f64 {
    normal_quantile(1.0 - alpha) + normal_quantile(POWER)
}

/// The drop that would be caught in 8 of 10 runs.
///
/// **Inputs**: standard deviation of the units (≥ 0), their number (≥ 1), the level of the test (0 < alpha < 0.5), unit scale.
/// **Returns** a drop ≥ 0, which may exceed 1: then nothing can be seen. **Source**: §17.1.
pub fn detectable_drop(deviation: f64, n: u64, alpha: f64) -> f64 {
    steps(alpha) * deviation / (n.max(1) as f64).sqrt()
}

/// Units needed to catch a drop in 8 of 10 runs.
///
/// **Inputs** as [`detectable_drop`], and the drop (> 0). **Source**: §17.1.
pub fn cases_needed(deviation: f64, drop: f64, alpha: f64) -> u64 {
    let root = steps(alpha) * deviation / drop;
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
        let deviation = (heterogeneity + within * (1.0 / f64::from(*trials) + 1.0 / baseline_trials)).sqrt();
        detectable_drop(deviation, n, alpha) <= drop + 1e-12
    })
}
