//! Binomial masses and tails.

/// P(X > k) and P(X = k) for X ~ Bin(n, p), 0 < p < 1.
///
/// Weights relative to the mode follow each other by ratios, so nothing overflows and the error stays near 1e-14.
pub(super) fn binomial_tail(n: u64, p: f64, k: u64) -> (f64, f64) {
    if k > n {
        return (0.0, 0.0);
    }
    let odds = p / (1.0 - p);
    let size = n as f64;
    let mode = (((size + 1.0) * p).floor() as u64).min(n);
    let (mut total, mut above, mut at) = (1.0, 0.0, 0.0);
    let mut note = |value: u64, weight: f64| match value.cmp(&k) {
        std::cmp::Ordering::Greater => above += weight,
        std::cmp::Ordering::Equal => at += weight,
        std::cmp::Ordering::Less => {}
    };
    note(mode, 1.0);
    let mut weight = 1.0;
    for value in mode..n {
        weight *= odds * (size - value as f64) / (value as f64 + 1.0);
        total += weight;
        note(value + 1, weight);
        if weight == 0.0 {
            break;
        }
    }
    weight = 1.0;
    for value in (0..mode).rev() {
        weight *= (value as f64 + 1.0) / (odds * (size - value as f64));
        total += weight;
        note(value, weight);
        if weight == 0.0 {
            break;
        }
    }
    (above / total, at / total)
}

/// P(X = 0), …, P(X = n) for X ~ Bin(n, p), 0 < p ≤ 1.
pub(super) fn binomial_masses(n: u64, p: f64) -> Vec<f64> {
    let size = usize::try_from(n).unwrap_or(usize::MAX - 1);
    let mut masses = vec![0.0; size + 1];
    let mode = (((n as f64 + 1.0) * p).floor() as usize).min(size);
    let odds = p / (1.0 - p);
    let (below, from_mode) = masses.split_at_mut(mode);
    let mut weight = 1.0;
    for (at, slot) in (mode..).zip(from_mode) {
        *slot = weight;
        weight *= odds * (n as f64 - at as f64) / (at as f64 + 1.0);
    }
    weight = 1.0;
    for (at, slot) in below.iter_mut().enumerate().rev() {
        weight *= (at as f64 + 1.0) / (odds * (n as f64 - at as f64));
        *slot = weight;
    }
    let total: f64 = masses.iter().sum();
    masses.iter_mut().for_each(|mass| *mass /= total);
    masses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_and_tails_agree() {
        for (n, p) in [(1, 0.5), (20, 0.1), (300, 0.9), (7, 1.0)] {
            let masses = binomial_masses(n, p);
            assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            if p < 1.0 {
                for k in 0..=n {
                    let (above, at) = binomial_tail(n, p, k);
                    assert!((masses[k as usize] - at).abs() < 1e-13);
                    assert!((masses[k as usize + 1..].iter().sum::<f64>() - above).abs() < 1e-12);
                }
            }
        }
        assert_eq!(binomial_masses(2, 1.0), [0.0, 0.0, 1.0]);
    }
}
