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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::cases;
    use super::*;
    use crate::rows::support::suite_in;
    use crate::suite::Block;

    /// Two files and a CSV file, in two entries.
    fn dataset(folder: &std::path::Path, condition: Option<&str>) -> Dataset {
        let rows = |from: usize, to: usize| -> String {
            (from..to).map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"n\":{at}}}\n")).collect()
        };
        std::fs::write(folder.join("a.jsonl"), rows(0, 40)).unwrap();
        std::fs::write(folder.join("b.jsonl"), rows(40, 90)).unwrap();
        let csv: String = (90..130).map(|at| format!("q{at},{at}?,{at}\n")).collect();
        std::fs::write(folder.join("c.csv"), format!("id,input,n\n{csv}")).unwrap();
        let mut suite = suite_in(folder);
        for path in [json!(["a.jsonl", "b.jsonl"]), json!("c.csv")] {
            let mut entry = json!({ "path": path });
            if let Some(condition) = condition {
                entry["where"] = condition.into();
            }
            suite.dataset.push(Block::from_value("0", "0", entry));
        }
        Dataset::open(&suite).unwrap()
    }

    fn ids(cases: &[Case]) -> Vec<&str> {
        cases.iter().map(|case| &*case.id).collect()
    }

    #[test]
    fn what_is_kept_is_as_if_the_suite_had_selected_it() {
        let folder = tempfile::tempdir().unwrap();
        let chosen = dataset(folder.path(), Some("input contains '3'"));
        let mut kept = dataset(folder.path(), None);
        assert!(!kept.filtered);
        kept.keep(&mut |case| case.input.contains('3') || case.input.contains('7')).unwrap();
        kept.keep(&mut |case| case.input.contains('3')).unwrap();
        assert_eq!((kept.len, kept.digest, kept.filtered), (chosen.len, chosen.digest, true));
        assert_eq!(ids(&cases(&kept)), ids(&cases(&chosen)));
        kept.keep(&mut |_| false).unwrap();
        assert_eq!(cases(&kept).len(), 0);
    }

    #[test]
    fn keeping_everything_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = dataset(folder.path(), None);
        let digest = kept.digest;
        kept.keep(&mut |_| true).unwrap();
        assert_eq!((kept.len, kept.digest, kept.filtered), (130, digest, false));
    }

    #[test]
    fn the_parts_are_disjoint_and_whole_and_keep_their_positions() {
        let folder = tempfile::tempdir().unwrap();
        let mut positions = Vec::new();
        for index in 1..=4 {
            let mut part = dataset(folder.path(), None);
            let digest = part.digest;
            let count = part.part(Shard::new(index, 4).unwrap()).unwrap();
            let here: Vec<Case> = part.cases().map(|case| case.unwrap()).collect();
            assert_eq!((here.len() as u64, part.len, part.digest), (count, 130, digest));
            assert!(here.iter().all(|case| *case.id == *format!("q{}", case.index)));
            positions.extend(here.iter().map(|case| case.index));
        }
        positions.sort_unstable();
        assert_eq!(positions, (0..130).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_that_changes_in_between_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = dataset(folder.path(), None);
        std::fs::write(folder.path().join("b.jsonl"), "{\"id\":\"q40\",\"input\":\"other?\",\"n\":40}\n").unwrap();
        assert!(kept.keep(&mut |_| true).is_err());
    }
}
