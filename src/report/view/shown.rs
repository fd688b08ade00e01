//! A changed case: what was asked, what was answered before and now, and which metrics moved.

use std::collections::HashMap;

use super::{DETAILED, EXCERPT, NAME};
use crate::domain::{Baseline, BaselineCase, BrokenCase, CaseId, CaseRecord, MetricName, Place, Run, TargetName};
use crate::report::clean::{Clean, Cleaner};
use crate::report::source::TextSource;
use crate::store::OutcomeLine;
use crate::text::number;

/// One metric of a changed case.
#[derive(Clone, Debug)]
pub struct Move {
    /// As it is, to find it again.
    pub key: MetricName,
    pub metric: Clean,
    /// `1 → 0`; `none → 0.2` for a new case; `0.2` where there is no baseline.
    pub scores: String,
    /// The evaluator's words about the new score.
    pub reason: Option<Clean>,
    pub decisive: bool,
}

/// A case that moved, with its texts; all metrics that moved stand in one entry.
#[derive(Clone, Debug)]
pub struct Shown {
    /// As they are, to find them again.
    pub key: (CaseId, TargetName),
    pub case: Clean,
    /// Where there are several targets.
    pub target: Option<Clean>,
    pub place: Option<Place>,
    /// The place in words, for a person.
    pub place_text: Option<Clean>,
    /// Worst first.
    pub moves: Vec<Move>,
    /// Made the gate fail.
    pub decisive: bool,
    pub question: Option<Clean>,
    pub reference: Option<Clean>,
    /// The accepted answer.
    pub before: Option<Clean>,
    /// The new answer, or why there is none.
    pub now: Option<Clean>,
}

impl Shown {
    /// The texts are the same before and now: something else moved, like what was retrieved.
    pub fn same_answer(&self) -> bool {
        self.before.is_some() && self.before == self.now
    }

    /// All metrics on one line: `hit_rate 1 → 0, mrr 1 → 0`.
    pub fn moved(&self) -> Clean {
        let moves: Vec<String> = self.moves.iter().map(|one| format!("{} {}", one.metric, one.scores)).collect();
        Clean::ours(moves.join(", "))
    }

    /// What the evaluators said, each saying once.
    pub fn reasons(&self) -> Vec<&Clean> {
        let mut reasons: Vec<&Clean> = Vec::new();
        for reason in self.moves.iter().filter_map(|one| one.reason.as_ref()) {
            if !reason.is_blank() && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons
    }
}

/// Finds the texts of cases.
pub(super) struct Library<'a> {
    cases: HashMap<(&'a str, &'a str), &'a CaseRecord>,
    baseline: Option<&'a Baseline>,
    texts: Option<&'a dyn TextSource>,
    cleaner: &'a Cleaner,
    several: bool,
}

impl<'a> Library<'a> {
    pub(super) fn new(
        run: &'a Run,
        baseline: Option<&'a Baseline>,
        texts: Option<&'a dyn TextSource>,
        cleaner: &'a Cleaner,
    ) -> Self {
        let cases = run.cases.iter().map(|case| ((&*case.id, &*case.target), case)).collect();
        Self { cases, baseline, texts, cleaner, several: run.header.targets.len() > 1 }
    }

    /// One entry a case, in the order in which cases come first; and how many cases are left out.
    pub(super) fn group(&self, changed: &[BrokenCase]) -> (Vec<Shown>, usize) {
        let mut order: Vec<(&str, &str)> = Vec::new();
        let mut groups: HashMap<(&str, &str), Vec<&BrokenCase>> = HashMap::new();
        for one in changed {
            let key = (&*one.case, &*one.target);
            let group = groups.entry(key).or_default();
            if group.is_empty() {
                order.push(key);
            }
            group.push(one);
        }
        let more = order.len().saturating_sub(DETAILED);
        let shown = order.iter().take(DETAILED).filter_map(|key| self.shown(groups.get(key)?)).collect();
        (shown, more)
    }

    fn shown(&self, group: &[&BrokenCase]) -> Option<Shown> {
        let first = group.first()?;
        let record = self.cases.get(&(&*first.case, &*first.target)).copied();
        let line = record.and_then(|record| self.texts?.outcome(record.trials.first()?.offset));
        let line = line.as_ref();
        let text =
            |text: Option<&str>| text.map(|text| self.cleaner.line(text, EXCERPT)).filter(|text| !text.is_blank());
        let answer = line.and_then(|line| line.answer.as_ref()).map(|answer| answer.text.as_str());
        let failure = line.and_then(|line| line.error.as_ref()).map(|error| format!("no answer: {}", error.message));
        let nothing = answer.is_some_and(|answer| answer.trim().is_empty()).then_some("(an empty answer)");
        let place = first.place.clone().or_else(|| record.and_then(|record| record.place.clone()));
        Some(Shown {
            key: (first.case.clone(), first.target.clone()),
            case: self.cleaner.line(&first.case, NAME),
            target: self.several.then(|| self.cleaner.line(&first.target, NAME)),
            place_text: place.as_ref().map(|place| self.cleaner.line(&format!("{}:{}", place.file, place.line), NAME)),
            place,
            moves: group.iter().map(|one| self.one_move(one, line)).collect(),
            decisive: group.iter().any(|one| one.decisive),
            question: text(line.and_then(|line| line.input.as_deref())),
            reference: text(line.and_then(|line| line.reference.as_deref())),
            before: text(self.before(first).and_then(|known| known.answer.as_deref())),
            now: text(nothing.or(answer).or(failure.as_deref())),
        })
    }

    fn one_move(&self, one: &BrokenCase, line: Option<&OutcomeLine>) -> Move {
        let score = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), number::case_score);
        let found = line.and_then(|line| line.scores.iter().find(|score| *score.metric == *one.metric));
        let failed = found.and_then(|score| score.error.as_ref().or(score.unusable.as_ref()));
        let reason = found.and_then(|score| score.reason.as_deref()).or(failed.map(|failed| failed.message.as_str()));
        Move {
            key: one.metric.clone(),
            metric: if one.metric.is_empty() { Clean::ours("answer") } else { self.cleaner.line(&one.metric, NAME) },
            scores: match (one.baseline, one.current) {
                (None, None) => "lost".to_owned(),
                (None, current @ Some(_)) if self.baseline.is_none() => score(current),
                (baseline, current) => format!("{} → {}", score(baseline), score(current)),
            },
            reason: reason.map(|reason| self.cleaner.line(reason, EXCERPT)),
            decisive: one.decisive,
        }
    }

    fn before(&self, case: &BrokenCase) -> Option<&'a BaselineCase> {
        let cases = &self.baseline?.cases;
        let at =
            cases.binary_search_by(|known| (&*known.id, &*known.target).cmp(&(&*case.case, &*case.target))).ok()?;
        cases.get(at)
    }
}
