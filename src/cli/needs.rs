//! What evaluators need and cases lack, found before anything is called.

use std::sync::Arc;

use crate::dataset::Dataset;
use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span};
use crate::evaluator;

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
