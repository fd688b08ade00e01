//! Bounds for a share of passing cases (§11.1, §11.2).

use super::distribution::{beta_quantile, normal_quantile};

/// Wilson's bounds, each at level 1 − alpha.
///
/// **Inputs**: `successes` ≤ `n`; alpha in (0, 0.5). **Returns** (lower, upper) in [0, 1]; (0, 1) for n = 0.
/// **Source**: §11.1; E. B. Wilson, J. Am. Statist. Assoc. 22 (1927).
pub fn wilson(successes: u64, n: u64, alpha: f64) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let z = normal_quantile(1.0 - alpha);
    let (x, size) = (successes as f64, n as f64);
    let share = x / size;
    let scale = 1.0 + z * z / size;
    let centre = (share + z * z / (2.0 * size)) / scale;
    let half = z * (share * (1.0 - share) / size + z * z / (4.0 * size * size)).sqrt() / scale;
    let lower = if successes > 0 { (centre - half).max(0.0) } else { 0.0 };
    let upper = if successes < n { (centre + half).min(1.0) } else { 1.0 };
    (lower, upper)
}

/// Clopper and Pearson's bounds, each at level 1 − alpha at least.
///
/// **Inputs**, **Returns** as [`wilson`]. **Source**: §11.2; Clopper and Pearson, Biometrika 26 (1934).
pub fn clopper_pearson(successes: u64, n: u64, alpha: f64) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let (x, size) = (successes as f64, n as f64);
    let lower = if successes == 0 { 0.0 } else { beta_quantile(alpha, x, size - x + 1.0) };
    let upper = if successes >= n { 1.0 } else { beta_quantile(1.0 - alpha, x + 1.0, size - x) };
    (lower, upper)
}
