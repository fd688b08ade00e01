//! Scores as exact decimals, so that ties are ties and "equal to the limit" is equal.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// One unit of a decimal: a score `s` is held as `s · SCALE`.
pub const SCALE: i128 = 1_000_000_000_000_000_000;

/// Decimal places that [`SCALE`] keeps.
const PLACES: i32 = 18;

/// Beyond this no score is accepted: sums of a million of them must fit.
const LARGEST: f64 = 1e12;

/// The decimal number that a float stands for, times [`SCALE`].
///
/// **Inputs**: any float; it stands for the shortest decimal that reads back as it (what a person wrote: `0.1` is one tenth).
/// **Returns** that decimal times 10^18; digits beyond the 18th place are rounded half to even.
/// **Errors**: `None` for NaN, infinities and magnitudes above 10^12.
/// **Source**: §1.3; shortest round-trip digits as Rust prints them.
pub fn decimal(value: f64) -> Option<i128> {
    if !value.is_finite() || value.abs() > LARGEST {
        return None;
    }
    match short(value) {
        Some(micro) => Some(i128::from(micro) * MICRO),
        None => digits_of(value),
    }
}

/// One unit of a score rounded to six places.
const MICRO: i128 = SCALE / 1_000_000;

/// The score times 10^6 where it has at most six places: two different short decimals never share a float, so dividing back proves the
/// digits.
fn short(value: f64) -> Option<i64> {
    let micro = (value * 1e6).round();
    (micro.abs() < 9e15 && micro / 1e6 == value).then_some(micro as i64)
}

/// The decimal times [`SCALE`], and the same rounded to six places, times 10^6.
fn decimal_and_micro(value: f64) -> Option<(i128, i64)> {
    if let Some(micro) = short(value) {
        return Some((i128::from(micro) * MICRO, micro));
    }
    let score = decimal(value)?;
    Some((score, i64::try_from(divide_half_even(score, MICRO)).ok()?))
}

/// The slow way: read the shortest digits from the text `d.ddde±x`.
fn digits_of(value: f64) -> Option<i128> {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    let shift = exponent - i32::try_from(part.len()).ok()? + PLACES;
    let magnitude = match u32::try_from(shift) {
        Ok(up) => digits.checked_mul(10_i128.checked_pow(up)?)?,
        Err(_) => match 10_i128.checked_pow(shift.unsigned_abs()) {
            Some(down) => divide_half_even(digits, down),
            None => 0,
        },
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// `number / divisor` to the nearest integer, ties to the even one; `divisor > 0`.
fn divide_half_even(number: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (number.div_euclid(divisor), number.rem_euclid(divisor));
    match (rest * 2).cmp(&divisor) {
        Ordering::Less => quotient,
        Ordering::Greater => quotient + 1,
        Ordering::Equal => quotient + quotient.rem_euclid(2),
    }
}

/// The score of one case: the mean of its valid trials, kept as sum and count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseMean {
    /// Sum of the trials' scores, times [`SCALE`].
    sum: i128,
    /// The same with every score rounded to six places first, times 10^6: what comparisons use (§1.3). 64 bits hold sums up to 9·10^12,
    /// and there are as many of these as a run has scores.
    micro: i64,
    trials: NonZeroU32,
}

impl CaseMean {
    /// The mean of `scores` in the metric's own scale.
    ///
    /// **Errors**: `None` where there is no score, or one is no decimal ([`decimal`]).
    /// **Source**: §2.1.
    pub fn of(scores: &[f64]) -> Option<Self> {
        let (mut sum, mut rounded) = (0_i128, 0_i64);
        for score in scores {
            let (score, micro) = decimal_and_micro(*score)?;
            sum = sum.checked_add(score)?;
            rounded = rounded.checked_add(micro)?;
        }
        let trials = NonZeroU32::new(u32::try_from(scores.len()).ok()?)?;
        Some(Self { sum, micro: rounded, trials })
    }

    /// Trials in it, at least 1.
    pub fn trials(self) -> u32 {
        self.trials.get()
    }

    /// The sum of the rounded scores, times 10^6.
    pub(super) fn micro(self) -> i128 {
        i128::from(self.micro)
    }

    /// The mean as an exact number.
    pub fn exact(self) -> Ratio {
        Ratio { numerator: self.sum, denominator: SCALE * i128::from(self.trials.get()) }
    }

    /// The mean as the nearest float.
    pub fn value(self) -> f64 {
        self.exact().value()
    }
}

/// An exact fraction with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    numerator: i128,
    denominator: i128,
}

