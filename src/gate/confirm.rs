//! Before a change is blamed: its suspects are asked of the system as the base branch has it. Where that does no better today, it is the
//! environment that changed, and nothing is decided.
//!
//! The suspects were chosen because they scored low, so that the base would do better by luck alone: that it does proves nothing, that it does
//! not speaks against blaming the change. So this never makes a run red, and never makes one green.

use std::collections::{BTreeMap, BTreeSet};

use super::looks::Look;
use super::scene::{Finding, Scene};
use super::word::names;
use super::{BaselineState, Policy};
use crate::domain::{
    BrokenCase, CaseId, Comparison, Direction, MetricSpec, Reason, RuleKind, RuleVerdict, Run, Severity, TargetName,
    Verdict,
};
use crate::text::number::counted;

/// The share of a drop that the base must show too.
const HALF: f64 = 0.5;

/// The cases to be asked again: those that a verdict's failing rules name, as far as they are listed.
pub fn suspects(verdict: &Verdict) -> BTreeSet<CaseId> {
    let about_cases =
        verdict.rules.iter().any(|rule| rule.severity == Severity::Fail && About::of(rule.rule) != About::Level);
    let decisive = verdict.broken.iter().filter(|case| case.decisive && about_cases);
    decisive.map(|case| case.case.clone()).collect()
}

/// What a rule judges, and so what can excuse it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// Each by itself: all of them must be the environment's.
    SingleCases,
    /// What a metric lost against another run.
    Comparison,
    /// A level that is required on any day, or no case at all.
    Level,
}

impl About {
    fn of(rule: RuleKind) -> Self {
        match rule {
            RuleKind::EachCase | RuleKind::MustPass | RuleKind::NewErrors => Self::SingleCases,
            RuleKind::NotWorse | RuleKind::Slice | RuleKind::MaxDrop => Self::Comparison,
            RuleKind::Threshold
            | RuleKind::PassRate
            | RuleKind::Percentile
            | RuleKind::Resource
            | RuleKind::ResourceRise
            | RuleKind::JudgeTrust
            | RuleKind::Anchor
            | RuleKind::Coverage
            | RuleKind::Baseline
            | RuleKind::Policy
            | RuleKind::Complete
            | RuleKind::Reported => Self::Level,
        }
    }
}

/// What the base's system came to on the suspects, by case and metric.
struct Today {
    scores: BTreeMap<(CaseId, String), f64>,
    answered: BTreeSet<CaseId>,
    asked: BTreeSet<CaseId>,
    specs: Vec<MetricSpec>,
}

impl Today {
    fn of(again: &Run, policy: &Policy) -> Self {
        let state = BaselineState::NotAsked;
        let scene = Scene::new(again, again, &state, policy, Look::only(again, policy.alpha));
        let mut today = Self {
            scores: BTreeMap::new(),
            answered: BTreeSet::new(),
            asked: BTreeSet::new(),
            specs: scene.metrics.iter().map(|(spec, _)| spec.clone()).collect(),
        };
        for sheet in &scene.sheets {
            for (at, row) in sheet.rows.iter().enumerate() {
                today.asked.insert(row.id.clone());
                if row.trials.iter().any(|trial| trial.answered.is_ok()) {
                    today.answered.insert(row.id.clone());
                }
                for (metric, (spec, _)) in scene.metrics.iter().enumerate() {
                    if let Some(mean) = sheet.column(metric).get(at).and_then(|cell| cell.score()) {
                        today.scores.insert((row.id.clone(), spec.name.to_string()), mean.value());
                    }
                }
            }
        }
        today
    }

    fn better(&self, metric: &str, left: f64, right: f64) -> bool {
        let lower = self.specs.iter().any(|spec| *spec.name == *metric && spec.direction == Direction::Lower);
        if lower { left < right } else { left > right }
    }

    /// `None`: it was not asked, or its score could not be had.
    fn does_no_better(&self, case: &BrokenCase) -> Option<bool> {
        if case.metric.is_empty() {
            return self.asked.contains(&case.case).then(|| !self.answered.contains(&case.case));
        }
        let today = *self.scores.get(&(case.case.clone(), case.metric.to_string()))?;
        Some(case.current.is_some_and(|current| !self.better(&case.metric, today, current)))
    }
}

