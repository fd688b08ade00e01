//! A set of cases, told by one digest.

use super::Digest;

/// Adds up the ids and contents of cases; their order does not matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaseSet {
    sum: u128,
    cases: u64,
}

impl CaseSet {
    pub fn add(&mut self, id: &str, content: Digest) {
        self.add_sum(Self::sum_of(id, content), 1);
    }

    /// A case as a number, to be added later.
    pub fn sum_of(id: &str, content: Digest) -> u128 {
        u128::from_le_bytes(*Digest::of([id.as_bytes(), content.bytes().as_slice()]).bytes())
    }

    /// `cases` whose numbers add up to `sum`.
    pub fn add_sum(&mut self, sum: u128, cases: u64) {
        self.sum = self.sum.wrapping_add(sum);
        self.cases = self.cases.saturating_add(cases);
    }

    pub fn cases(&self) -> u64 {
        self.cases
    }

    /// The digest of exactly these cases.
    pub fn digest(&self) -> Digest {
        Digest::of([self.sum.to_le_bytes().as_slice(), self.cases.to_le_bytes().as_slice()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_order_does_not_matter() {
        let set = |cases: &[(&str, &str)]| {
            let mut set = CaseSet::default();
            cases.iter().for_each(|(id, content)| set.add(id, Digest::of([content])));
            set.digest()
        };
        assert_eq!(set(&[("a", "1"), ("b", "2")]), set(&[("b", "2"), ("a", "1")]));
        for other in [&[("a", "1")][..], &[("a", "2"), ("b", "1")], &[("a", "1"), ("b", "2"), ("b", "2")]] {
            assert_ne!(set(&[("a", "1"), ("b", "2")]), set(other));
        }
    }
}
