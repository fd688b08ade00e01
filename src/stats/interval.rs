//! Hall's interval for a mean, and the smallest sample that can vouch for a margin (§6).

use super::distribution::student_t_quantile;

/// Mean, standard deviation and skewness of units, with two pseudo-units at ±h in the variance.
struct Moments {
    mean: f64,
    sum_of_squares: f64,
    skewness: f64,
}

fn moments(units: &[f64], h: f64) -> Moments {
    let n = units.len() as f64;
    let mean = units.iter().sum::<f64>() / n;
    let (mut squares, mut cubes) = (0.0, 0.0);
    for unit in units {
        let off = unit - mean;
        squares += off * off;
        cubes += off * off * off;
    }
    let sum_of_squares = squares + 2.0 * h * h;
    let variance = sum_of_squares / n;
    let skewness = if sum_of_squares > 0.0 { cubes / n / (variance * variance.sqrt()) } else { 0.0 };
    Moments { mean, sum_of_squares, skewness }
}

/// Standard deviation of units with the variance floor, so that it is never 0 for discrete scores.
///
/// **Inputs**: at least two units, unit scale; `h` ≥ 0 (§6.2). **Returns** ≥ 0; `None` below two units.
/// **Source**: §6.1, §17.1.
pub fn spread(units: &[f64], h: f64) -> Option<f64> {
    if units.len() < 2 {
        return None;
    }
    Some((moments(units, h).sum_of_squares / (units.len() as f64 - 1.0)).sqrt())
}

/// Lower confidence bound for the mean of units, corrected for skewness.
///
/// **Inputs**: at least two units on the unit scale; `h` ≥ 0, the size of the variance floor (§6.2); `alpha` in (0, 0.5);
/// `run_variance` ≥ 0, extra variance of the mean from run to run (§15.3).
/// **Returns** a bound that the mean exceeds with probability 1 − alpha, not clipped. **Errors**: `None` below two units.
/// **Source**: §6.1; P. Hall, On the removal of skewness by transformation, J. R. Statist. Soc. B 54 (1992).
pub fn hall_bound(units: &[f64], h: f64, alpha: f64, run_variance: f64) -> Option<f64> {
    let n = units.len() as f64;
    if units.len() < 2 {
        return None;
    }
    let Moments { mean, sum_of_squares, skewness } = moments(units, h);
    if sum_of_squares == 0.0 {
        return Some(mean);
    }
    let variance = sum_of_squares / (n - 1.0);
    let quantile = student_t_quantile(1.0 - alpha, n - 1.0);
    let root = n.sqrt();
    let steps = if skewness.abs() < 1e-8 {
        quantile
    } else {
        let stretched = 1.0 + skewness / root * (quantile - skewness / (6.0 * root));
        3.0 * root / skewness * (libm::cbrt(stretched) - 1.0)
    };
    Some(mean - steps * (variance / n + run_variance).sqrt())
}

/// Both bounds, each at level 1 − alpha, clipped to `[floor, ceiling]`.
///
/// **Inputs** as [`hall_bound`]; changes are clipped to [−1, 1], levels to [0, 1].
/// **Returns** (lower, upper). **Errors**: `None` below two units. **Source**: §6.1, §6.4.
pub fn mean_interval(units: &[f64], h: f64, alpha: f64, run_variance: f64, clip: (f64, f64)) -> Option<(f64, f64)> {
    let lower = hall_bound(units, h, alpha, run_variance)?;
    let mirrored: Vec<f64> = units.iter().map(|unit| -unit).collect();
    let upper = -hall_bound(&mirrored, h, alpha, run_variance)?;
    Some((lower.max(clip.0), upper.min(clip.1)))
}

/// The smallest number of units for which "not worse by more than the margin" may be claimed.
///
/// **Inputs**: margin in (0, 1), unit scale; alpha in (0, 1). **Returns** at least 1.
/// **Source**: §6.3: with fewer units a break of that share of all cases could have been missed entirely.
pub fn smallest_certifying_n(margin: f64, alpha: f64) -> u64 {
    (libm::log(alpha) / libm::log(1.0 - margin) - 1e-12).ceil().max(1.0) as u64
}
