//! The special functions under the distributions: the logarithm of Γ, and the incomplete gamma and beta integrals.
//!
//! They, and everything else here that is not exact arithmetic, stand on `libm`, which is the same code on every system: the
//! standard library's `ln`, `exp` and `cos` are those of the C library and differ in the last digit from one to the next.

/// Terms before a series is given up; the slowest, near the middle of distributions with 10⁸ units, takes a tenth of it.
const MOST_TERMS: u32 = 200_000;
/// A change of this share is rounding.
const SETTLED: f64 = 2.0 * f64::EPSILON;
/// Stands in for a zero that would be divided by.
const TINY: f64 = 1e-300;

/// ln Γ(x) for x > 0.
pub(super) fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The regularised incomplete beta function I_x(a, b).
///
/// **Inputs**: a, b > 0; x in [0, 1] and `rest` = 1 − x, which the caller often knows to more digits than a subtraction gives.
/// **Returns** a share in [0, 1]; NaN where an input is NaN.
/// **Source**: continued fraction DLMF 8.17.22, evaluated by Lentz's method; the symmetry DLMF 8.17.4 where it converges slowly.
pub(super) fn beta_share(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    if x <= 0.0 || rest <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let scale = libm::exp(ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * libm::log(x) + b * libm::log(rest));
    let share = if x <= (a + 1.0) / (a + b + 2.0) {
        scale * beta_fraction(a, b, x) / a
    } else {
        1.0 - scale * beta_fraction(b, a, rest) / b
    };
    share.clamp(0.0, 1.0)
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut fraction = Fraction::new(1.0);
    fraction.step(-(a + b) * x / (a + 1.0), 1.0);
    for term in 1..MOST_TERMS {
        let m = f64::from(term);
        fraction.step(m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)), 1.0);
        let change = fraction.step(-(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)), 1.0);
        if (change - 1.0).abs() <= SETTLED {
            break;
        }
    }
    1.0 / fraction.value
}

/// The regularised upper incomplete gamma function Q(a, x).
///
/// **Inputs**: a > 0, x ≥ 0. **Returns** a share in [0, 1]; NaN where an input is NaN.
/// **Source**: the series DLMF 8.7.1 below a + 1, the continued fraction DLMF 8.9.2 from there on.
pub(super) fn gamma_tail(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let scale = libm::exp(a * libm::log(x) - x - ln_gamma(a));
    let share = if x < a + 1.0 { 1.0 - scale * gamma_series(a, x) } else { scale * gamma_fraction(a, x) };
    share.clamp(0.0, 1.0)
}

fn gamma_series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    for step in 1..MOST_TERMS {
        term *= x / (a + f64::from(step));
        sum += term;
        if term <= sum * SETTLED {
            break;
        }
    }
    sum
}

fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut fraction = Fraction::new(x + 1.0 - a);
    for step in 1..MOST_TERMS {
        let m = f64::from(step);
        let change = fraction.step(-m * (m - a), x + 2.0 * m + 1.0 - a);
        if (change - 1.0).abs() <= SETTLED {
            break;
        }
    }
    1.0 / fraction.value
}

/// A continued fraction b₀ + a₁/(b₁ + a₂/(b₂ + …)), from the front.
///
/// **Source**: Lentz's method as modified by Thompson and Barnett, J. Comput. Phys. 64 (1986).
struct Fraction {
    value: f64,
    numerator: f64,
    denominator: f64,
}

impl Fraction {
    fn new(first: f64) -> Self {
        Self { value: first, numerator: first, denominator: 0.0 }
    }

    /// Takes in a/(b + …) and returns the factor by which the value changed.
    fn step(&mut self, a: f64, b: f64) -> f64 {
        let safe = |x: f64| if x.abs() < TINY { TINY } else { x };
        self.denominator = 1.0 / safe(b + a * self.denominator);
        self.numerator = safe(b + a / self.numerator);
        let change = self.numerator * self.denominator;
        self.value *= change;
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) {
        assert!((left - right).abs() <= 1e-13 * right.abs().max(1e-3), "{left} and {right}");
    }

    #[test]
    fn integrals_equal_their_closed_forms() {
        for x in [1e-9, 0.01, 0.3, 0.5, 0.77, 0.999] {
            let y = 1.0 - x;
            near(beta_share(1.0, 1.0, x, y), x);
            near(beta_share(3.0, 1.0, x, y), x * x * x);
            near(beta_share(2.0, 2.0, x, y), x * x * (3.0 - 2.0 * x));
            near(beta_share(0.5, 0.5, x, y), std::f64::consts::FRAC_2_PI * libm::asin(x.sqrt()));
        }
        for x in [1e-9, 0.4, 1.0, 1.9, 2.1, 7.0, 300.0] {
            near(gamma_tail(1.0, x), libm::exp(-x));
            near(gamma_tail(2.0, x), (1.0 + x) * libm::exp(-x));
            near(gamma_tail(0.5, x), libm::erfc(x.sqrt()));
        }
    }

    #[test]
    fn the_edges_are_defined() {
        assert_eq!((beta_share(2.0, 3.0, 0.0, 1.0), beta_share(2.0, 3.0, 1.0, 0.0)), (0.0, 1.0));
        assert_eq!((gamma_tail(2.0, 0.0), gamma_tail(2.0, 1e6)), (1.0, 0.0));
        assert!(beta_share(f64::NAN, 3.0, 0.5, 0.5).is_nan() && gamma_tail(2.0, f64::NAN).is_nan());
    }

    #[test]
    fn large_samples_stay_accurate() {
        for n in [1e3, 1e4, 1e5] {
            assert!((beta_share(n, n, 0.5, 0.5) - 0.5).abs() < 1e-9, "{n}");
        }
    }
}
