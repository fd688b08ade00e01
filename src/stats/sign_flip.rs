//! The mean guard's test: is the average lower than chance alone would make it?

use super::binomial::binomial_tail;
use super::exact::gcd;

/// Up to this sum of magnitudes the distribution is computed exactly; beyond it magnitudes are put on a grid of this size (§5.3).
const GRID: i128 = 1 << 18;
/// Up to this many units all sign choices are listed.
const LISTED: usize = 20;
/// From this many additions on, which take milliseconds, the distribution of [`MANY_UNITS`] is summed by frequencies instead.
const MANY_ADDITIONS: f64 = 4e6;
/// A frequency costs some fifty factors however many units there are; with fewer units than this, adding is the faster way.
const MANY_UNITS: usize = 250;
/// Tails beyond this many standard deviations are below 4e-22 (Hoeffding's bound) and are not carried along.
const REACH: f64 = 10.0;
/// All frequencies below this together move the sum by less than 1e-16.
const NEGLIGIBLE: f64 = 1e-17;

/// How a p-value was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlipMethod {
    /// Nothing differs.
    Identical,
    Exact,
    Enumeration,
    Quantised,
}

impl FlipMethod {
    /// The word in machine-readable reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Exact => "exact",
            Self::Enumeration => "enumeration",
            Self::Quantised => "quantised",
        }
    }
}

/// Result of the sign-flip test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignFlip {
    /// P(T < t) + ½ P(T = t), the p-value that is used.
    pub p_mid: f64,
    /// P(T ≤ t).
    pub p_exact: f64,
    pub method: FlipMethod,
}

/// One-sided sign-flip test of a sum; a small p means "lower than luck makes it".
///
/// **Inputs**: the units' differences as integers over a common denominator (any common factor is allowed); zeros do not matter;
/// empty counts as identical. Magnitudes up to 2^100.
/// **Returns** p-values in [0, 1]; 1 where nothing differs. p_mid is at least 2^-(n+1) for n units.
/// **Source**: §5.2, §5.3; Fisher's randomisation test, with Lancaster's mid-p.
///
/// ```
/// use scoregate::stats::sign_flip;
/// assert!((sign_flip(&[-1, -1, -1, -1]).p_mid - 1.0 / 32.0).abs() < 1e-15);
/// ```
pub fn sign_flip(differences: &[i128]) -> SignFlip {
    let units = reduced(differences);
    let Some(first) = units.first().map(|unit| unit.abs()) else {
        return SignFlip { p_mid: 1.0, p_exact: 1.0, method: FlipMethod::Identical };
    };
    if units.iter().all(|unit| unit.abs() == first) {
        let down = units.iter().filter(|unit| **unit < 0).count();
        return mcnemar(down as u64, (units.len() - down) as u64);
    }
    let sum = units.iter().fold(0_i128, |sum, unit| sum.saturating_add(unit.abs()));
    if sum <= GRID {
        return from_grid(&units, FlipMethod::Exact);
    }
    if units.len() <= LISTED {
        return enumerated(&units);
    }
    let quantised: Vec<i128> =
        units.iter().map(|unit| unit.signum() * ((2 * unit.abs() * GRID + sum) / (2 * sum))).collect();
    from_grid(&quantised, FlipMethod::Quantised)
}

/// Without zeros and without a common factor.
fn reduced(differences: &[i128]) -> Vec<i128> {
    let mut units: Vec<i128> = differences.iter().copied().filter(|unit| *unit != 0).collect();
    let mut common = 0;
    for unit in &units {
        common = gcd(common, *unit);
        if common == 1 {
            break;
        }
    }
    if common > 1 {
        units.iter_mut().for_each(|unit| *unit /= common);
    }
    // 2·|a|·2^18 must fit into 127 bits; so long a magnitude is cut, which moves p by less than 2^-60.
    let largest = units.iter().map(|unit| unit.unsigned_abs()).max().unwrap_or(0);
    let excess = (128 - largest.leading_zeros()).saturating_sub(100);
    if excess > 0 {
        for unit in &mut units {
            *unit = unit.signum() * (unit.abs() >> excess);
        }
        units.retain(|unit| *unit != 0);
    }
    units
}