impl Ratio {
    /// `numerator / denominator`; `None` unless the denominator is positive.
    pub fn new(numerator: i128, denominator: i128) -> Option<Self> {
        (denominator > 0).then_some(Self { numerator, denominator })
    }

    /// The decimal that `value` stands for.
    pub fn decimal(value: f64) -> Option<Self> {
        Some(Self { numerator: decimal(value)?, denominator: SCALE })
    }

    /// Exact comparison.
    ///
    /// Never overflows: whole parts first, then the reciprocals of what remains (continued fractions).
    pub fn compare(self, other: Self) -> Ordering {
        let (mut left, mut right) = (self, other);
        loop {
            let whole_left = left.numerator.div_euclid(left.denominator);
            let whole_right = right.numerator.div_euclid(right.denominator);
            if whole_left != whole_right {
                return whole_left.cmp(&whole_right);
            }
            let rest_left = left.numerator.rem_euclid(left.denominator);
            let rest_right = right.numerator.rem_euclid(right.denominator);
            match (rest_left, rest_right) {
                (0, 0) => return Ordering::Equal,
                (0, _) => return Ordering::Less,
                (_, 0) => return Ordering::Greater,
                // a/b < c/d exactly where d/c < b/a.
                _ => {
                    let next = Self { numerator: right.denominator, denominator: rest_right };
                    right = Self { numerator: left.denominator, denominator: rest_left };
                    left = next;
                }
            }
        }
    }

    /// The difference; `None` where it does not fit.
    pub fn minus(self, other: Self) -> Option<Self> {
        let (left, right) = (self.reduced(), other.reduced());
        let common = gcd(left.denominator, right.denominator).max(1);
        let (by_left, by_right) = (right.denominator / common, left.denominator / common);
        let numerator = left.numerator.checked_mul(by_left)?.checked_sub(right.numerator.checked_mul(by_right)?)?;
        Self::new(numerator, left.denominator.checked_mul(by_left)?)
    }

    /// The product; `None` where it does not fit.
    pub fn times(self, other: Self) -> Option<Self> {
        let (left, right) = (self.reduced(), other.reduced());
        // Crosswise first, so that little is left to multiply.
        let left_over = gcd(left.numerator, right.denominator).max(1);
        let right_over = gcd(right.numerator, left.denominator).max(1);
        let numerator = (left.numerator / left_over).checked_mul(right.numerator / right_over)?;
        Self::new(numerator, (left.denominator / right_over).checked_mul(right.denominator / left_over)?)
    }

    /// The nearest float (to the last bit where numerator and denominator are short).
    pub fn value(self) -> f64 {
        let reduced = self.reduced();
        reduced.numerator as f64 / reduced.denominator as f64
    }

    fn reduced(self) -> Self {
        let common = gcd(self.numerator, self.denominator).max(1);
        Self { numerator: self.numerator / common, denominator: self.denominator / common }
    }

    /// Decimal digits, cut (not rounded) after `places`: what stands on one side of a limit stays there.
    pub fn digits(self, places: u32) -> String {
        let negative = self.numerator < 0;
        let mut rest = self.numerator.unsigned_abs();
        let denominator = self.denominator.unsigned_abs();
        let mut text = format!("{}{}", if negative { "-" } else { "" }, rest / denominator);
        rest %= denominator;
        for place in 0..places {
            if place == 0 {
                text.push('.');
            }
            // A denominator above 3.4e37 cannot be multiplied by ten; no such digit is ever shown.
            let Some(ten) = rest.checked_mul(10) else { break };
            text.push(char::from(b'0' + u8::try_from(ten / denominator).unwrap_or(0)));
            rest = ten % denominator;
        }
        text
    }
}

/// The mean of several cases, every case weighing the same.
///
/// **Inputs**: at least one case mean, in any order and with any numbers of trials.
/// **Returns** the exact mean. **Errors**: `None` for no cases, or where the sum does not fit into 127 bits even with nine
/// decimal places.
/// **Source**: §4.3.
pub fn total<'a>(means: impl IntoIterator<Item = &'a CaseMean>) -> Option<Ratio> {
    // Cases with equally many trials share a denominator: few of them are left to bring together.
    let mut sums: BTreeMap<u32, i128> = BTreeMap::new();
    let mut cases: i128 = 0;
    for mean in means {
        let sum = sums.entry(mean.trials.get()).or_default();
        *sum = sum.checked_add(mean.sum)?;
        cases += 1;
    }
    if cases == 0 {
        return None;
    }
    [SCALE, 1_000_000_000].into_iter().find_map(|scale| mean_of(&sums, cases, scale))
}

