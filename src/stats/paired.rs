//! From two scores a case to the units of evidence (§2–§4).

use std::collections::BTreeSet;

use super::exact::{CaseMean, Ratio, gcd, total};

/// One case's two scores, in the metric's own scale.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub candidate: CaseMean,
    pub baseline: CaseMean,
    /// Index of the cluster the case belongs to; `None`: a cluster of its own.
    pub cluster: Option<usize>,
}

/// The paired differences of one metric; positive is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Differences {
    /// One integer a unit (case, or cluster), all over one denominator: what the sign-flip test reads.
    pub integers: Vec<i128>,
    /// The units on the unit scale; their mean is the mean over the cases.
    pub units: Vec<f64>,
    /// Each case's difference on the unit scale, in the order of the pairs.
    pub cases: Vec<f64>,
    /// Cases that scored higher (better), lower and the same, exactly.
    pub up: u64,
    pub down: u64,
    pub same: u64,
}

/// Differences `candidate − baseline` of paired cases, and the units made of them.
///
/// **Inputs**: pairs in any order; `range` = hi − lo of the metric (> 0); `lower_is_better` turns the sign. Scores are rounded to
/// six places before they are subtracted.
/// **Returns** exact integers; with clusters the unit is (G/n)·Σ of the cluster, which keeps the mean.
/// **Errors**: `None` where the common denominator of the trial counts is too large for 127 bits (never with the ten runs and
/// trials that the suite allows).
/// **Source**: §1.3, §2.1, §4.
pub fn differences(pairs: &[Pair], range: f64, lower_is_better: bool) -> Option<Differences> {
    let mut common: i128 = 1;
    let counts: BTreeSet<u32> =
        pairs.iter().flat_map(|pair| [pair.candidate.trials(), pair.baseline.trials()]).collect();
    for trials in counts {
        let trials = i128::from(trials);
        common = common.checked_mul(trials / gcd(common, trials).max(1))?;
    }
    let sign = if lower_is_better { -1 } else { 1 };
    let per_case: Vec<i128> = pairs
        .iter()
        .map(|pair| {
            let on = |mean: CaseMean| {
                let trials = i128::from(mean.trials());
                mean.micro().checked_mul(if trials == 1 { common } else { common / trials })
            };
            on(pair.candidate)?.checked_sub(on(pair.baseline)?).map(|difference| sign * difference)
        })
        .collect::<Option<_>>()?;
    let unit = common as f64 * 1e6 * range;
    let cases: Vec<f64> = per_case.iter().map(|difference| *difference as f64 / unit).collect();
    let count = |keep: fn(&i128) -> bool| per_case.iter().filter(|difference| keep(difference)).count() as u64;
    let (up, down, same) = (count(|d| *d > 0), count(|d| *d < 0), count(|d| *d == 0));
    let clusters: Vec<Option<usize>> = pairs.iter().map(|pair| pair.cluster).collect();
    let integers = cluster_sums(&per_case, &clusters)?;
    let weight = integers.len() as f64 / pairs.len().max(1) as f64;
    let units = integers.iter().map(|sum| *sum as f64 / unit * weight).collect();
    Some(Differences { integers, units, cases, up, down, same })
}

/// The mean of a set of cases on the unit scale, cluster by cluster (§4.2); used by the threshold's interval.
///
/// **Inputs**: case means on the unit scale and their clusters, equally long.
/// **Returns** one number a cluster: (G/n)·Σ of the cluster.
pub fn cluster_means(cases: &[f64], clusters: &[Option<usize>]) -> Vec<f64> {
    let mut sums: Vec<f64> = Vec::new();
    for (value, slot) in cases.iter().zip(slots(clusters)) {
        match sums.get_mut(slot) {
            Some(sum) => *sum += value,
            None => sums.push(*value),
        }
    }
    let weight = sums.len() as f64 / cases.len().max(1) as f64;
    sums.iter_mut().for_each(|sum| *sum *= weight);
    sums
}

/// Sums within clusters, in the order in which the clusters first appear.
fn cluster_sums(values: &[i128], clusters: &[Option<usize>]) -> Option<Vec<i128>> {
    let mut sums: Vec<i128> = Vec::new();
    for (value, slot) in values.iter().zip(slots(clusters)) {
        match sums.get_mut(slot) {
            Some(sum) => *sum = sum.checked_add(*value)?,
            None => sums.push(*value),
        }
    }
    Some(sums)
}

/// For each case the position of its cluster, counted in order of appearance.
fn slots(clusters: &[Option<usize>]) -> Vec<usize> {
    let mut known = std::collections::HashMap::new();
    let mut used = 0;
    clusters
        .iter()
        .map(|cluster| {
            let fresh = used;
            let slot = cluster.map_or(fresh, |cluster| *known.entry(cluster).or_insert(fresh));
            if slot == fresh {
                used += 1;
            }
            slot
        })
        .collect()
}

impl Differences {
    /// Means of the two sides over the pairs, exactly, in the metric's own scale: (baseline, candidate).
    pub fn means(pairs: &[Pair]) -> Option<(Ratio, Ratio)> {
        Some((total(pairs.iter().map(|pair| &pair.baseline))?, total(pairs.iter().map(|pair| &pair.candidate))?))
    }
}
