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

/// How many of each stratum: whole shares, then one more where the remainders are largest (Hamilton's method); where `n` suffices for
/// all, a stratum that would get none takes one from the stratum that gets most.
fn quotas(sizes: &[usize], n: usize) -> Vec<usize> {
    let total = sizes.iter().sum::<usize>();
    let n = n.min(total);
    let exact: Vec<u128> = sizes.iter().map(|size| n as u128 * *size as u128).collect();
    let whole =
        |share: &u128| share.checked_div(total as u128).and_then(|share| usize::try_from(share).ok()).unwrap_or(0);
    let mut quotas: Vec<usize> = exact.iter().map(whole).collect();
    let mut order: Vec<(u128, usize)> =
        exact.iter().enumerate().filter_map(|(at, share)| Some((share.checked_rem(total as u128)?, at))).collect();
    order.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
    let missing = n.saturating_sub(quotas.iter().sum());
    for (_, at) in order.into_iter().take(missing) {
        if let Some(quota) = quotas.get_mut(at) {
            *quota += 1;
        }
    }
    let empty = quotas.iter().filter(|quota| **quota == 0).count();
    for _ in 0..if n >= sizes.len() { empty } else { 0 } {
        if let Some(most) = quotas.iter_mut().max() {
            *most -= 1;
        }
        if let Some(none) = quotas.iter_mut().find(|quota| **quota == 0) {
            *none += 1;
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
        assert_eq!(quotas(&[2, 10, 88], 20), [1, 2, 17]);
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
