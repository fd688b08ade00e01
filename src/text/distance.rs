//! How alike two sequences are.

use std::collections::HashMap;
use std::hash::Hash;

/// Length of the longest common subsequence.
///
/// Bit-parallel, so that long texts stay affordable: about `left.len() × right.len() / 64` steps, memory linear.
/// **Source**: H. Hyyrö, *Bit-parallel LCS-length computation revisited*, 2004.
pub fn longest_common_subsequence<T: Eq + Hash>(left: &[T], right: &[T]) -> usize {
    let (rows, columns) = if left.len() < right.len() { (right, left) } else { (left, right) };
    let masks = masks(columns);
    let mut state = vec![u64::MAX; columns.len().div_ceil(64)];
    for row in rows {
        if let Some(mask) = masks.get(row) {
            advance(&mut state, mask);
        }
    }
    let mut common = 0usize;
    for (block, bits) in state.iter().enumerate() {
        let used = columns.len().saturating_sub(block * 64).min(64);
        let window = if used == 64 { u64::MAX } else { (1u64 << used) - 1 };
        common += (!bits & window).count_ones() as usize;
    }
    common
}

/// Where each value stands, as (block, bits), blocks ascending.
fn masks<T: Eq + Hash>(columns: &[T]) -> HashMap<&T, Vec<(usize, u64)>> {
    let mut masks: HashMap<&T, Vec<(usize, u64)>> = HashMap::new();
    for (position, value) in columns.iter().enumerate() {
        let (block, bit) = (position / 64, 1u64 << (position % 64));
        let list = masks.entry(value).or_default();
        match list.last_mut() {
            Some((last, bits)) if *last == block => *bits |= bit,
            _ => list.push((block, bit)),
        }
    }
    masks
}

/// One row: `V ← (V + (V & M)) | (V & !M)`, as one long number over all blocks.
fn advance(state: &mut [u64], mask: &[(usize, u64)]) {
    let mut mask = mask.iter().peekable();
    let mut carry = false;
    for (block, value) in state.iter_mut().enumerate() {
        let bits = match mask.peek() {
            Some((next, bits)) if *next == block => {
                mask.next();
                *bits
            }
            _ => 0,
        };
        let (sum, first) = value.overflowing_add(*value & bits);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        carry = first || second;
        *value = sum | (*value & !bits);
    }
}

/// How many items two bags share, counted with repetition.
pub fn shared<T: Eq + Hash>(left: &[T], right: &[T]) -> usize {
    let mut counts: HashMap<&T, usize> = HashMap::new();
    for item in left {
        *counts.entry(item).or_default() += 1;
    }
    right
        .iter()
        .filter(|item| match counts.get_mut(item) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        })
        .count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_table(left: &[u8], right: &[u8]) -> usize {
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
        fn bits_agree_with_the_table(left in proptest::collection::vec(0u8..5, 0..200), right in proptest::collection::vec(0u8..5, 0..200)) {
            prop_assert_eq!(longest_common_subsequence(&left, &right), by_table(&left, &right));
        }
    }

    #[test]
    fn bags_count_repetition() {
        assert_eq!(shared(&["a", "a", "b"], &["a", "a", "a", "c"]), 2);
        assert_eq!(shared::<u8>(&[], &[]), 0);
    }
}
