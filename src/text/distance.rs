//! What two sequences of numbered items have in common, in their order; and the places of each item, as bits.
//!
//! Bit-parallel: a machine word holds 64 places, so that long texts stay affordable.

use std::collections::HashMap;

/// Most steps of 64 places that a comparison may take: about half a second.
pub const MOST_STEPS: usize = 1 << 28;

/// The characters of two texts as numbers from 0: equal characters have equal numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Characters {
    pub left: Vec<u32>,
    pub right: Vec<u32>,
    pub distinct: usize,
}

impl Characters {
    pub fn of(left: &str, right: &str) -> Self {
        let mut plain = [u32::MAX; 128];
        let mut others: HashMap<char, u32> = HashMap::new();
        let mut distinct = 0u32;
        let mut number = |c: char| {
            let known = match plain.get_mut(c as usize) {
                Some(known) => known,
                None => others.entry(c).or_insert(u32::MAX),
            };
            if *known == u32::MAX {
                *known = distinct;
                distinct += 1;
            }
            *known
        };
        let left = left.chars().map(&mut number).collect();
        let right = right.chars().map(&mut number).collect();
        Self { left, right, distinct: distinct as usize }
    }

    /// Whether comparing them takes no more than [`MOST_STEPS`].
    pub fn affordable(&self) -> bool {
        affordable(self.left.len(), self.right.len())
    }
}

/// Whether comparing sequences of these lengths takes no more than [`MOST_STEPS`].
pub fn affordable(left: usize, right: usize) -> bool {
    let (rows, columns) = (left.max(right), left.min(right));
    rows.saturating_mul(columns.div_ceil(64)) <= MOST_STEPS
}

/// Most words of masks that are laid out in full; beyond, only the blocks in which a number stands.
const FULL: usize = 1 << 16;

/// Where each number stands in a sequence, as bits of blocks of 64 places.
pub(super) struct Masks {
    blocks: usize,
    full: Vec<u64>,
    /// (block, bits) of each number, where the full table would be too large.
    sparse: Vec<Vec<(usize, u64)>>,
    row: Vec<u64>,
}

impl Masks {
    /// Of items below `distinct`.
    pub(super) fn of(items: &[u32], distinct: usize) -> Self {
        let blocks = items.len().div_ceil(64);
        let size = blocks.saturating_mul(distinct);
        let mut masks = Self { blocks, full: Vec::new(), sparse: Vec::new(), row: Vec::new() };
        let places = items.iter().enumerate().map(|(place, item)| (*item as usize, place / 64, 1u64 << (place % 64)));
        if size <= FULL {
            masks.full = vec![0; size];
            for (item, block, bit) in places {
                if let Some(bits) = masks.full.get_mut(item * blocks + block) {
                    *bits |= bit;
                }
            }
            return masks;
        }
        masks.row = vec![0; blocks];
        masks.sparse = vec![Vec::new(); distinct];
        for (item, block, bit) in places {
            let Some(list) = masks.sparse.get_mut(item) else { continue };
            match list.last_mut() {
                Some((last, bits)) if *last == block => *bits |= bit,
                _ => list.push((block, bit)),
            }
        }
        masks
    }

    /// The bits of one number, block by block.
    pub(super) fn row(&mut self, item: u32) -> &[u64] {
        let item = item as usize;
        if self.row.is_empty() {
            let start = item.saturating_mul(self.blocks);
            return self.full.get(start..start.saturating_add(self.blocks)).unwrap_or_default();
        }
        self.row.fill(0);
        for (block, bits) in self.sparse.get(item).into_iter().flatten() {
            if let Some(place) = self.row.get_mut(*block) {
                *place = *bits;
            }
        }
        &self.row
    }
}

/// Length of the longest common subsequence of items below `distinct`.
///
/// About `left.len() × right.len() / 64` steps; see [`affordable`].
/// **Source**: H. Hyyrö, *Bit-parallel LCS-length computation revisited*, 2004.
pub fn longest_common_subsequence(left: &[u32], right: &[u32], distinct: usize) -> usize {
    let (ends, left, right) = without_common_ends(left, right);
    let (rows, columns) = if left.len() < right.len() { (right, left) } else { (left, right) };
    let mut masks = Masks::of(columns, distinct);
    let mut state = vec![u64::MAX; columns.len().div_ceil(64)];
    for item in rows {
        let mut carry = false;
        // `V ← (V + (V & M)) | (V & !M)`, as one long number over all blocks.
        for (value, bits) in state.iter_mut().zip(masks.row(*item)) {
            let (sum, first) = value.overflowing_add(*value & bits);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            *value = sum | (*value & !bits);
        }
    }
    let mut common = ends;
    for (block, bits) in state.iter().enumerate() {
        let used = columns.len().saturating_sub(block * 64).min(64);
        let window = if used == 64 { u64::MAX } else { (1u64 << used) - 1 };
        common += (!bits & window).count_ones() as usize;
    }
    common
}

/// How many items both begin and end with, and what is left between.
pub(super) fn without_common_ends<'s>(left: &'s [u32], right: &'s [u32]) -> (usize, &'s [u32], &'s [u32]) {
    let begin = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let (left, right) = (left.get(begin..).unwrap_or_default(), right.get(begin..).unwrap_or_default());
    let end = left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count();
    let kept = |items: &'s [u32]| items.get(..items.len() - end).unwrap_or_default();
    (begin + end, kept(left), kept(right))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_table(left: &[u32], right: &[u32]) -> usize {
        let mut row = vec![0usize; right.len() + 1];
        for l in left {
            let mut diagonal = 0;
            for (j, r) in right.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if l == r { diagonal + 1 } else { above.max(row[j]) };
                diagonal = above;
            }
        }
        row[right.len()]
    }

    proptest! {
        #[test]
        fn bits_agree_with_the_table(left in proptest::collection::vec(0u32..5, 0..200), right in proptest::collection::vec(0u32..5, 0..200)) {
            let expected = by_table(&left, &right);
            prop_assert_eq!(longest_common_subsequence(&left, &right, 5), expected);
            // So many possible items that masks are kept sparse.
            prop_assert_eq!(longest_common_subsequence(&left, &right, 1 << 17), expected);
        }
    }

    #[test]
    fn characters_are_numbered_as_they_appear() {
        let numbered = Characters::of("aé中a", "中x");
        assert_eq!(numbered, Characters { left: vec![0, 1, 2, 0], right: vec![2, 3], distinct: 4 });
    }

    #[test]
    fn texts_of_any_size_are_refused_before_they_take_long() {
        assert!(affordable(100_000, 100_000) && affordable(10_000_000, 1_000));
        assert!(!affordable(1_000_000, 1_000_000) && !affordable(usize::MAX, usize::MAX));
    }
}
