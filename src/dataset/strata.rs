//! A seeded sample in which every tag has its share.

use std::collections::{BTreeMap, HashSet};

use super::sample::key;
use crate::domain::Case;

/// Collects candidates, then chooses.
#[derive(Debug, Default)]
pub struct Strata {
    seed: u64,
    /// Cases with the same tags → (key, position).
    strata: BTreeMap<Vec<String>, Vec<([u8; 16], usize)>>,
}

impl Strata {
    pub fn new(seed: u64) -> Self {
        Self { seed, strata: BTreeMap::new() }
    }

    /// A case that may be chosen; `case.index` names it among the others.
    pub fn offer(&mut self, case: &Case) {
        let mut tags: Vec<String> = case.tags.iter().map(ToString::to_string).collect();
        tags.sort_unstable();
        self.strata.entry(tags).or_default().push((key(self.seed, &case.id), case.index));
    }

    /// The positions of `n` cases, or of all where there are fewer. A stratum (the cases with the same tags) gets its share of `n`, at
    /// least one where `n` suffices for all strata; within it the seed and the ids decide, whatever the order of the rows.
    pub fn choose(self, n: usize) -> HashSet<usize> {
        let sizes: Vec<usize> = self.strata.values().map(Vec::len).collect();
        let mut chosen = HashSet::new();
        for (mut cases, quota) in self.strata.into_values().zip(quotas(&sizes, n)) {
            cases.sort_unstable();
            chosen.extend(cases.into_iter().take(quota).map(|(_, position)| position));
        }
        chosen
    }
}

/// How many of each stratum: the largest remainders get what is left of whole shares (Hamilton's method).
fn quotas(sizes: &[usize], n: usize) -> Vec<usize> {
    let n = n.min(sizes.iter().sum());
    let least = usize::from(n >= sizes.len());
    let open: Vec<usize> = sizes.iter().map(|size| size.saturating_sub(least)).collect();
    let total = open.iter().sum::<usize>().max(1) as u128;
    let left = n.saturating_sub(least * sizes.len()) as u128;
    let exact: Vec<u128> = open.iter().map(|size| left * *size as u128).collect();
    let mut quotas: Vec<usize> =
        exact.iter().map(|share| least + usize::try_from(share / total).unwrap_or(usize::MAX)).collect();
    let mut order: Vec<(u128, usize)> = exact.iter().enumerate().map(|(at, share)| (share % total, at)).collect();
    order.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
    let missing = n.saturating_sub(quotas.iter().sum());
    for (_, at) in order.into_iter().take(missing) {
        if let Some(quota) = quotas.get_mut(at) {
            *quota += 1;
        }
    }
    quotas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stratum_gets_its_share_and_no_more_than_it_has() {
        assert_eq!(quotas(&[80, 15, 5], 20), [16, 3, 1]);
        assert_eq!(quotas(&[1000, 1, 1], 10), [8, 1, 1]);
        assert_eq!(quotas(&[5, 5, 5], 2), [1, 1, 0]);
        assert_eq!(quotas(&[2, 3], 99), [2, 3]);
        assert_eq!(quotas(&[], 3), Vec::<usize>::new());
        for sizes in [vec![7, 1, 1, 90], vec![1; 10], vec![3, 3, 4]] {
            let all: usize = sizes.iter().sum();
            for n in 0..=all + 2 {
                let quotas = quotas(&sizes, n);
                assert_eq!(quotas.iter().sum::<usize>(), n.min(all), "{sizes:?} {n}");
                assert!(quotas.iter().zip(&sizes).all(|(quota, size)| quota <= size), "{sizes:?} {n}: {quotas:?}");
            }
        }
    }
}