/// Turns what fails the build into what decides nothing, where the base does no better today; returns what was found out.
pub(crate) fn weigh(scene: &Scene<'_>, findings: &mut [Finding], broken: &[BrokenCase]) -> Vec<String> {
    let Some(again) = scene.beside.again else { return Vec::new() };
    let today = Today::of(again, scene.policy);
    let name: TargetName = again.header.targets.first().cloned().unwrap_or_else(|| "the base".into());
    let mut same: BTreeSet<CaseId> = BTreeSet::new();
    for finding in findings.iter_mut().filter(|finding| finding.comparison.severity == Severity::Fail) {
        let about = About::of(finding.comparison.rule);
        let suspects = of_rule(&finding.comparison, &finding.named, broken);
        let no_better: Vec<&BrokenCase> =
            suspects.iter().copied().filter(|case| today.does_no_better(case) == Some(true)).collect();
        same.extend(no_better.iter().map(|case| case.case.clone()));
        let excused = match about {
            About::Level => false,
            About::Comparison => drop_is_shared(&today, &suspects),
            About::SingleCases => {
                !suspects.is_empty() && no_better.len() == suspects.len() && suspects.len() >= distinct(&finding.named)
            }
        };
        if excused {
            excuse(finding, &name, &no_better, suspects.len());
        }
    }
    let (asked, no_better) = (counted(today.asked.len() as u64, "suspect", "suspects"), same.len());
    let same: Vec<CaseId> = same.into_iter().collect();
    let which = if same.is_empty() { String::new() } else { format!(": {}", names(&same, 5)) };
    vec![format!("{asked} asked of {name} too, which does no better on {no_better} today{which}")]
}

fn distinct(named: &[(CaseId, crate::domain::MetricName)]) -> usize {
    named.iter().collect::<BTreeSet<_>>().len()
}

/// The listed cases that the rule is about.
fn of_rule<'b>(
    rule: &Comparison,
    named: &[(CaseId, crate::domain::MetricName)],
    broken: &'b [BrokenCase],
) -> Vec<&'b BrokenCase> {
    let is_named = |case: &BrokenCase| named.iter().any(|(id, metric)| *id == case.case && *metric == case.metric);
    let here = broken.iter().filter(|case| case.decisive && case.target == rule.target);
    match About::of(rule.rule) {
        About::SingleCases => here.filter(|case| is_named(case)).collect(),
        About::Comparison => here.filter(|case| case.metric == rule.metric).collect(),
        About::Level => Vec::new(),
    }
}

/// At least half of what the suspects lost is lost on the base as well, and most of them have a score there: a few speak for nobody else.
fn drop_is_shared(today: &Today, suspects: &[&BrokenCase]) -> bool {
    let (mut lost, mut shared, mut scored) = (0.0, 0.0, 0_usize);
    for case in suspects {
        let (Some(before), Some(current)) = (case.baseline, case.current) else { continue };
        let Some(now) = today.scores.get(&(case.case.clone(), case.metric.to_string())) else { continue };
        scored += 1;
        lost += (before - current).abs();
        let fell = today.better(&case.metric, before, *now);
        shared += if fell { (before - now).abs().min((before - current).abs()) } else { 0.0 };
    }
    scored > suspects.len() / 2 && lost > 0.0 && shared >= HALF * lost
}

fn excuse(finding: &mut Finding, name: &str, no_better: &[&BrokenCase], of: usize) {
    let comparison = &mut finding.comparison;
    (comparison.verdict, comparison.reason) = (RuleVerdict::Inconclusive, Reason::Environment);
    comparison.severity = Severity::Block;
    let ids: Vec<CaseId> = no_better.iter().map(|case| case.case.clone()).collect();
    finding.phrase = format!("{}, and so it is on {name} today", finding.phrase);
    finding.comparison.explanation.push_str(&format!(
        " But {name} does no better today on {} of {} that were asked again ({}): something else than this change is different. Look at the \
         environment, then measure the baseline anew with scoregate baseline refresh.",
        no_better.len(),
        counted(of as u64, "suspect", "suspects"),
        names(&ids, 5)
    ));
}
