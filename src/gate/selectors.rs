//! What `must_pass` selects, before anything is measured: a selector that matches no case can never be met.

use std::collections::BTreeSet;

use super::Policy;
use super::policy::MustPass;
use crate::diagnostic::Diagnostic;
use crate::domain::Case;
use crate::suite::Block;
use crate::text::suggest;

/// Tags of the cases that a message lists.
const LISTED: usize = 12;

/// The selectors of `must_pass` that no case matched so far, by their position in the suite.
#[derive(Debug)]
pub struct Unmatched<'p> {
    ids: Vec<(usize, &'p str)>,
    tags: Vec<(usize, &'p str)>,
    /// Some tags that the cases have.
    seen: BTreeSet<String>,
}

impl Policy {
    /// All selectors of `must_pass`; show every case to [`Unmatched::see`].
    pub fn unmatched<'p>(&'p self) -> Unmatched<'p> {
        let numbered = |texts: &'p [String]| texts.iter().map(String::as_str).enumerate().collect();
        let MustPass { tags, ids } = &self.must_pass;
        Unmatched { ids: numbered(ids), tags: numbered(tags), seen: BTreeSet::new() }
    }
}

impl Unmatched<'_> {
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.tags.is_empty()
    }

    /// Takes out what selects `case`.
    pub fn see(&mut self, case: &Case) {
        self.ids.retain(|(_, id)| *id != &*case.id);
        self.tags.retain(|(_, wanted)| case.tags.iter().all(|tag| **tag != **wanted));
        if self.seen.len() < LISTED {
            self.seen.extend(case.tags.iter().map(|tag| tag.to_string()));
        }
    }

    /// An error for each that is left, at its place in `gate`.
    pub fn problems(&self, gate: &Block) -> Vec<Diagnostic> {
        let problem = |kind: &str, place: &str, (at, word): &(usize, &str)| {
            let message = format!("no case has the {kind} `{word}`, and `must_pass` asks for it");
            gate.problem(&format!("/must_pass/{place}/{at}"), "unmatched-selector", message)
        };
        let ids = self.ids.iter().map(|id| {
            problem("id", "ids", id).help("a run could never pass; write the id as the data set has it, or take it out")
        });
        let known: Vec<String> = self.seen.iter().take(LISTED).map(|tag| format!("`{tag}`")).collect();
        let help = if known.is_empty() {
            "no case has any tag: fill the column `tags`, or map one with `fields: { tags: … }`".to_owned()
        } else {
            format!("the cases have {}", known.join(", "))
        };
        let seen = || self.seen.iter().map(String::as_str);
        let tags = self.tags.iter().map(|tag| {
            let help =
                suggest::did_you_mean(tag.1, seen()).map_or_else(|| help.clone(), |meant| format!("{meant}; {help}"));
            problem("tag", "tags", tag).help(help)
        });
        ids.chain(tags).collect()
    }
}
