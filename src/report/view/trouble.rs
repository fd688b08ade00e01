//! What could not be measured, by metric and kind, with an example of each.

use std::collections::HashMap;

use super::{EXCERPT, NAME};
use crate::domain::{Cell, FailureKind, Run, Side, TrialRecord};
use crate::report::clean::{Clean, Cleaner};
use crate::report::source::TextSource;

/// Groups that are shown.
const GROUPS: usize = 20;

/// Failures of one kind.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// The metric; for answers that never came, the target.
    pub what: Clean,
    pub kind: FailureKind,
    /// The system under test failed, rather than what measures it.
    pub of_target: bool,
    pub count: u64,
    /// The first case.
    pub case: Clean,
    /// What was said about it.
    pub message: Option<Clean>,
}

struct Group<'a> {
    what: String,
    kind: FailureKind,
    of_target: bool,
    metric: Option<&'a str>,
    count: u64,
    case: &'a str,
    offset: u64,
}

/// The most frequent first, then in the order of the cases.
pub(super) fn troubles(run: &Run, texts: Option<&dyn TextSource>, cleaner: &Cleaner) -> Vec<Trouble> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known: HashMap<(String, FailureKind), usize> = HashMap::new();
    let mut add = |what: String, kind, of_target, metric, case, trial: &TrialRecord| {
        let at = *known.entry((what.clone(), kind)).or_insert_with(|| {
            groups.push(Group { what, kind, of_target, metric, count: 0, case, offset: trial.offset });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.count += 1;
        }
    };
    for case in &run.cases {
        for trial in &case.trials {
            if let Err((kind, side)) = trial.answered {
                let target =
                    if case.target.is_empty() { "answers".to_owned() } else { format!("answers of {}", case.target) };
                add(target, kind, side == Side::Target, None, &*case.id, trial);
            }
            for (metric, cell) in run.header.metrics.iter().zip(&trial.cells) {
                let (kind, side) = match cell {
                    // Said once, as a missing answer.
                    Some(Cell::Error { kind: FailureKind::NoAnswer, .. }) if trial.answered.is_err() => continue,
                    Some(Cell::Error { kind, side }) => (*kind, *side),
                    Some(Cell::Unusable { kind }) => (*kind, Side::Infra),
                    Some(Cell::Value { .. } | Cell::Skipped(_)) | None => continue,
                };
                add(metric.name.to_string(), kind, side == Side::Target, Some(&*metric.name), &*case.id, trial);
            }
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups.iter().take(GROUPS).map(|group| trouble(group, texts, cleaner)).collect()
}

fn trouble(group: &Group<'_>, texts: Option<&dyn TextSource>, cleaner: &Cleaner) -> Trouble {
    let line = texts.and_then(|texts| texts.outcome(group.offset));
    let message = line.and_then(|line| match group.metric {
        None => line.error.map(|error| error.message),
        Some(metric) => {
            let score = line.scores.into_iter().find(|score| score.metric == metric)?;
            score.error.or(score.unusable).map(|failure| failure.message)
        }
    });
    Trouble {
        what: cleaner.line(&group.what, NAME),
        kind: group.kind,
        of_target: group.of_target,
        count: group.count,
        case: cleaner.line(group.case, NAME),
        message: message.map(|message| cleaner.line(&message, EXCERPT)).filter(|message| !message.is_blank()),
    }
}
