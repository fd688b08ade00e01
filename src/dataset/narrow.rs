//! Fewer of the cases than the suite selects: those that somebody asks for, and the part of one shard.

use super::Dataset;
use super::stream::Cases;
use crate::diagnostic::Diagnostics;
use crate::domain::{Case, CaseSet, Shard};

impl Dataset {
    /// Keeps the cases for which `wanted` holds. They are read once; what is left has its own length and digest, and counts as filtered
    /// where something was left out. Nothing left is for the caller to refuse.
    ///
    /// # Errors
    /// A file that changed since it was checked.
    pub fn keep(&mut self, wanted: &mut dyn FnMut(&Case) -> bool) -> Result<(), Diagnostics> {
        let mut kept = Vec::new();
        let mut set = CaseSet::default();
        let mut cases = Cases::new(&self.entries);
        while let Some(case) = cases.next() {
            let case = case?;
            if wanted(&case) {
                set.add(&case.id, case.content);
                kept.extend(cases.position());
            }
        }
        drop(cases);
        for opened in self.entries.iter_mut().flat_map(|entry| &mut entry.files) {
            opened.select_none();
        }
        for position in kept {
            let files = self.entries.get_mut(position.entry).map(|entry| &mut entry.files);
            if let Some(opened) = files.and_then(|files| files.get_mut(position.file)) {
                opened.select(position.record, position.checksum);
            }
        }
        self.filtered |= set.cases() < self.len as u64;
        self.len = usize::try_from(set.cases()).unwrap_or(usize::MAX);
        self.digest = set.digest();
        Ok(())
    }

    /// From now on [`Dataset::cases`] gives the cases of one shard only, each with its position among all. `len` and `digest` stay those of
    /// all shards together.
    ///
    /// **Returns** how many cases the shard has; it may have none.
    ///
    /// # Errors
    /// A file that changed since it was checked.
    pub fn part(&mut self, shard: Shard) -> Result<u64, Diagnostics> {
        self.shard = Some(shard);
        let mut cases = 0;
        for case in self.cases() {
            case?;
            cases += 1;
        }
        Ok(cases)
    }
}