fn mean_of(sums: &BTreeMap<u32, i128>, cases: i128, scale: i128) -> Option<Ratio> {
    let mut common: i128 = 1;
    for trials in sums.keys() {
        let trials = i128::from(*trials);
        common = common.checked_mul(trials / gcd(common, trials).max(1))?;
    }
    let mut numerator: i128 = 0;
    for (trials, sum) in sums {
        let sum = divide_half_even(*sum, SCALE / scale);
        numerator = numerator.checked_add(sum.checked_mul(common / i128::from(*trials))?)?;
    }
    Ratio::new(numerator, common.checked_mul(cases)?.checked_mul(scale)?)
}

/// Greatest common divisor of the magnitudes; `gcd(0, 0) = 0`.
pub(super) fn gcd(left: i128, right: i128) -> i128 {
    let (mut left, mut right) = (left.unsigned_abs(), right.unsigned_abs());
    // Division is many times faster with the processor's own width.
    if let (Ok(mut left), Ok(mut right)) = (u64::try_from(left), u64::try_from(right)) {
        while right != 0 {
            (left, right) = (right, left % right);
        }
        return i128::from(left);
    }
    while right != 0 {
        (left, right) = (right, left % right);
    }
    i128::try_from(left).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: i128, denominator: i128) -> Ratio {
        Ratio::new(numerator, denominator).unwrap()
    }

    #[test]
    fn a_float_stands_for_the_decimal_that_was_written() {
        assert_eq!(decimal(0.1), Some(SCALE / 10));
        assert_eq!(decimal(-1.25), Some(-SCALE * 5 / 4));
        assert_eq!(decimal(0.123_456_789_012), Some(123_456_789_012_000_000));
        assert_eq!(decimal(1.0 / 3.0), Some(333_333_333_333_333_300));
        assert_eq!(decimal(1e-300), Some(0));
        assert_eq!(decimal(f64::NAN), None);
        assert_eq!(decimal(f64::INFINITY), None);
        assert_eq!(decimal(1e13), None);
    }

    #[test]
    fn the_fast_way_and_the_slow_way_agree() {
        for step in -200_000..200_000_i32 {
            let value = f64::from(step) / 1e5;
            assert_eq!(decimal(value), digits_of(value), "{value}");
        }
    }

    #[test]
    fn rounding_is_half_to_even() {
        let micro = |value| CaseMean::of(&[value]).unwrap().micro();
        assert_eq!(micro(0.000_000_5), 0);
        assert_eq!(micro(0.000_001_5), 2);
        assert_eq!(micro(-0.000_000_5), 0);
        assert_eq!(micro(0.123_456_7), 123_457);
    }

    #[test]
    fn ratios_compare_exactly_whatever_their_size() {
        assert_eq!(ratio(1, 3).compare(ratio(2, 6)), Ordering::Equal);
        assert_eq!(ratio(-1, 3).compare(ratio(-1, 4)), Ordering::Less);
        let big = i128::MAX / 2;
        assert_eq!(ratio(big, big - 1).compare(ratio(big - 1, big - 2)), Ordering::Less);
        assert_eq!(ratio(7, 2).compare(ratio(3, 1)), Ordering::Greater);
    }

    #[test]
    fn means_of_unequal_trials_are_exact() {
        let means = [CaseMean::of(&[1.0, 0.0, 0.0]).unwrap(), CaseMean::of(&[0.1]).unwrap()];
        assert_eq!(total(&means).unwrap().compare(ratio(13, 60)), Ordering::Equal);
        assert_eq!(total(&[]), None);
    }

    #[test]
    fn a_mean_prints_as_a_person_would_write_it() {
        let means: Vec<CaseMean> = [0.9, 0.8, 0.9, 0.8].iter().map(|score| CaseMean::of(&[*score]).unwrap()).collect();
        assert_eq!(total(&means).unwrap().value(), 0.85);
        assert_eq!(ratio(79_996, 100_000).digits(3), "0.799");
        assert_eq!(ratio(-1, 8).digits(2), "-0.12");
    }
}
