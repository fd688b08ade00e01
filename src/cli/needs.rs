//! What evaluators and the gate need and cases lack, found before anything is called.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::dataset::Dataset;
use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span};
use crate::evaluator;
use crate::gate::Policy;
use crate::suite::Block;
use crate::text::suggest;

/// Cases named in full; the others are counted.
const NAMED: usize = 20;

/// What evaluators need and cases lack, before anything is called. Only a need of the data set asks for another pass over it.
pub(super) fn check(dataset: &Dataset, evaluators: &[evaluator::Ready]) -> Result<(), Diagnostics> {
    if !evaluators.iter().any(|ready| ready.info.needs.contains(&evaluator::Needs::Reference)) {
        return Ok(());
    }
    let mut problems = Diagnostics::default();
    let mut found = 0_usize;
    for case in dataset.cases() {
        let case = case?;
        let lacking: Vec<&str> = evaluators
            .iter()
            .filter(|ready| evaluator::unmet(ready.info, &case).is_some())
            .map(|ready| &*ready.spec.name)
            .collect();
        if lacking.is_empty() {
            continue;
        }
        found += 1;
        if found <= NAMED {
            let place = &case.place;
            let message = format!("case `{}` has no reference, which {} needs", case.id, lacking.join(", "));
            let source = Arc::new(Source::new(place.file.as_ref(), ""));
            problems.push(
                Diagnostic::error("missing-reference", message)
                    .at(&source, Span::line(place.line))
                    .help("add one to the row, map it with `fields.reference`, or leave the case out with `where`"),
            );
        }
    }
    if found > NAMED {
        let more = found - NAMED;
        problems.push(Diagnostic::error("missing-reference", format!("{more} more cases have no reference")));
    }
    if found == 0 { Ok(()) } else { Err(problems) }
}

/// Tags that are told where one is not there.
const TAGS: usize = 20;

/// Every id and tag of `must_pass` selects a case: one that selects none would be found only after all calls were made.
///
/// # Errors
/// Each that selects none, at its place in the suite.
pub(super) fn must_pass(dataset: &Dataset, policy: &Policy, gate: Option<&Block>) -> Result<(), Diagnostics> {
    let (ids, tags) = policy.must_pass_selectors();
    let Some(gate) = gate.filter(|_| !(ids.is_empty() && tags.is_empty())) else { return Ok(()) };
    let (mut here, mut tagged): (BTreeSet<&str>, BTreeSet<String>) = (BTreeSet::new(), BTreeSet::new());
    for case in dataset.cases() {
        let case = case?;
        here.extend(ids.iter().map(String::as_str).filter(|id| **id == *case.id));
        for tag in &case.tags {
            if !tagged.contains(&**tag) {
                tagged.insert(tag.to_string());
            }
        }
    }
    let mut problems = Diagnostics::default();
    for (at, id) in ids.iter().enumerate().filter(|(_, id)| !here.contains(id.as_str())) {
        let message = format!("no selected case has the id `{id}`, which must pass");
        let help = "correct it, or check `where` and `sample`: they may leave the case out";
        problems.push(gate.problem(&format!("/must_pass/ids/{at}"), "selects-nothing", message).help(help));
    }
    for (at, tag) in tags.iter().enumerate().filter(|(_, tag)| !tagged.contains(*tag)) {
        let known = || tagged.iter().map(String::as_str);
        let help = suggest::did_you_mean(tag, known()).unwrap_or_else(|| match tagged.is_empty() {
            true => "no case has a tag: map the column with `fields.tags`".to_owned(),
            false => format!("tags here: {}", suggest::list(known().take(TAGS), "and")),
        });
        let message = format!("no selected case has the tag `{tag}`, which must pass");
        problems.push(gate.problem(&format!("/must_pass/tags/{at}"), "selects-nothing", message).help(help));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
