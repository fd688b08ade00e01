//! A run of some cases that were asked for by name: what was left out on purpose is missed by no rule, and said everywhere.

use std::collections::HashSet;

use super::BaselineState;
use crate::domain::{Baseline, Run};

/// The baseline without the cases that the run left out; `None`: the run selected nothing, or there is no baseline.
pub(crate) fn baseline(run: &Run, state: &BaselineState) -> Option<BaselineState> {
    let BaselineState::Found(baseline) = state else { return None };
    run.header.selection.as_ref()?;
    let here: HashSet<&str> = run.cases.iter().map(|case| &*case.id).collect();
    let cases = baseline.cases.iter().filter(|case| here.contains(&*case.id)).cloned().collect();
    let Baseline { source, suite, runs, metrics, cases: _ } = &**baseline;
    let (source, suite, runs, metrics) = (source.clone(), suite.clone(), runs.clone(), metrics.clone());
    Some(BaselineState::Found(Box::new(Baseline { source, suite, runs, metrics, cases })))
}

/// The headline, with how much of the data set it is about.
pub(crate) fn said(run: &Run, headline: String) -> String {
    match &run.header.selection {
        Some(selection) => format!("{headline}; {}", selection.words(run.header.cases)),
        None => headline,
    }
}

pub(crate) fn note(run: &Run) -> Option<String> {
    let selection = run.header.selection.as_ref()?;
    Some(format!(
        "{} ({}): the others were neither measured nor compared, and this run cannot become the baseline",
        selection.words(run.header.cases),
        selection.by.join(" ")
    ))
}
