//! The one resampling in here: the BCa interval of a mean, for reports and tools (§22.4, §19.2). No verdict reads it.

use super::distribution::{normal_cdf, normal_quantile};
use super::moment::mean;

/// Bias-corrected and accelerated bootstrap interval of a mean.
///
/// **Inputs**: at least two finite numbers; `level` in (0, 1), two-sided; `resamples` ≥ 100 (the specification says 10 000); a seed
/// ([`seed_for`] gives each metric its own).
/// **Returns** low ≤ high; both the mean where all numbers are equal. **Errors**: `None` below two numbers or a hundred resamples.
/// **Source**: §22.4; B. Efron and R. J. Tibshirani, *An Introduction to the Bootstrap* (1993), chapter 14.
pub fn bootstrap_interval(numbers: &[f64], level: f64, resamples: usize, seed: u64) -> Option<(f64, f64)> {
    let centre = mean(numbers)?;
    if numbers.len() < 2 || resamples < 100 {
        return None;
    }
    if numbers.iter().all(|number| Some(number) == numbers.first()) {
        return Some((centre, centre));
    }
    let mut means = resampled(numbers, resamples, seed);
    means.sort_by(f64::total_cmp);
    let below = means.iter().filter(|mean| **mean < centre).count() as f64;
    let at = means.iter().filter(|mean| **mean == centre).count() as f64;
    let bias = normal_quantile((below + 0.5 * at) / resamples as f64);
    let acceleration = acceleration(numbers, centre);
    let bound = |share: f64| {
        let z = bias + normal_quantile(share);
        quantile(&means, normal_cdf(bias + z / (1.0 - acceleration * z)))
    };
    let tail = (1.0 - level) / 2.0;
    Some((bound(tail)?, bound(1.0 - tail)?))
}

fn resampled(numbers: &[f64], resamples: usize, seed: u64) -> Vec<f64> {
    let mut random = SplitMix64(seed);
    let n = numbers.len();
    let draw = |random: &mut SplitMix64| numbers.get(random.below(n)).copied().unwrap_or(0.0);
    (0..resamples).map(|_| (0..n).map(|_| draw(&mut random)).sum::<f64>() / n as f64).collect()
}

/// From the jackknife, which for a mean has a closed form: leaving x out moves it by (mean − x)/(n − 1).
fn acceleration(numbers: &[f64], centre: f64) -> f64 {
    let (mut squares, mut cubes) = (0.0, 0.0);
    for number in numbers {
        let off = number - centre;
        squares += off * off;
        cubes += off * off * off;
    }
    cubes / (6.0 * squares * squares.sqrt())
}

/// Between the two nearest of ascending numbers.
fn quantile(ascending: &[f64], share: f64) -> Option<f64> {
    let at = share.clamp(0.0, 1.0) * (ascending.len() - 1) as f64;
    let low = ascending.get(at.floor() as usize)?;
    let high = ascending.get(at.ceil() as usize)?;
    Some(low + (high - low) * (at - at.floor()))
}

/// The seed of one metric's resampling, so that adding a metric never shifts another's numbers.
///
/// **Inputs**: the suite's seed (42 by default); the metric's name. **Source**: §19.2; FNV-1a with 64 bits.
pub fn seed_for(seed: u64, metric: &str) -> u64 {
    let hash = metric
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    seed ^ hash
}

/// **Source**: G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number generators (2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A position below `n`: the high 64 bits of next · n.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        let mut random = SplitMix64(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
        assert_eq!(seed_for(0, ""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(seed_for(0, "a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let numbers: Vec<f64> = (0..30).map(|step| f64::from(step % 7) / 7.0).collect();
        let seed = seed_for(42, "faithfulness");
        assert_eq!(bootstrap_interval(&numbers, 0.9, 2000, seed), bootstrap_interval(&numbers, 0.9, 2000, seed));
        assert_eq!(bootstrap_interval(&[0.5; 9], 0.9, 2000, seed), Some((0.5, 0.5)));
        assert_eq!(bootstrap_interval(&[0.5], 0.9, 2000, seed), None);
    }
}
