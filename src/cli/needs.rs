//! What a run would lack, found before anything is called: references that evaluators need, cases that `must_pass` names, contexts that
//! retrieval metrics compare with.

use std::sync::Arc;

use crate::dataset::Dataset;
use crate::diagnostic::{Diagnostic, Diagnostics, Level, Source, Span};
use crate::evaluator::{self, Needs, Ready};
use crate::gate::Policy;
use crate::suite::Suite;

/// Cases named in full; the others are counted.
const NAMED: usize = 20;

/// Pushes every problem; only a need of the data set asks for another pass over it.
pub(super) fn check(
    suite: &Suite,
    dataset: &Dataset,
    evaluators: &[Ready],
    policy: Option<&Policy>,
    problems: &mut Diagnostics,
) {
    let mut unmatched = policy.map(Policy::unmatched).filter(|unmatched| !unmatched.is_empty());
    let mut without_contexts: Vec<&Ready> =
        evaluators.iter().filter(|ready| ready.info.needs.contains(&Needs::ExpectedContexts)).collect();
    let needs_reference = evaluators.iter().any(|ready| ready.info.needs.contains(&Needs::Reference));
    if unmatched.is_none() && without_contexts.is_empty() && !needs_reference {
        return;
    }
    let mut found = Diagnostics::default();
    let mut count = 0_usize;
    for case in dataset.cases() {
        let case = match case {
            Ok(case) => case,
            Err(more) => {
                problems.extend(more);
                return;
            }
        };
        if let Some(unmatched) = &mut unmatched {
            unmatched.see(&case);
        }
        if !case.expected_contexts.is_empty() {
            without_contexts.clear();
        }
        let lacking: Vec<&str> = evaluators
            .iter()
            .filter(|ready| evaluator::unmet(ready.info, &case).is_some())
            .map(|ready| &*ready.spec.name)
            .collect();
        if lacking.is_empty() {
            continue;
        }
        count += 1;
        if count <= NAMED {
            let place = &case.place;
            let message = format!("case `{}` has no reference, which {} needs", case.id, lacking.join(", "));
            let source = Arc::new(Source::new(place.file.as_ref(), ""));
            found.push(
                Diagnostic::error("missing-reference", message)
                    .at(&source, Span::new(place.line, 1, 1))
                    .help("add one to the row, map it with `fields.reference`, or leave the case out with `where`"),
            );
        }
    }
    if count > NAMED {
        let more = count - NAMED;
        let message = if more == 1 {
            "1 more case has no reference".to_owned()
        } else {
            format!("{more} more cases have no reference")
        };
        found.push(Diagnostic::error("missing-reference", message));
    }
    dataset.show_lines(&mut found);
    problems.extend(found);
    if let (Some(unmatched), Some(gate)) = (&unmatched, &suite.gate) {
        unmatched.problems(gate).into_iter().for_each(|problem| problems.push(problem));
    }
    for ready in without_contexts {
        problems.push(unmeasured(suite, &ready.spec.name));
    }
}

/// A metric that applies to no case.
fn unmeasured(suite: &Suite, metric: &str) -> Diagnostic {
    let message = format!("no case says what retrieval should find, so `{metric}` measures nothing");
    let problem = match suite.evaluators.iter().find(|block| &*block.name == metric) {
        Some(block) => block.problem("", "nothing-to-measure", message),
        None => Diagnostic::error("nothing-to-measure", message),
    };
    let help =
        "fill `expected_contexts` or `expected_texts` of the cases, map them with `fields`, or remove the metric";
    Diagnostic { level: Level::Warning, ..problem.help(help) }
}
