//! The true level, where a judge errs and people labelled a part (§18.3, §18.4).

use super::distribution::normal_quantile;
use super::moment::{covariance, mean, variance};

/// A level that is corrected for the judge's errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corrected {
    /// The corrected level.
    pub level: f64,
    pub standard_error: f64,
    /// Bounds at level 1 − alpha each.
    pub lower: f64,
    pub upper: f64,
}

/// How a binary judge did on outputs that people labelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeRates {
    /// q₁: share of the truly good outputs that the judge passes, in [0, 1].
    pub sensitivity: f64,
    /// Truly good outputs labelled, at least 1.
    pub good: u64,
    /// q₀: share of the truly bad outputs that the judge fails, in [0, 1].
    pub specificity: f64,
    /// Truly bad outputs labelled, at least 1.
    pub bad: u64,
}

/// The true pass rate behind a judge's pass rate.
///
/// **Inputs**: the judge's pass rate in [0, 1] over `n` ≥ 1 outputs; how it did on labelled ones; alpha in (0, 0.5).
/// **Returns** a rate and bounds clipped to [0, 1].
/// **Errors**: `None` where sensitivity + specificity ≤ 1 (such a judge says nothing), or where a count is 0.
/// **Source**: §18.3; W. J. Rogan and B. Gladen, Estimating prevalence from the results of a screening test, Am. J. Epidemiol. 107 (1978).
///
/// ```
/// use scoregate::stats::{JudgeRates, rogan_gladen};
/// let rates = JudgeRates { sensitivity: 0.92, good: 50, specificity: 0.85, bad: 40 };
/// assert!((rogan_gladen(0.8, 200, rates, 0.05).unwrap().level - 0.844_156).abs() < 1e-6);
/// ```
pub fn rogan_gladen(pass_rate: f64, n: u64, rates: JudgeRates, alpha: f64) -> Option<Corrected> {
    let JudgeRates { sensitivity, good, specificity, bad } = rates;
    let informed = sensitivity + specificity - 1.0;
    // NaN is no information either.
    if informed.is_nan() || informed <= 0.0 || n == 0 || good == 0 || bad == 0 {
        return None;
    }
    let level = ((pass_rate + specificity - 1.0) / informed).clamp(0.0, 1.0);
    let of_share = |share: f64, count: u64| share * (1.0 - share) / count as f64;
    let variance = of_share(pass_rate, n)
        + (1.0 - level) * (1.0 - level) * of_share(specificity, bad)
        + level * level * of_share(sensitivity, good);
    let standard_error = variance.sqrt() / informed;
    let reach = normal_quantile(1.0 - alpha) * standard_error;
    Some(Corrected { level, standard_error, lower: (level - reach).max(0.0), upper: (level + reach).min(1.0) })
}

/// The true mean from a few labels and many judge scores, whatever the judge's errors are.
///
/// **Inputs**: people's labels; the judge's scores of the same outputs, in the same order; the judge's scores of the outputs
/// without a label; all on the unit scale and finite; alpha in (0, 0.5).
/// **Returns** (mean with bounds that are not clipped, λ in [0, 1]: how much the judge is listened to).
/// **Errors**: `None` below two labels or two unlabelled outputs, or where labels and scores are not equally many.
/// **Source**: §18.4; A. N. Angelopoulos, J. C. Duchi and T. Zrnic, PPI++: efficient prediction-powered inference (2023).
pub fn prediction_powered_mean(
    labels: &[f64],
    of_labelled: &[f64],
    of_unlabelled: &[f64],
    alpha: f64,
) -> Option<(Corrected, f64)> {
    if labels.len() != of_labelled.len() {
        return None;
    }
    let (few, many) = (labels.len() as f64, of_unlabelled.len() as f64);
    let all: Vec<f64> = of_labelled.iter().chain(of_unlabelled).copied().collect();
    let of_all = variance(&all)?;
    let together = covariance(labels, of_labelled)?;
    let lambda = if of_all == 0.0 { 0.0 } else { (together / ((1.0 + few / many) * of_all)).clamp(0.0, 1.0) };
    let level = mean(labels)? + lambda * (mean(of_unlabelled)? - mean(of_labelled)?);
    let rest: Vec<f64> = labels.iter().zip(of_labelled).map(|(label, score)| label - lambda * score).collect();
    let standard_error = (variance(&rest)? / few + lambda * lambda * variance(of_unlabelled)? / many).sqrt();
    let reach = normal_quantile(1.0 - alpha) * standard_error;
    Some((Corrected { level, standard_error, lower: level - reach, upper: level + reach }, lambda))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judge_that_guesses_corrects_nothing() {
        let rates = |sensitivity, specificity| JudgeRates { sensitivity, good: 20, specificity, bad: 20 };
        assert_eq!(rogan_gladen(0.7, 100, rates(0.5, 0.5), 0.05), None);
        assert_eq!(rogan_gladen(0.7, 100, rates(f64::NAN, 0.9), 0.05), None);
        assert_eq!(rogan_gladen(0.7, 0, rates(0.9, 0.9), 0.05), None);
        assert!(rogan_gladen(0.7, 100, rates(0.9, 0.9), 0.05).is_some());
    }

    #[test]
    fn labels_without_scores_are_refused() {
        assert_eq!(prediction_powered_mean(&[1.0, 0.0], &[1.0], &[1.0, 0.0], 0.05), None);
        assert_eq!(prediction_powered_mean(&[1.0], &[1.0], &[1.0, 0.0], 0.05), None);
        assert_eq!(prediction_powered_mean(&[1.0, 0.0], &[1.0, 0.0], &[1.0], 0.05), None);
    }
}
