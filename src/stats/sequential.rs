//! More trials only when they matter: what a look decides, and how alpha is divided between looks (§10).

use super::distribution::{normal_cdf, normal_quantile};
use super::multiplicity::holm;

/// A comparison that is at the edge of its level is rejected in spite of the last rounding of a sum of levels.
const ROUNDING: f64 = 1e-15;

/// What is done after a look that is not the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookAction {
    /// Regressed: more stable cases broke than flakiness explains.
    StopBreaks,
    /// Regressed: an average dropped.
    StopMean,
    /// No sign of a drop.
    StopNoSign,
    /// Every paired case gets the trials of the next look.
    Extend,
}

/// What the plan may spend at a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookLevels {
    /// Level of the break guard; it looks once, at the first look.
    pub breaks: f64,
    /// Level of the mean guard at this look.
    pub mean: f64,
    /// Above this adjusted p no metric shows a sign of a drop.
    pub phi: f64,
}

/// What a look that is not the last decides.
///
/// **Inputs**: p of the mean guard and of the break guard over the family, not adjusted (empty where the guard is off or does not look).
/// **Returns** the first of §10.2 that applies; without any hypothesis nothing can be gained by looking again.
/// **Source**: §10.2; Holm's adjustment within each guard.
pub fn look(mean: &[f64], breaks: &[f64], levels: LookLevels) -> LookAction {
    let least = |p: &[f64]| holm(p).into_iter().reduce(f64::min);
    if least(breaks).is_some_and(|p| p <= levels.breaks + ROUNDING) {
        return LookAction::StopBreaks;
    }
    match least(mean) {
        Some(p) if p <= levels.mean + ROUNDING => LookAction::StopMean,
        Some(p) if p <= levels.phi => LookAction::Extend,
        Some(_) | None => LookAction::StopNoSign,
    }
}

/// How alpha is spent along the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spending {
    /// Little at first, like O'Brien and Fleming's boundary.
    ObrienFleming,
    /// Evenly, like Pocock's boundary.
    Pocock,
}

/// Alpha that is spent when a share of the information is in.
///
/// **Inputs**: alpha in (0, 1); the share, ≤ 0 spends nothing, ≥ 1 everything. **Returns** 0 to alpha.
/// **Source**: §10.4; K. K. G. Lan and D. L. DeMets, Discrete sequential boundaries for clinical trials, Biometrika 70 (1983).
pub fn spent(spending: Spending, alpha: f64, share: f64) -> f64 {
    let share = share.min(1.0);
    if share.is_nan() || share <= 0.0 {
        return 0.0;
    }
    match spending {
        Spending::ObrienFleming => 2.0 * normal_cdf(-normal_quantile(1.0 - alpha / 2.0) / share.sqrt()),
        Spending::Pocock => alpha * libm::log1p((std::f64::consts::E - 1.0) * share),
    }
}

/// Levels of the looks of a plan of trials, used directly as nominal levels (conservative).
///
/// **Inputs**: alpha of the mean guard; trials of the candidate at each look, rising, at least one look; trials of the baseline a
/// case, ≥ 1 (infinity: a baseline without noise).
/// **Returns** one level a look; their sum is alpha. **Source**: §10.4.
pub fn look_levels(alpha: f64, trials: &[u32], baseline_trials: f64) -> Vec<f64> {
    let noise = |count: u32| 1.0 / f64::from(count.max(1)) + 1.0 / baseline_trials;
    let last = trials.last().copied().unwrap_or(1);
    let mut before = 0.0;
    trials
        .iter()
        .map(|count| {
            let share = if *count == last { 1.0 } else { noise(last) / noise(*count) };
            let now = spent(Spending::ObrienFleming, alpha, share);
            let level = now - before;
            before = now;
            level
        })
        .collect()
}

/// Nodes of the integral over what was seen before a look; even.
const NODES: usize = 400;
/// Normal deviates beyond this do not count.
const FAR: f64 = 8.0;

/// Exact one-sided boundaries of a sequential test: the z at which each look rejects.
///
/// **Inputs**: alpha in (0, 0.5); rising shares of the information in (0, 1].
/// **Returns** one z a look; stronger evidence than [`look_levels`] asks for is never needed. Absolute error below 1e-6.
/// **Source**: §10.4; P. Armitage, C. K. McPherson and B. C. Rowe, Repeated significance tests on accumulating data (1969):
/// recursive integration of the density of the sum, by Simpson's rule.
pub fn sequential_boundaries(spending: Spending, alpha: f64, shares: &[f64]) -> Vec<f64> {
    let mut boundaries = Vec::with_capacity(shares.len());
    // Where the sum may stand after the last look, with the mass at each place.
    let mut mass: Vec<(f64, f64)> = vec![(0.0, 1.0)];
    let (mut before, mut time) = (0.0, 0.0);
    for share in shares {
        let now = spent(spending, alpha, *share);
        let step = (share - time).sqrt();
        let boundary = boundary_of(now - before, *share, step, &mass);
        mass = continued(boundary, *share, step, &mass);
        boundaries.push(boundary);
        (before, time) = (now, *share);
    }
    boundaries
}

/// The z that is crossed with the probability `level`, by halving.
fn boundary_of(level: f64, share: f64, step: f64, mass: &[(f64, f64)]) -> f64 {
    let crossed =
        |z: f64| mass.iter().map(|(at, weight)| weight * normal_cdf((at - z * share.sqrt()) / step)).sum::<f64>();
    let (mut low, mut high) = (-FAR, FAR);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if crossed(middle) > level {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The mass that has not crossed, at the nodes of Simpson's rule.
fn continued(boundary: f64, share: f64, step: f64, mass: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (low, high) = (-FAR * share.sqrt(), boundary * share.sqrt());
    let width = (high - low) / NODES as f64;
    let scale = 1.0 / (step * std::f64::consts::TAU.sqrt());
    (0..=NODES)
        .map(|node| {
            let at = low + width * node as f64;
            let simpson = if node == 0 || node == NODES {
                1.0
            } else if node % 2 == 1 {
                4.0
            } else {
                2.0
            };
            let density: f64 = mass
                .iter()
                .map(|(from, weight)| {
                    let off = (at - from) / step;
                    weight * scale * libm::exp(-0.5 * off * off)
                })
                .sum();
            (at, simpson * width / 3.0 * density)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levels_of_a_plan_add_up_to_its_alpha() {
        for plan in [&[1_u32, 3][..], &[1, 2, 5], &[1, 2, 3, 10], &[4]] {
            let levels = look_levels(0.04, plan, 5.0);
            assert!((levels.iter().sum::<f64>() - 0.04).abs() < 1e-12, "{levels:?}");
            assert!(levels.iter().all(|level| *level > 0.0), "{levels:?}");
        }
    }

    #[test]
    fn a_look_without_a_hypothesis_stops() {
        let levels = LookLevels { breaks: 0.01, mean: 0.01, phi: 0.5 };
        assert_eq!(look(&[], &[], levels), LookAction::StopNoSign);
        assert_eq!(look(&[0.2], &[0.01], levels), LookAction::StopBreaks);
    }

    #[test]
    fn nothing_is_spent_before_anything_is_seen() {
        assert_eq!(spent(Spending::ObrienFleming, 0.05, 0.0), 0.0);
        assert!((spent(Spending::Pocock, 0.05, 2.0) - 0.05).abs() < 1e-15);
    }
}
