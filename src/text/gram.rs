//! Runs of tokens that two texts share, of every length at once.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Numbers for tokens, from 1: equal tokens get equal numbers.
#[derive(Debug, Default)]
pub struct Numbers<'t> {
    known: HashMap<Cow<'t, str>, u32, RandomState>,
}

impl<'t> Numbers<'t> {
    /// Room for the tokens of texts of so many bytes, so that it rarely has to grow.
    pub fn of_bytes(bytes: usize) -> Self {
        Self { known: HashMap::with_capacity_and_hasher((bytes / 8).min(4_096), RandomState::default()) }
    }

    pub fn number(&mut self, token: Cow<'t, str>) -> u32 {
        let next = u32::try_from(self.known.len()).unwrap_or(u32::MAX).saturating_add(1);
        *self.known.entry(token).or_insert(next)
    }

    /// How many there are; the largest number.
    pub fn distinct(&self) -> usize {
        self.known.len()
    }
}

/// The runs of up to `order` items that begin at each item of a sequence, sorted, each packed into one number.
///
/// Where the runs are sorted, so are their beginnings: one sort serves every length.
#[derive(Clone, Debug)]
pub struct Grams {
    runs: Vec<u128>,
    /// Bits of one item.
    bits: u32,
    order: u32,
}

impl Grams {
    /// Runs of at most four tokens, numbered from 1.
    pub fn of_tokens(items: &[u32], order: u32) -> Self {
        Self::packed(items.iter().map(|item| u128::from(*item)), 32, order.min(4))
    }

    /// Runs of at most six characters.
    pub fn of_characters(text: &[char], order: u32) -> Self {
        Self::packed(text.iter().map(|c| u128::from(u32::from(*c)) + 1), 21, order.min(6))
    }

    /// Every item is above 0, so that a run that ends with its text is known by the empty places behind it.
    fn packed(items: impl DoubleEndedIterator<Item = u128> + ExactSizeIterator, bits: u32, order: u32) -> Self {
        let top = bits * order.saturating_sub(1);
        let mut run = 0u128;
        let mut runs = Vec::with_capacity(items.len());
        for item in items.rev() {
            run = (item << top) | (run >> bits);
            runs.push(run);
        }
        runs.sort_unstable();
        Self { runs, bits, order }
    }

    /// Number of runs of `n` items (from 1 to the order), with repetition.
    pub fn count(&self, n: u32) -> usize {
        (self.runs.len() + 1).saturating_sub(n as usize)
    }

    /// How many runs of `n` items both have, counted with repetition.
    pub fn shared(&self, other: &Self, n: u32) -> usize {
        let shift = self.bits * self.order.saturating_sub(n);
        let last = (1u128 << self.bits) - 1;
        let (mut left, mut right) = (self.begins(shift, last), other.begins(shift, last));
        let (mut mine, mut theirs) = (left.next(), right.next());
        let mut count = 0;
        while let (Some(a), Some(b)) = (mine, theirs) {
            count += usize::from(a == b);
            if a <= b {
                mine = left.next();
            }
            if b <= a {
                theirs = right.next();
            }
        }
        count
    }

    /// The beginnings of the runs that are long enough.
    fn begins(&self, shift: u32, last: u128) -> impl Iterator<Item = u128> + '_ {
        self.runs.iter().map(move |run| run >> shift).filter(move |begin| begin & last != 0)
    }
}

/// How many items two sequences share, counted with repetition; the items are numbers up to `distinct`.
pub fn shared(left: &[u32], right: &[u32], distinct: usize) -> usize {
    let mut counts = vec![0_usize; distinct + 1];
    for item in left {
        if let Some(count) = counts.get_mut(*item as usize) {
            *count += 1;
        }
    }
    let mut common = 0;
    for item in right {
        if let Some(count) = counts.get_mut(*item as usize).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn by_counting(left: &[u32], right: &[u32], n: usize) -> usize {
        let mut counts: HashMap<&[u32], usize> = HashMap::new();
        left.windows(n).for_each(|run| *counts.entry(run).or_default() += 1);
        let mut shared = 0;
        for run in right.windows(n) {
            if let Some(count) = counts.get_mut(run).filter(|count| **count > 0) {
                *count -= 1;
                shared += 1;
            }
        }
        shared
    }

    proptest! {
        #[test]
        fn sorting_counts_as_counting_does(
            left in proptest::collection::vec(1u32..6, 0..40),
            right in proptest::collection::vec(1u32..6, 0..40),
        ) {
            prop_assert_eq!(shared(&left, &right, 5), by_counting(&left, &right, 1));
            let (a, b) = (Grams::of_tokens(&left, 4), Grams::of_tokens(&right, 4));
            for n in 1..=4 {
                prop_assert_eq!(a.shared(&b, n), by_counting(&left, &right, n as usize));
                prop_assert_eq!(a.count(n), left.windows(n as usize).count());
            }
        }
    }

    #[test]
    fn characters_of_every_plane_fit() {
        let text: Vec<char> = "a\u{0}\u{10ffff}\u{10ffff}中😀".chars().collect();
        let grams = Grams::of_characters(&text, 6);
        assert_eq!((1..=6).map(|n| grams.shared(&grams, n)).collect::<Vec<_>>(), [6, 5, 4, 3, 2, 1]);
    }
}
