//! Cases that are known to be flaky and are excused for a time: they count for no limit and need not pass, each with an owner, a reason
//! and a last day (F83). The comparison with the baseline keeps them: leaving them out would bias its mean (statistics §12.5).

use std::collections::BTreeSet;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::Checker;
use super::policy::MetricPolicy;
use super::sheet::Sheet;
use crate::domain::{MetricSpec, Run};
use crate::text::number::counted;

/// Entries that a suite may hold if it does not say otherwise.
const MOST: usize = 5;
/// What it may say at most: a quarantine is for a few.
const LIMIT: usize = 50;

/// Cases that are excused for a time.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct QuarantineSettings {
    /// Entries allowed, 1 to 50. Default 5.
    pub max: Option<usize>,
    /// The cases.
    pub cases: Vec<EntrySettings>,
}

/// One excused case.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntrySettings {
    /// The case's id.
    pub case: String,
    /// The metric it is excused from; without it from all.
    #[serde(default)]
    pub metric: Option<String>,
    /// Who mends it.
    pub owner: String,
    /// Why it is excused.
    pub reason: String,
    /// The last day, in UTC: `2026-12-31`. From the next day on it counts again.
    pub until: String,
}

/// The list, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quarantine(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    case: String,
    metric: Option<String>,
    owner: String,
    reason: String,
    until: Date,
}

impl Quarantine {
    pub(crate) fn checked(settings: QuarantineSettings, known: &[MetricSpec], checker: &mut Checker<'_>) -> Self {
        let QuarantineSettings { max, cases } = settings;
        let most = max.unwrap_or(MOST);
        if !(1..=LIMIT).contains(&most) {
            checker.push("/quarantine/max", "out-of-range", format!("max is {most}"), "it must be from 1 to 50");
        }
        if cases.len() > most {
            let message =
                format!("{} are in quarantine, and {most} may be", counted(cases.len() as u64, "case", "cases"));
            checker.push(
                "/quarantine/cases",
                "quarantine-full",
                message,
                "mend some of them, or take them out of the data set",
            );
        }
        let mut seen = BTreeSet::new();
        let mut entries = Vec::new();
        for (at, entry) in cases.into_iter().enumerate() {
            let place = |key: &str| format!("/quarantine/cases/{at}/{key}");
            for (key, text) in [("case", &entry.case), ("owner", &entry.owner), ("reason", &entry.reason)] {
                if text.trim().is_empty() {
                    checker.push(
                        &place(key),
                        "empty",
                        format!("`{key}` is empty"),
                        "a case in quarantine has an owner and a reason",
                    );
                }
            }
            if let Some(metric) = &entry.metric
                && !known.is_empty()
                && !known.iter().any(|spec| *spec.name == **metric)
            {
                checker.unknown_metric(&place("metric"), metric, known);
            }
            if !seen.insert((entry.case.clone(), entry.metric.clone())) {
                checker.push(
                    &place("case"),
                    "duplicate",
                    format!("`{}` stands here twice", entry.case),
                    "keep one of them",
                );
            }
            match entry.until.trim().parse::<Date>() {
                Ok(until) => {
                    let EntrySettings { case, metric, owner, reason, until: _ } = entry;
                    entries.push(Entry { case, metric, owner, reason, until });
                }
                Err(_) => {
                    let message = format!("`{}` is no day", entry.until);
                    checker.push(&place("until"), "wrong-type", message, "write the last day as 2026-12-31");
                }
            }
        }
        Self(entries)
    }

    /// The entries that hold on the day of the run; a run that says no day excuses nobody.
    fn active(&self, run: &Run) -> impl Iterator<Item = &Entry> {
        let day = day_of(run);
        self.0.iter().filter(move |entry| day.is_some_and(|day| day <= entry.until))
    }

    /// Whether the case is excused from the metric in this run.
    pub(crate) fn excuses(&self, run: &Run, case: &str, metric: &str) -> bool {
        self.active(run).any(|entry| entry.case == case && entry.metric.as_deref().is_none_or(|it| it == metric))
    }

    /// Takes what is excused out of what the limits read.
    pub(crate) fn apply(&self, run: &Run, sheets: &mut [Sheet<'_>], metrics: &[(MetricSpec, MetricPolicy)]) {
        for entry in self.active(run) {
            for sheet in sheets.iter_mut() {
                let Some(row) = sheet.rows.iter().position(|row| *row.id == *entry.case) else { continue };
                for (at, (spec, _)) in metrics.iter().enumerate() {
                    if entry.metric.as_deref().is_none_or(|metric| *metric == *spec.name) {
                        sheet.excuse(at, row);
                    }
                }
            }
        }
    }

    /// What every report says of it.
    pub(crate) fn notes(&self, run: &Run) -> Vec<String> {
        let day = day_of(run);
        let note = |entry: &Entry| {
            let Entry { case, metric, owner, reason, until } = entry;
            let what = metric.as_deref().map_or_else(|| case.clone(), |metric| format!("{case} ({metric})"));
            let there = run.cases.iter().any(|row| *row.id == **case);
            match day {
                _ if !there && run.header.selection.is_none() => {
                    format!("quarantine: there is no case {case}; {owner} can take the entry out")
                }
                None => format!("quarantine: the run says no date, so {what} counts"),
                Some(day) if day > *until => {
                    format!("quarantine: that of {what} ended on {until}, so it counts again ({owner}: {reason})")
                }
                Some(_) => format!(
                    "quarantine: {what} counts for no limit and need not pass, until {until} ({owner}: {reason})"
                ),
            }
        };
        self.0.iter().map(note).collect()
    }
}

fn day_of(run: &Run) -> Option<Date> {
    run.header.started.as_deref()?.get(..10)?.parse().ok()
}
