//! Bounds for a percentile by the ranks of a sample, whatever the distribution.

use super::binomial::binomial_masses;

/// Ranks (from 1) of the sorted sample that bound its percentile, each at level 1 − alpha.
///
/// **Inputs**: independent numbers, how many; the share `at` in (0, 1); alpha in (0, 0.5).
/// **Returns** (lower, upper); `None` where the sample is too small for that side.
/// **Source**: W. J. Conover, Practical Nonparametric Statistics, 3rd edition (1999), 3.2: the number of values below the percentile is
/// binomial.
pub fn percentile_ranks(n: u64, at: f64, alpha: f64) -> (Option<u64>, Option<u64>) {
    if n == 0 {
        return (None, None);
    }
    let masses = binomial_masses(n, at);
    // A value's rank is above the percentile where fewer values than that lie below it.
    let mut below = 0.0;
    let lower = masses.iter().take_while(|mass| {
        below += **mass;
        below <= alpha
    });
    let lower = Some(lower.count() as u64).filter(|rank| *rank >= 1);
    let mut above = 0.0;
    let upper = masses.iter().rev().take_while(|mass| {
        above += **mass;
        above <= alpha
    });
    let upper = (n + 1).checked_sub(upper.count() as u64).filter(|rank| *rank <= n);
    (lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // scipy.stats.binom: the median of 20 at 95 % a side lies from the 6th to the 15th value.
        assert_eq!(percentile_ranks(20, 0.5, 0.05), (Some(6), Some(15)));
        // 0.95^59 < 0.05 < 0.95^58.
        assert_eq!(percentile_ranks(58, 0.95, 0.05).1, None);
        assert_eq!(percentile_ranks(59, 0.95, 0.05).1, Some(59));
        assert_eq!(percentile_ranks(0, 0.5, 0.05), (None, None));
    }
}