/// McNemar's test on cases that broke and cases that were fixed: what [`sign_flip`] is where all magnitudes are equal.
///
/// **Inputs**: counts of breaks and of fixes.
/// **Returns** p_exact = P(X ≥ breaks) for X ~ Bin(breaks + fixes, ½), and the mid-p; 1 where both are 0.
/// **Source**: §5.5; Fagerland, Lydersen and Laake (2013).
pub fn mcnemar(breaks: u64, fixes: u64) -> SignFlip {
    let count = breaks.saturating_add(fixes);
    if count == 0 {
        return SignFlip { p_mid: 1.0, p_exact: 1.0, method: FlipMethod::Identical };
    }
    let (above, at) = binomial_tail(count, 0.5, breaks);
    SignFlip { p_mid: above + 0.5 * at, p_exact: above + at, method: FlipMethod::Exact }
}

/// All 2^n sign choices, n ≤ 20, one more unit at a time.
fn enumerated(units: &[i128]) -> SignFlip {
    let observed: i128 = units.iter().sum();
    let mut sums = vec![0_i128];
    for unit in units {
        let size = unit.abs();
        let minus = sums.iter().map(|sum| sum - size);
        let plus = sums.iter().map(|sum| sum + size);
        sums = minus.chain(plus).collect();
    }
    let less = sums.iter().filter(|sum| **sum < observed).count() as f64;
    let equal = sums.iter().filter(|sum| **sum == observed).count() as f64;
    let all = sums.len() as f64;
    SignFlip { p_mid: (less + 0.5 * equal) / all, p_exact: (less + equal) / all, method: FlipMethod::Enumeration }
}

/// The distribution of X = Σ of the magnitudes whose sign is +, on a grid; T = 2X − S.
fn from_grid(units: &[i128], method: FlipMethod) -> SignFlip {
    let mut sizes: Vec<usize> = units.iter().filter_map(|unit| usize::try_from(unit.abs()).ok()).collect();
    sizes.retain(|size| *size > 0);
    sizes.sort_unstable();
    let observed: usize = units.iter().filter_map(|unit| usize::try_from(*unit).ok()).sum();
    let squares: f64 = sizes.iter().map(|size| (size * size) as f64).sum();
    let additions = sizes.len() as f64 * REACH * squares.sqrt();
    let (p_mid, at) = if sizes.len() >= MANY_UNITS && additions > MANY_ADDITIONS {
        by_frequency(&sizes, observed, squares)
    } else {
        Masses::of(&sizes).up_to(observed)
    };
    SignFlip { p_mid: p_mid.clamp(0.0, 1.0), p_exact: (p_mid + 0.5 * at).clamp(0.0, 1.0), method }
}

/// The distribution of X near its centre, by adding one unit after the other (§5.3).
struct Masses {
    /// P(X = start), P(X = start + 1), …
    masses: Vec<f64>,
    start: usize,
}

impl Masses {
    fn of(sizes: &[usize]) -> Self {
        let mut masses = vec![1.0_f64];
        let mut next: Vec<f64> = Vec::new();
        let (mut start, mut sum, mut squares) = (0_usize, 0_usize, 0.0_f64);
        for &size in sizes {
            next.clear();
            next.resize(masses.len() + size, 0.0);
            for (to, from) in next.iter_mut().zip(&masses) {
                *to = 0.5 * from;
            }
            for (to, from) in next.iter_mut().skip(size).zip(&masses) {
                *to += 0.5 * from;
            }
            std::mem::swap(&mut masses, &mut next);
            sum += size;
            squares += (size * size) as f64;
            // Keep what lies within REACH standard deviations of the centre S/2; the deviation of X is half that of T.
            let reach = 0.5 * REACH * squares.sqrt();
            let low = ((0.5 * sum as f64 - reach).floor().max(0.0) as usize).max(start);
            let high = ((0.5 * sum as f64 + reach).ceil() as usize).min(sum);
            masses.truncate((high + 1).saturating_sub(start));
            if low > start {
                masses.drain(..(low - start).min(masses.len()));
                start = low;
            }
        }
        Self { masses, start }
    }

