//! What the answers took, in words.

use super::super::scene::{Finding, Scene};
use super::super::sheet::Sheet;
use super::super::word::capital;
use super::Asked;
use super::sample::Sample;
use crate::domain::{Reason, Resource, RuleVerdict, Statistic, Unit};
use crate::text::number::{self, counted};

/// `the 95th percentile of latency`, with the target where there are several.
pub(super) fn subject(scene: &Scene<'_>, asked: &Asked<'_>, sheet: &Sheet<'_>) -> String {
    let what = scene.label(asked.resource.word(), &sheet.target);
    match asked.statistic {
        Statistic::Mean => format!("mean {what}"),
        Statistic::P50 => format!("the median {what}"),
        Statistic::P95 => format!("the 95th percentile of {what}"),
        Statistic::CaseMax => format!("the largest {what} of an answer"),
        Statistic::Total => format!("{what} in total"),
    }
}

/// In its unit; beside a limit visibly on its side of it.
pub(super) fn amount(value: f64, unit: Unit, limit: Option<f64>) -> String {
    number::amount(value, limit, unit.places(value), unit.affixes())
}

pub(super) fn nothing_known(finding: Finding, subject: &str, sample: &Sample) -> Finding {
    let why = match sample.resource {
        Resource::Latency => "no answer was timed in this run: those from the ledger or from a file do not count",
        Resource::Tokens => "no answer says how many tokens it took",
        Resource::Cost => "no answer says what it cost",
    };
    let next = next(sample.resource);
    finding
        .saying(format!("{subject} is not known: {why}"), format!("{} is not known: {why}. {next}", capital(subject)))
}

/// What makes the numbers known.
fn next(resource: Resource) -> &'static str {
    match resource {
        Resource::Latency => "Ask anew with --ledger refresh, or let it warn with on_missing: warn.",
        Resource::Tokens => "Give the target its `usage`, or let it warn with on_missing: warn.",
        Resource::Cost => "Give the model its `price`, or let it warn with on_missing: warn.",
    }
}

pub(super) fn nothing_to_compare(finding: Finding, subject: &str, resource: Resource) -> Finding {
    let text = format!("{subject} has nothing to be compared with");
    let why = format!("the baseline does not say the {} of its answers; accept a run that does", resource.word());
    finding.saying(text.clone(), format!("{}: {why}.", capital(&text)))
}

fn over(sample: &Sample) -> String {
    let cases = counted(sample.answered, "answered case", "answered cases");
    let cases = if sample.missing() == 0 { cases } else { format!("{} of {cases}", number::count(sample.measured())) };
    // Where every case has one answer, the cases have said it.
    if sample.silent == sample.missing() && sample.lost == 0 {
        return cases;
    }
    format!("{cases}, {} of {}", number::count(sample.told()), counted(sample.all(), "answer", "answers"))
}

/// Why a part is not known and what to do, behind a limit that nothing can vouch for.
fn unknown(finding: &Finding, sample: &Sample) -> String {
    if (finding.comparison.verdict, finding.comparison.reason) != (RuleVerdict::Inconclusive, Reason::Missing) {
        return String::new();
    }
    if sample.silent == 0 && sample.lost > 0 {
        let lost = counted(sample.lost, "answer was lost, and what it", "answers were lost, and what they");
        let least =
            if sample.resource == Resource::Latency { ": one that timed out took at least its timeout" } else { "" };
        return format!(
            " {lost} took is not known{least}. Mend what they failed of and run again, or let it warn with on_missing: warn."
        );
    }
    let why = match sample.resource {
        Resource::Latency => {
            "The others were not timed in this run: those from the ledger or from a file do not count."
        }
        Resource::Tokens => "The others do not say how many tokens they took.",
        Resource::Cost => "The others do not say what they cost.",
    };
    format!(" {why} {}", next(sample.resource))
}

/// Said where an interval was asked for that there never is.
const BY_ITS_VALUE: &str = " It has no interval, so the value decides.";

pub(super) fn limit(finding: Finding, subject: &str, sample: &Sample, limit: f64, by_its_value: bool) -> Finding {
    let unit = sample.resource.unit();
    let value = finding.comparison.current.map_or_else(String::new, |value| amount(value, unit, Some(limit)));
    let most = amount(limit, unit, None);
    let likely = finding.comparison.ci.map_or_else(String::new, |[low, high]| {
        format!(", likely between {} and {}", amount(low, unit, None), amount(high, unit, None))
    });
    let text = match finding.comparison.verdict {
        RuleVerdict::Violated if finding.comparison.current.is_some_and(|current| current <= limit) => {
            format!("{subject} is {value}, and it is not shown to be at most {most}, as mode strict asks")
        }
        RuleVerdict::Violated => format!("{subject} is {value}, above the allowed {most}"),
        RuleVerdict::Met => format!("{subject} is {value}, at most {most} as required"),
        RuleVerdict::Inconclusive if finding.comparison.reason == Reason::Missing => {
            format!("{subject} is {value} as far as it is known, which cannot vouch for at most {most}")
        }
        RuleVerdict::Inconclusive | RuleVerdict::NotEvaluated => {
            format!("{subject} is {value}: at most {most} can be neither confirmed nor ruled out")
        }
    };
    let by = if by_its_value { BY_ITS_VALUE } else { "" };
    let explanation = format!("{}{likely} ({}).{by}{}", capital(&text), over(sample), unknown(&finding, sample));
    finding.saying(text, explanation)
}

/// The two levels, what may be between them, and how they are read.
pub(super) struct Levels {
    pub(super) old: f64,
    pub(super) current: f64,
    /// As a share of the old one.
    pub(super) most: f64,
    /// The current level is within that.
    pub(super) holds: bool,
    /// An interval was asked for that there never is.
    pub(super) by_its_value: bool,
}

pub(super) fn rise(finding: Finding, subject: &str, now: &Sample, levels: &Levels) -> Finding {
    let Levels { old, current, most, holds, by_its_value } = *levels;
    let unit = now.resource.unit();
    let shown = |value: f64| amount(now.shown(value), unit, None);
    let change = match old > 0.0 {
        true => format!("by {}", number::percent(current / old - 1.0, Some(most))),
        false if current > 0.0 => "from nothing".to_owned(),
        false => format!("by {}", number::percent(0.0, None)),
    };
    let most = number::percent(most, None);
    let levels = format!("{} → {}", shown(old), shown(current));
    let text = match finding.comparison.verdict {
        RuleVerdict::Violated if holds => {
            format!("{subject} changed {change} ({levels}), and not more than {most} is not shown, as mode strict asks")
        }
        RuleVerdict::Violated => format!("{subject} rose {change} ({levels}), more than the allowed {most}"),
        RuleVerdict::Met => format!("{subject} changed {change} ({levels}), within the allowed {most}"),
        RuleVerdict::Inconclusive | RuleVerdict::NotEvaluated => {
            format!(
                "{subject} changed {change} ({levels}): whether by more than {most} can be neither confirmed nor ruled out"
            )
        }
    };
    let by = if by_its_value { BY_ITS_VALUE } else { "" };
    let explanation = format!("{}, over {}.{by}", capital(&text), counted(now.measured(), "case", "cases"));
    finding.saying(text, explanation)
}
