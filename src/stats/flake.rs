//! Is a case flaky? (§12.5)

use super::special::beta_share;

/// Chance to pass between which a case is neither sound nor broken.
const BETWEEN: (f64, f64) = (0.05, 0.95);
/// How sure that has to be.
const SURE: f64 = 0.95;

/// Whether a case that passed and failed without a change is flaky: both were seen, and its chance to pass lies between 0.05 and
/// 0.95 with a probability of at least 0.95.
///
/// **Inputs**: passes and fails over unchanged trials. **Source**: §12.5: the posterior Beta(passes + ½, fails + ½).
///
/// ```
/// use scoregate::stats::is_flaky;
/// assert!(is_flaky(3, 2) && !is_flaky(5, 0) && !is_flaky(99, 1));
/// ```
pub fn is_flaky(passes: u64, fails: u64) -> bool {
    if passes == 0 || fails == 0 {
        return false;
    }
    let (a, b) = (passes as f64 + 0.5, fails as f64 + 0.5);
    let below = |x: f64| beta_share(a, b, x, 1.0 - x);
    below(BETWEEN.1) - below(BETWEEN.0) >= SURE
}

/// Chance that two trials of a case come out differently.
///
/// **Inputs**: passes and fails over unchanged trials, two at least. **Returns** the share of unlike pairs among all, in [0, 1];
/// `None` below two trials. **Source**: §18.1: twice the unbiased variance.
pub fn flip_rate(passes: u64, fails: u64) -> Option<f64> {
    let (passes, fails) = (passes as f64, fails as f64);
    let trials = passes + fails;
    (trials >= 2.0).then(|| 2.0 * passes * fails / (trials * (trials - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_always_ends_alike_is_not_flaky() {
        assert!(!is_flaky(20, 0) && !is_flaky(0, 20) && !is_flaky(0, 0));
        // One failure of many trials is rare, not flaky.
        assert!(is_flaky(15, 5) && !is_flaky(60, 1));
    }

    #[test]
    fn the_flip_rate_counts_unlike_pairs() {
        assert_eq!(flip_rate(1, 1), Some(1.0));
        assert_eq!(flip_rate(3, 2), Some(0.6));
        assert_eq!(flip_rate(4, 0), Some(0.0));
        assert_eq!(flip_rate(1, 0), None);
    }
}
