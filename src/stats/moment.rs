//! Mean, variance and covariance of plain numbers.

/// The mean; `None` of nothing.
pub(super) fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// Sample variance with n − 1; `None` below two numbers.
pub(super) fn variance(numbers: &[f64]) -> Option<f64> {
    covariance(numbers, numbers)
}

/// Sample covariance with n − 1; `None` below two pairs. Of rows of unequal length the common part counts.
pub(super) fn covariance(left: &[f64], right: &[f64]) -> Option<f64> {
    let n = left.len().min(right.len());
    if n < 2 {
        return None;
    }
    let (left, right) = (left.get(..n)?, right.get(..n)?);
    let (first, second) = (mean(left)?, mean(right)?);
    let sum: f64 = left.iter().zip(right).map(|(x, y)| (x - first) * (y - second)).sum();
    Some(sum / (n as f64 - 1.0))
}
