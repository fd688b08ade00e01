//! How many edits lead from one text to another.

use super::distance::{Characters, Masks, longest_common_subsequence, without_common_ends};

/// Least number of characters to insert, delete or replace.
///
/// About `left.len() × right.len() / 64` steps; see [`Characters::affordable`].
/// **Source**: G. Myers, *A fast bit-vector algorithm for approximate string matching*, 1999, in the blocks of H. Hyyrö, *A bit-vector
/// algorithm for computing Levenshtein and Damerau edit distances*, 2003.
pub fn levenshtein(texts: &Characters) -> usize {
    let (_, left, right) = without_common_ends(&texts.left, &texts.right);
    let (pattern, text) = if left.len() > right.len() { (right, left) } else { (left, right) };
    let Some(last) = pattern.len().checked_sub(1) else { return text.len() };
    let last_bit = 1u64 << (last % 64);
    let mut masks = Masks::of(pattern, texts.distinct);
    let mut columns = vec![Column { up: u64::MAX, down: 0 }; pattern.len().div_ceil(64)];
    let mut distance = pattern.len();
    for item in text {
        let mut carry = Carry { up: 1, down: 0 };
        let mut ends = Ends::default();
        for (column, bits) in columns.iter_mut().zip(masks.row(*item)) {
            ends = column.advance(*bits, &mut carry);
        }
        distance += usize::from(ends.up & last_bit != 0);
        distance -= usize::from(ends.down & last_bit != 0);
    }
    distance
}

/// 64 rows of the table: where the distance grows by one from row to row, and where it falls by one.
#[derive(Clone, Copy)]
struct Column {
    up: u64,
    down: u64,
}

/// What the block above hands down.
struct Carry {
    up: u64,
    down: u64,
}

/// Where the distance grew or fell from the last column to this one.
#[derive(Clone, Copy, Default)]
struct Ends {
    up: u64,
    down: u64,
}

impl Column {
    #[inline]
    fn advance(&mut self, bits: u64, carry: &mut Carry) -> Ends {
        let matches = bits | carry.down;
        let diagonal = ((matches & self.up).wrapping_add(self.up) ^ self.up) | matches | self.down;
        let ends = Ends { up: self.down | !(diagonal | self.up), down: diagonal & self.up };
        let up = (ends.up << 1) | carry.up;
        let down = (ends.down << 1) | carry.down;
        *carry = Carry { up: ends.up >> 63, down: ends.down >> 63 };
        self.up = down | !(diagonal | up);
        self.down = up & diagonal;
        ends
    }
}

/// 1 − edits / length of the longer text; 1 for two empty texts.
pub fn levenshtein_similarity(texts: &Characters) -> f64 {
    let longest = texts.left.len().max(texts.right.len());
    if longest == 0 { 1.0 } else { 1.0 - levenshtein(texts) as f64 / longest as f64 }
}

/// 2 × longest common subsequence / both lengths; 1 for two empty texts.
pub fn ratio(texts: &Characters) -> f64 {
    let both = texts.left.len() + texts.right.len();
    if both == 0 {
        return 1.0;
    }
    2.0 * longest_common_subsequence(&texts.left, &texts.right, texts.distinct) as f64 / both as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn distance(left: &str, right: &str) -> usize {
        levenshtein(&Characters::of(left, right))
    }

    #[test]
    fn known_distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("刘备字玄德", "刘备，字德"), 2);
        assert_eq!(distance("same", "same"), 0);
        assert!((ratio(&Characters::of("this is a test", "this is a test!")) - 28.0 / 29.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn bits_agree_with_the_table(left in "[a-d]{0,150}", right in "[a-d]{0,150}") {
            prop_assert_eq!(distance(&left, &right), strsim::levenshtein(&left, &right));
        }
    }
}
