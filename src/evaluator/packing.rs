//! What asking about several subjects in one request saves.

/// Bytes of a request that are taken for one token, as for budgets: for most languages a little more tokens than there are.
const BYTES_A_TOKEN: u64 = 4;

/// How an evaluator packs. The bytes are those of the prompt that are no text of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// Subjects in one request at most; at least 2.
    pub size: usize,
    /// Bytes of the prompt for a subject alone.
    pub alone: usize,
    /// Bytes of the prompt for a pack, whatever is in it.
    pub shared: usize,
    /// Bytes of each subject in it.
    pub each: usize,
}

impl Packing {
    /// Requests for `subjects` that stand side by side.
    pub fn requests(&self, subjects: u64) -> u64 {
        subjects.div_ceil((self.size as u64).max(1))
    }

    /// Prompt tokens that packing `subjects` into `requests` saves, if no item has to be asked again.
    pub fn saved_tokens(&self, subjects: u64, requests: u64) -> u64 {
        let alone = subjects.saturating_mul(self.alone as u64);
        let packed =
            requests.saturating_mul(self.shared as u64).saturating_add(subjects.saturating_mul(self.each as u64));
        alone.saturating_sub(packed) / BYTES_A_TOKEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pack_may_be_smaller_and_nothing_is_saved_where_packs_cost_more() {
        let packing = Packing { size: 5, alone: 400, shared: 600, each: 40 };
        assert_eq!((packing.requests(0), packing.requests(5), packing.requests(6)), (0, 1, 2));
        assert_eq!(packing.saved_tokens(10, 2), (4_000 - 1_200 - 400) / 4);
        assert_eq!(packing.saved_tokens(1, 1), 0);
    }
}
