//! The cases of the change beside the base's: which are gone, which lost the tag that made them must-pass, which are asked otherwise.

use std::collections::HashMap;

use super::earlier::Earlier;
use super::tree::Tree;
use super::{Known, Parts};
use crate::domain::{BaseRecord, Case, PolicyChange};
use crate::text::number::counted;

/// Names that are listed.
const NAMED: usize = 10;

pub(super) fn compare(tree: &Tree, earlier: &Earlier, cases: &[Known], record: &mut BaseRecord) {
    if let Err(problem) = look(tree, earlier, cases, record) {
        let text = format!("the base's cases could not be read, so nothing shows which of them are gone: {problem}");
        record.remarks.push(text);
    }
}

#[derive(Default)]
struct Found {
    removed: Vec<String>,
    freed: Vec<String>,
    questions: Vec<String>,
    references: Vec<String>,
    /// Something of them, and it is not known what.
    contents: Vec<String>,
}

fn look(tree: &Tree, earlier: &Earlier, cases: &[Known], record: &mut BaseRecord) -> Result<(), String> {
    let dataset = earlier.dataset(tree)?;
    let here: HashMap<&str, &Known> = cases.iter().map(|case| (&*case.id, case)).collect();
    let mut found = Found::default();
    for case in dataset.cases() {
        let case =
            case.map_err(|problems| problems.iter().next().map_or_else(String::new, |one| one.message.clone()))?;
        found.see(&case, here.get(&*case.id).copied(), earlier);
    }
    found.tell(record);
    Ok(())
}

impl Found {
    fn see(&mut self, case: &Case, now: Option<&Known>, earlier: &Earlier) {
        let id = case.id.to_string();
        let Some(now) = now else { return self.removed.push(id) };
        if earlier.policy.must_pass(&id, &case.tags) && !earlier.policy.must_pass(&id, &now.tags) {
            self.freed.push(id.clone());
        }
        if now.content.is_some_and(|content| content != case.content) {
            let before = Parts::of(case);
            match now.parts() {
                Some(parts) if parts.input != before.input => self.questions.push(id),
                Some(parts) if parts.reference != before.reference => self.references.push(id),
                Some(_) | None => self.contents.push(id),
            }
        }
    }

    fn tell(self, record: &mut BaseRecord) {
        let Self { removed, freed, questions, references, contents } = self;
        let change = |ids: &[String], old: &str, new: &str| PolicyChange {
            what: format!("{} ({})", counted(ids.len() as u64, "case", "cases"), listed(ids)),
            old: old.to_owned(),
            new: new.to_owned(),
            place: None,
            loosens: true,
        };
        if !removed.is_empty() {
            record.changes.push(change(&removed, "asked", "removed"));
        }
        if !freed.is_empty() {
            record.changes.push(change(&freed, "must pass", "without the tag that must_pass names"));
        }
        for (ids, what) in [(questions, "question"), (references, "reference"), (contents, "contents")] {
            if !ids.is_empty() {
                let cases = counted(
                    ids.len() as u64,
                    &format!("case changed its {what}"),
                    &format!("cases changed their {what}"),
                );
                record.remarks.push(format!("{cases}: {}", listed(&ids)));
            }
        }
    }
}

fn listed(ids: &[String]) -> String {
    let mut named: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
    let more = format!("{} more", ids.len().saturating_sub(NAMED));
    if ids.len() > NAMED {
        named.push(&more);
    }
    named.join(", ")
}