    /// P(X < x) + ½ P(X = x) and P(X = x).
    fn up_to(&self, observed: usize) -> (f64, f64) {
        let below = observed.saturating_sub(self.start);
        let less: f64 = self.masses.iter().take(below).sum();
        let equal = observed.checked_sub(self.start).and_then(|at| self.masses.get(at)).copied().unwrap_or(0.0);
        (less + 0.5 * equal, equal)
    }
}

/// P(X < x) + ½ P(X = x) and P(X = x) from the characteristic function of X − S/2, which is Π cos(aθ/2): for many units on a fine grid, where adding one
/// after the other takes seconds. Absolute error below 1e-12 (a test holds the two ways together).
///
/// On a period of M points, M odd, with y = x − S/2 and θ = 2πm/M:
/// P(X < x) + ½ P(X = x) = ½ + (y + Σ C(θ) sin(θy) cot(θ/2)) / M, the sum over m = 1 … (M − 1)/2.
/// It holds as long as |X − x| < M, so the period only has to span from x to the far end of what X reaches.
/// **Source**: inversion of the discrete Fourier transform; what wraps around lies beyond [`REACH`].
fn by_frequency(sizes: &[usize], observed: usize, squares: f64) -> (f64, f64) {
    let reach = 0.5 * REACH * squares.sqrt();
    let sum: usize = sizes.iter().sum();
    let y = observed as f64 - 0.5 * sum as f64;
    if y.abs() >= reach {
        return (if y < 0.0 { 0.0 } else { 1.0 }, 0.0);
    }
    let half = ((0.5 * (reach + y.abs())).ceil() as usize + 1).min(sum.div_ceil(2));
    let circle = Circle::new(half);
    let twice = (2 * observed).abs_diff(sum);
    let (mut middle, mut at) = (0.0, 0.0);
    for step in 1..=half {
        let weight = characteristic(sizes, step, &circle);
        if weight != 0.0 {
            let sine = libm::sin(circle.angle(step * twice));
            middle += weight * sine / libm::tan(circle.angle(step));
            at += weight * circle.cosine(step * twice);
        }
    }
    let middle = if y < 0.0 { -middle } else { middle };
    let period = circle.points as f64;
    (0.5 + (y + middle) / period, ((1.0 + 2.0 * at) / period).max(0.0))
}

/// The cosines of all multiples of π/M for an odd M. Every angle of the sum is such a multiple, so one table serves all units
/// and frequencies, and angles are reduced exactly, as integers.
struct Circle {
    /// M
    points: usize,
    /// cos(kπ/M) for k = 0 … (M − 1)/2; the rest mirrors it.
    cosines: Vec<f64>,
}

impl Circle {
    fn new(half: usize) -> Self {
        let points = 2 * half + 1;
        let cosine = |k: usize| libm::cos(std::f64::consts::PI * k as f64 / points as f64);
        Self { points, cosines: (0..=half).map(cosine).collect() }
    }

    /// kπ/M, less whole turns.
    fn angle(&self, k: usize) -> f64 {
        std::f64::consts::PI * (k % (2 * self.points)) as f64 / self.points as f64
    }

    /// cos(kπ/M).
    fn cosine(&self, k: usize) -> f64 {
        let turn = k % (2 * self.points);
        let k = turn.min(2 * self.points - turn);
        let (k, sign) = if k < self.cosines.len() { (k, 1.0) } else { (self.points - k, -1.0) };
        self.cosines.get(k).map_or(0.0, |cosine| sign * cosine)
    }
}

