//! Student's paired t and its clustered standard error: for reports and tools, no verdict reads them (§22.1, §22.3).

use super::distribution::student_t_cdf;
use super::moment::{mean, variance};

/// Result of the paired t test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedT {
    /// `None` where nothing varies.
    pub t: Option<f64>,
    /// P(T ≤ t): small means worse.
    pub p_lower: f64,
    pub p_two: f64,
}

/// Student's t test of paired differences.
///
/// **Inputs**: finite differences, any unit.
/// **Returns** p = 1 below two differences; without variance p = 1 where the mean is not below 0 (two-sided: where it is 0), else 0.
/// **Source**: §22.1; Student, The probable error of a mean, Biometrika 6 (1908).
pub fn paired_t_test(differences: &[f64]) -> PairedT {
    let nothing = PairedT { t: None, p_lower: 1.0, p_two: 1.0 };
    let (Some(mean), Some(variance)) = (mean(differences), variance(differences)) else { return nothing };
    if differences.iter().all(|difference| Some(difference) == differences.first()) {
        let p = |holds: bool| if holds { 1.0 } else { 0.0 };
        return PairedT { t: None, p_lower: p(mean >= 0.0), p_two: p(mean == 0.0) };
    }
    let n = differences.len() as f64;
    let t = mean / (variance / n).sqrt();
    let freedom = n - 1.0;
    PairedT { t: Some(t), p_lower: student_t_cdf(t, freedom), p_two: (2.0 * student_t_cdf(-t.abs(), freedom)).min(1.0) }
}

/// Standard error of a mean whose values depend on each other within clusters.
///
/// **Inputs**: values and the cluster of each, equally long, in any order.
/// **Returns** ≥ 0, with the factor G/(G − 1). **Errors**: `None` below two clusters, or where the lengths differ.
/// **Source**: §22.3; K.-Y. Liang and S. L. Zeger, Longitudinal data analysis using generalized linear models, Biometrika 73 (1986).
pub fn clustered_standard_error(values: &[f64], clusters: &[usize]) -> Option<f64> {
    let mean = mean(values)?;
    let mut sums: std::collections::BTreeMap<usize, f64> = std::collections::BTreeMap::new();
    for (value, cluster) in values.iter().zip(clusters) {
        *sums.entry(*cluster).or_default() += value - mean;
    }
    if sums.len() < 2 || values.len() != clusters.len() {
        return None;
    }
    let count = sums.len() as f64;
    let total: f64 = sums.values().map(|sum| sum * sum).sum();
    Some((total * count / (count - 1.0)).sqrt() / values.len() as f64)
}
