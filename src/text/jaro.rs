//! How alike two short texts are, names above all.

use super::distance::Characters;

/// Similarity above which a common beginning counts in addition, its longest part that counts, and how much each character does.
const BOOST_ABOVE: f64 = 0.7;
const PREFIX: usize = 4;
const WEIGHT: f64 = 0.1;

/// From 0 (nothing in common) to 1; 1 for two empty texts. Takes linear time.
///
/// **Source**: W. E. Winkler, *String comparator metrics and enhanced decision rules*, 1990, as rapidfuzz computes it.
pub fn jaro_winkler(texts: &Characters) -> f64 {
    let similarity = jaro(texts);
    if similarity <= BOOST_ABOVE {
        return similarity;
    }
    let prefix = texts.left.iter().zip(&texts.right).take(PREFIX).take_while(|(a, b)| a == b).count();
    similarity + prefix as f64 * WEIGHT * (1.0 - similarity)
}

/// The mean of: share of the left characters that match, share of the right ones, share of the matches that are in order.
pub fn jaro(texts: &Characters) -> f64 {
    let Characters { left, right, .. } = texts;
    if left.is_empty() && right.is_empty() {
        return 1.0;
    }
    let matches = matches(texts);
    if matches.is_empty() {
        return 0.0;
    }
    let mut places: Vec<usize> = matches.iter().map(|(place, _)| *place).collect();
    places.sort_unstable();
    let in_left = places.iter().filter_map(|place| left.get(*place));
    let in_right = matches.iter().filter_map(|(_, place)| right.get(*place));
    let transposed = in_left.zip(in_right).filter(|(a, b)| a != b).count() / 2;
    let common = matches.len() as f64;
    (common / left.len() as f64 + common / right.len() as f64 + (common - transposed as f64) / common) / 3.0
}

/// No place.
const NONE: usize = usize::MAX;

/// (place in left, place in right) of the characters that match, by place in right: each takes the first equal one on the left that
/// is free and no farther than the window.
fn matches(texts: &Characters) -> Vec<(usize, usize)> {
    let Characters { left, right, distinct } = texts;
    let window = (left.len().max(right.len()) / 2).saturating_sub(1);
    let mut free = Free::of(left, *distinct);
    let mut found = Vec::with_capacity(left.len().min(right.len()));
    for (place, item) in right.iter().enumerate() {
        // The window only moves on: what it has left behind never comes back.
        while free.first(*item).is_some_and(|first| first.saturating_add(window) < place) {
            free.take(*item);
        }
        if let Some(first) = free.first(*item).filter(|first| *first <= place.saturating_add(window)) {
            free.take(*item);
            found.push((first, place));
        }
    }
    found
}

/// The free places of each item, in their order.
struct Free {
    first: Vec<usize>,
    /// Place by place: the next one of the same item.
    next: Vec<usize>,
}

impl Free {
    fn of(items: &[u32], distinct: usize) -> Self {
        let mut free = Self { first: vec![NONE; distinct], next: vec![NONE; items.len()] };
        for (place, item) in items.iter().enumerate().rev() {
            if let (Some(first), Some(next)) = (free.first.get_mut(*item as usize), free.next.get_mut(place)) {
                *next = std::mem::replace(first, place);
            }
        }
        free
    }

    fn first(&self, item: u32) -> Option<usize> {
        self.first.get(item as usize).copied().filter(|place| *place != NONE)
    }

    fn take(&mut self, item: u32) {
        if let Some(first) = self.first.get_mut(item as usize) {
            *first = self.next.get(*first).copied().unwrap_or(NONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(left: &str, right: &str) -> f64 {
        jaro_winkler(&Characters::of(left, right))
    }

    #[test]
    fn the_examples_of_the_paper() {
        for (left, right, expected) in
            [("MARTHA", "MARHTA", 0.961_111), ("DWAYNE", "DUANE", 0.84), ("DIXON", "DICKSONX", 0.813_333)]
        {
            assert!((similarity(left, right) - expected).abs() < 1e-6, "{left}");
        }
        assert_eq!(similarity("", ""), 1.0);
        assert_eq!(similarity("a", ""), 0.0);
        assert_eq!(similarity("ab", "cd"), 0.0);
    }
}
