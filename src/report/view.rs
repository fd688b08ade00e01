//! What every report shows, gathered once.

use std::collections::HashMap;

use crate::domain::{Baseline, BrokenCase, Redactor, Run, Verdict};
use crate::store::{OutcomeLine, Texts};

/// A changed case with its texts, redacted.
#[derive(Clone, Debug)]
pub struct Shown {
    pub case: BrokenCase,
    pub question: String,
    pub before: Option<String>,
    pub now: String,
    pub reason: Option<String>,
}

/// A run with its verdict.
pub struct View<'a> {
    pub run: &'a Run,
    pub verdict: &'a Verdict,
    /// Worst first.
    pub broken: Vec<Shown>,
    pub fixed: Vec<Shown>,
    pub redactor: Redactor,
}

impl<'a> View<'a> {
    /// Texts of changed cases come from the run's results file; without one (or where it changed) the case is shown without texts.
    pub fn new(
        run: &'a Run,
        verdict: &'a Verdict,
        baseline: Option<&Baseline>,
        texts: Option<&Texts>,
        redactor: Redactor,
    ) -> Self {
        let offsets: HashMap<(&str, &str), u64> = run
            .cases
            .iter()
            .filter_map(|case| Some(((&*case.id, &*case.target), case.trials.first()?.offset)))
            .collect();
        let show = |case: &BrokenCase| {
            let offset = offsets.get(&(&*case.case, &*case.target));
            let line = offset.and_then(|offset| texts?.outcome(*offset).ok());
            shown(case, line.as_ref(), baseline, &redactor)
        };
        let (broken, fixed) = (verdict.broken.iter().map(show).collect(), verdict.fixed.iter().map(show).collect());
        Self { run, verdict, broken, fixed, redactor }
    }
}

fn shown(case: &BrokenCase, line: Option<&OutcomeLine>, baseline: Option<&Baseline>, redactor: &Redactor) -> Shown {
    let old = baseline.and_then(|baseline| {
        let key = |known: &crate::domain::BaselineCase| (known.id.clone(), known.target.clone());
        let wanted = (case.case.clone(), case.target.clone());
        let at = baseline.cases.binary_search_by(|known| key(known).cmp(&wanted)).ok()?;
        baseline.cases.get(at)?.answer.clone()
    });
    let score = line.and_then(|line| line.scores.iter().find(|score| *score.metric == *case.metric));
    let answer = line.and_then(|line| line.answer.as_ref()).map(|answer| answer.text.clone());
    let error = line.and_then(|line| line.error.as_ref()).map(|error| format!("(no answer: {})", error.message));
    Shown {
        case: case.clone(),
        question: redactor.redact(line.and_then(|line| line.input.as_deref()).unwrap_or_default()),
        before: old.map(|text| redactor.redact(&text)),
        now: redactor.redact(&answer.or(error).unwrap_or_default()),
        reason: score.and_then(|score| score.reason.as_deref()).map(|reason| redactor.redact(reason)),
    }
}
