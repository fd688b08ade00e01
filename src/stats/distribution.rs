//! Normal, Student t, chi-squared and beta distributions, accurate to 1e-10 (§19.3).
//!
//! Quantiles are found by Newton's method on the tails.

use super::special::{beta_share, gamma_tail, ln_gamma};

/// From 4.5e-4 away each step squares the error: three reach the last digits even in the far tails, and one is spare.
const NEWTON_STEPS: usize = 4;

/// P(Z ≤ x) of the standard normal distribution; any x.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The x with P(Z ≤ x) = p.
///
/// **Inputs**: p in (0, 1); p ≤ 0 gives −∞, p ≥ 1 gives +∞, NaN gives NaN.
/// **Source**: inverse of [`normal_cdf`] by Newton's method from Abramowitz and Stegun 26.2.23.
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() {
        return f64::NAN;
    }
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let mut x = rough_normal_quantile(p);
    for _ in 0..NEWTON_STEPS {
        let density = libm::exp(-0.5 * x * x) / std::f64::consts::TAU.sqrt();
        // In the upper half the complement keeps the digits.
        let error = if x > 0.0 { (1.0 - p) - normal_cdf(-x) } else { normal_cdf(x) - p };
        if density < f64::MIN_POSITIVE {
            break;
        }
        x -= error / density;
    }
    x
}

/// To 4.5e-4, for p in (0, 1).
fn rough_normal_quantile(p: f64) -> f64 {
    let t = (-2.0 * libm::log(p.min(1.0 - p))).sqrt();
    let above = (0.010_328 * t + 0.802_853) * t + 2.515_517;
    let below = ((0.001_308 * t + 0.189_269) * t + 1.432_788) * t + 1.0;
    let size = t - above / below;
    if p < 0.5 { -size } else { size }
}

/// P(T ≤ x) of Student's t distribution.
///
/// **Inputs**: any x; degrees of freedom > 0 (up to a few thousand; larger ones are used by quantile only).
pub fn student_t_cdf(x: f64, freedom: f64) -> f64 {
    if freedom.is_nan() || freedom <= 0.0 || x.is_nan() {
        return f64::NAN;
    }
    let square = x * x;
    if square.is_infinite() {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let tail = 0.5 * beta_share(0.5 * freedom, 0.5, freedom / (freedom + square), square / (freedom + square));
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// From here on the expansion of the quantile in powers of 1/ν is exact to the last digits.
const LARGE_FREEDOM: f64 = 1000.0;

/// The x with P(T ≤ x) = p of Student's t distribution.
///
/// **Inputs**: p in (0, 1), as in [`normal_quantile`] outside; degrees of freedom ≥ 1.
/// **Source**: bisection and Newton on [`student_t_cdf`]; from 1000 degrees on Abramowitz and Stegun 26.7.5.
pub fn student_t_quantile(p: f64, freedom: f64) -> f64 {
    let z = normal_quantile(p);
    if !z.is_finite() || freedom.is_nan() || freedom <= 0.0 {
        return z;
    }
    if p == 0.5 {
        return 0.0;
    }
    if freedom >= LARGE_FREEDOM {
        return large_freedom_quantile(z, freedom);
    }
    if p > 0.5 {
        // The tail below zero keeps the digits.
        return -student_t_lower(1.0 - p, freedom);
    }
    student_t_lower(p, freedom)
}

fn large_freedom_quantile(z: f64, freedom: f64) -> f64 {
    let z2 = z * z;
    let first = z * (z2 + 1.0) / 4.0;
    let second = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let third = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let fourth = z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0;
    z + (first + (second + (third + fourth / freedom) / freedom) / freedom) / freedom
}

/// For p < ½.
fn student_t_lower(p: f64, freedom: f64) -> f64 {
    let log_scale =
        ln_gamma(0.5 * (freedom + 1.0)) - ln_gamma(0.5 * freedom) - 0.5 * libm::log(freedom * std::f64::consts::PI);
    let density = |x: f64| libm::exp(log_scale - 0.5 * (freedom + 1.0) * libm::log1p(x * x / freedom));
    let mut low = -1.0;
    while student_t_cdf(low, freedom) > p && low > -1e300 {
        low *= 2.0;
    }
    solve(low, 0.0, |x| student_t_cdf(x, freedom) - p, density)
}

/// P(X ≥ x) of the chi-squared distribution; x ≥ 0, degrees of freedom > 0.
pub fn chi_squared_tail(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    gamma_tail(0.5 * freedom, 0.5 * x)
}

/// The x with I_x(a, b) = p of the beta distribution.
///
/// **Inputs**: p in [0, 1]; a, b > 0.
/// **Source**: bisection and Newton on the regularised incomplete beta function.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { 0.0 } else { 1.0 };
    }
    let log_scale = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    let density = |x: f64| libm::exp(log_scale + (a - 1.0) * libm::log(x) + (b - 1.0) * libm::log1p(-x));
    solve(0.0, 1.0, |x| beta_share(a, b, x, 1.0 - x) - p, density)
}

/// The root of a rising function in (low, high): Newton's steps where they stay inside the bracket, halves of it elsewhere.
fn solve(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64, slope: impl Fn(f64) -> f64) -> f64 {
    let mut x = 0.5 * (low + high);
    for _ in 0..200 {
        let error = value(x);
        if error > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let step = x - error / slope(x);
        let next = if step > low && step < high { step } else { 0.5 * (low + high) };
        if (next - x).abs() <= 1e-15 * x.abs().max(1e-3) {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) {
        assert!((left - right).abs() <= 1e-10, "{left} and {right}");
    }

    #[test]
    fn quantiles_equal_published_values() {
        near(normal_quantile(0.95), 1.644_853_626_951_472_7);
        near(normal_quantile(0.8), 0.841_621_233_572_914_3);
        near(normal_quantile(0.999), 3.090_232_306_167_813_5);
        near(normal_quantile(1e-15), -7.941_345_326_170_998);
        near(student_t_quantile(0.95, 1.0), 6.313_751_514_675_043);
        near(student_t_quantile(0.95, 10.0), 1.812_461_122_810_733_5);
        near(student_t_quantile(0.975, 4.0), 2.776_445_105_197_798_7);
    }

    #[test]
    fn the_two_ways_to_a_t_quantile_meet() {
        for p in [0.001, 0.0125, 0.05, 0.3, 0.6, 0.96, 0.999] {
            let below = student_t_quantile(p, 999.0);
            near(below, large_freedom_quantile(normal_quantile(p), 999.0));
        }
    }

    #[test]
    fn a_quantile_and_its_tail_are_inverse() {
        for p in [1e-9, 1e-4, 0.01, 0.2, 0.5, 0.77, 0.99, 0.999_999] {
            near(normal_cdf(normal_quantile(p)), p);
            for freedom in [1.0, 2.0, 4.0, 9.0, 79.0, 900.0] {
                near(student_t_cdf(student_t_quantile(p, freedom), freedom), p);
            }
            for (a, b) in [(1.0, 1.0), (3.0, 8.0), (990.0, 11.0), (2.0, 5.5)] {
                let x = beta_quantile(p, a, b);
                near(beta_share(a, b, x, 1.0 - x), p);
            }
        }
    }

    #[test]
    fn the_edges_are_defined() {
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(student_t_quantile(0.5, 3.0), 0.0);
        assert_eq!(beta_quantile(0.0, 1.0, 1.0), 0.0);
        assert_eq!(chi_squared_tail(0.0, 3.0), 1.0);
        near(chi_squared_tail(9.487_729_036_781_154, 4.0), 0.05);
    }
}
