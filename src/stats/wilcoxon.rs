//! Wilcoxon's signed rank test: for reports and tools. No verdict reads it, for it tests another quantity than the mean (§22.2).

use super::distribution::normal_cdf;

/// What becomes of differences that are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    /// Left out before ranking.
    Dropped,
    /// Ranked with the others, then left out.
    Pratt,
}

/// Result of the signed rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wilcoxon {
    /// Sum of the ranks of the positive differences.
    pub positive: f64,
    /// Small means worse.
    pub p_lower: f64,
    pub p_two: f64,
}

/// Beyond so many differences the normal approximation is as good as the exact distribution.
const MOST_EXACT: usize = 500;

/// Wilcoxon's signed rank test of paired differences.
///
/// **Inputs**: finite differences, any unit; what becomes of zeros.
/// **Returns** p = 1 where nothing differs. Exact without zeros and ties up to 500 differences; else the normal approximation,
/// corrected for ties, without a correction for continuity.
/// **Source**: §22.2; F. Wilcoxon, Biometrics Bulletin 1 (1945); J. W. Pratt, J. Am. Statist. Assoc. 54 (1959).
pub fn wilcoxon(differences: &[f64], zeros: Zeros) -> Wilcoxon {
    let mut ordered: Vec<f64> = differences.to_vec();
    if zeros == Zeros::Dropped {
        ordered.retain(|difference| *difference != 0.0);
    }
    ordered.sort_by(|left, right| left.abs().total_cmp(&right.abs()));
    let ranked = Ranked::of(&ordered);
    if ranked.ties == 0.0 && ranked.zeros == 0 && ordered.len() <= MOST_EXACT && !ordered.is_empty() {
        return exact(ranked.positive, ordered.len());
    }
    approximate(&ranked, ordered.len())
}

struct Ranked {
    positive: f64,
    zeros: usize,
    /// Σ t(t² − 1) over the groups of equal magnitudes that are not 0.
    ties: f64,
}

impl Ranked {
    /// Of differences in ascending magnitude; equal magnitudes share their mean rank.
    fn of(ordered: &[f64]) -> Self {
        let mut ranked = Self { positive: 0.0, zeros: 0, ties: 0.0 };
        let mut before = 0;
        for group in ordered.chunk_by(|left, right| left.abs() == right.abs()) {
            let size = group.len() as f64;
            let rank = before as f64 + (size + 1.0) / 2.0;
            before += group.len();
            if group.first().is_some_and(|first| *first == 0.0) {
                ranked.zeros = group.len();
                continue;
            }
            ranked.positive += rank * group.iter().filter(|difference| **difference > 0.0).count() as f64;
            ranked.ties += size * (size * size - 1.0);
        }
        ranked
    }
}

/// All 2^n sign choices, counted as the ways to write each sum with distinct ranks.
fn exact(positive: f64, n: usize) -> Wilcoxon {
    let mut shares = vec![1.0_f64];
    for rank in 1..=n {
        let mut next = vec![0.0; shares.len() + rank];
        for (at, share) in shares.iter().enumerate() {
            for to in [at, at + rank] {
                if let Some(slot) = next.get_mut(to) {
                    *slot += 0.5 * share;
                }
            }
        }
        shares = next;
    }
    let at = positive as usize;
    let lower: f64 = shares.iter().take(at + 1).sum();
    let upper: f64 = shares.iter().skip(at).sum();
    Wilcoxon { positive, p_lower: lower.min(1.0), p_two: (2.0 * lower.min(upper)).min(1.0) }
}

fn approximate(ranked: &Ranked, count: usize) -> Wilcoxon {
    let spread = |n: f64| n * (n + 1.0) * (2.0 * n + 1.0);
    let (n, zeros) = (count as f64, ranked.zeros as f64);
    let centre = (n * (n + 1.0) - zeros * (zeros + 1.0)) / 4.0;
    let variance = (spread(n) - spread(zeros) - 0.5 * ranked.ties) / 24.0;
    if variance <= 0.0 {
        return Wilcoxon { positive: ranked.positive, p_lower: 1.0, p_two: 1.0 };
    }
    let z = (ranked.positive - centre) / variance.sqrt();
    Wilcoxon { positive: ranked.positive, p_lower: normal_cdf(z), p_two: (2.0 * normal_cdf(-z.abs())).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_differs_is_no_evidence() {
        assert_eq!(wilcoxon(&[], Zeros::Dropped).p_lower, 1.0);
        assert_eq!(wilcoxon(&[0.0; 5], Zeros::Pratt).p_two, 1.0);
    }

    #[test]
    fn five_losses_give_the_textbook_value() {
        let result = wilcoxon(&[-1.0, -2.0, -3.0, -4.0, -5.0], Zeros::Dropped);
        assert_eq!((result.positive, result.p_lower, result.p_two), (0.0, 1.0 / 32.0, 1.0 / 16.0));
    }
}