/// Π cos(a·stepπ/M) over ascending magnitudes; 0 where no digit of the sum could show it.
fn characteristic(sizes: &[usize], step: usize, circle: &Circle) -> f64 {
    let mut product = 1.0_f64;
    // The largest turn fastest, so a vanishing product is seen after some fifty factors.
    for size in sizes.iter().rev() {
        product *= circle.cosine(size * step);
        if product.abs() < NEGLIGIBLE {
            return 0.0;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handful_of_units_gives_the_textbook_values() {
        assert_eq!(sign_flip(&[]).p_mid, 1.0);
        assert_eq!(sign_flip(&[0, 0]).method, FlipMethod::Identical);
        assert_eq!(sign_flip(&[-3]).p_mid, 0.25);
        assert_eq!(sign_flip(&[3]).p_mid, 0.75);
        assert!((sign_flip(&[-5; 10]).p_mid - 1.0 / 2048.0).abs() < 1e-18);
    }

    #[test]
    fn a_common_factor_changes_nothing() {
        let units = [-3, 5, -7, 2, -9, 0, 4];
        let scaled: Vec<i128> = units.iter().map(|unit| unit * 1_000_000_007).collect();
        assert_eq!(sign_flip(&units), sign_flip(&scaled));
    }

    #[test]
    fn raising_a_unit_never_lowers_p() {
        let mut units: Vec<i128> = (0..40).map(|step| (step * 7919) % 41 - 25).collect();
        let mut last = sign_flip(&units).p_mid;
        for at in 0..units.len() {
            units[at] += 6;
            let p = sign_flip(&units).p_mid;
            assert!(p >= last - 1e-12, "{p} after {last}");
            last = p;
        }
    }

    #[test]
    fn cutting_far_tails_changes_no_digit_that_is_shown() {
        // The same numbers by the plain recurrence over the whole range.
        let units: Vec<i128> =
            (1..=300).map(|step| if step % 3 == 0 { step % 17 + 1 } else { -(step % 13 + 1) }).collect();
        let sum: usize = units.iter().map(|unit| unit.unsigned_abs() as usize).sum();
        let mut masses = vec![0.0; sum + 1];
        masses[0] = 1.0;
        for unit in &units {
            let size = unit.unsigned_abs() as usize;
            for at in (0..=sum).rev() {
                masses[at] = 0.5 * masses[at] + if at >= size { 0.5 * masses[at - size] } else { 0.0 };
            }
        }
        let observed: usize = units.iter().filter(|unit| **unit > 0).map(|unit| *unit as usize).sum();
        let plain = masses[..observed].iter().sum::<f64>() + 0.5 * masses[observed];
        assert!((sign_flip(&units).p_mid - plain).abs() < 1e-15);
    }

    #[test]
    fn summing_by_frequency_equals_adding() {
        // 25 units reach the ends of their range, 400 never do.
        for (count, spread) in [(25_usize, 5_usize), (40, 900), (400, 37), (700, 130)] {
            let mut sizes: Vec<usize> = (1..=count).map(|step| (step * step * 31 + step) % spread + 1).collect();
            sizes.sort_unstable();
            let squares: f64 = sizes.iter().map(|size| (size * size) as f64).sum();
            let sum: usize = sizes.iter().sum();
            let masses = Masses::of(&sizes);
            for share in [0.4, 0.45, 0.47, 0.5, 0.53, 0.6] {
                let observed = (sum as f64 * share) as usize;
                let (plain, at) = masses.up_to(observed);
                let (quick, quick_at) = by_frequency(&sizes, observed, squares);
                assert!((plain - quick).abs() < 1e-12, "{count} {share}: {plain} and {quick}");
                assert!((at - quick_at).abs() < 1e-12, "{count} {share}: {at} and {quick_at}");
            }
        }
    }

    #[test]
    fn huge_magnitudes_do_not_overflow() {
        let units: Vec<i128> =
            (1..30).map(|step| (i128::MAX / 64 / step) * if step % 2 == 0 { 1 } else { -1 }).collect();
        let p = sign_flip(&units).p_mid;
        assert!((0.0..0.5).contains(&p), "{p}");
    }
}
