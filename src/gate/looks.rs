//! The looks of a plan of trials: which trials each reads, what it may spend, and whether the next is taken (statistics §10).
//!
//! `run.trials: [1, 3]` asks once; where the first look is suspicious every paired case is asked up to three times, and the second look
//! reads all of them. On results that are there already the looks are taken on the trials at hand.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::must_pass::{ATTEMPTS, failed_first};
use super::not_worse::{Compared, compare, undecided};
use super::scene::Scene;
use super::settings::{BreaksSetting, ExtendOn};
use super::{BaselineState, Policy};
use crate::domain::{CaseId, CaseRecord, LookEnd, Reason, Run};
use crate::stats::{LookAction, LookLevels, look, look_levels};

/// One look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    /// Trials of a case that it reads at most.
    pub(crate) trials: u32,
    /// Level of the mean guard.
    pub(crate) mean: f64,
    /// The break guard reads first trials, so it looks once.
    pub(crate) first: bool,
    pub(crate) last: bool,
}

impl Look {
    /// The only look at everything that is there.
    pub(crate) fn only(run: &Run, mean: f64) -> Self {
        Self { trials: at_hand(run), mean, first: true, last: true }
    }

    /// The run as this look sees it: of every case the first trials.
    pub(crate) fn part<'r>(&self, run: &'r Run) -> Cow<'r, Run> {
        let wanted = usize::try_from(self.trials).unwrap_or(usize::MAX);
        if run.cases.iter().all(|case| case.trials.len() <= wanted) {
            return Cow::Borrowed(run);
        }
        let first = |case: &CaseRecord| {
            let mut trials: Vec<_> = case.trials.iter().collect();
            trials.sort_by_key(|trial| trial.trial);
            let CaseRecord { id, target, content, tags, cluster, place, trials: _ } = case;
            CaseRecord {
                id: id.clone(),
                target: target.clone(),
                content: *content,
                tags: tags.clone(),
                cluster: cluster.clone(),
                place: place.clone(),
                trials: trials.into_iter().take(wanted).cloned().collect(),
            }
        };
        let Run { header, cases, completion, file, judges } = run;
        let (header, completion, file, judges) = (header.clone(), completion.clone(), file.clone(), judges.clone());
        Cow::Owned(Run { header, cases: cases.iter().map(first).collect(), completion, file, judges })
    }
}

/// Trials a case. More of them (the attempts of failed must-pass cases) feed nothing but that rule.
fn at_hand(run: &Run) -> u32 {
    let most = || run.cases.iter().map(|case| case.trials.len()).max().unwrap_or(1);
    match run.header.trials {
        // A file that does not say it.
        0 => u32::try_from(most()).unwrap_or(u32::MAX),
        planned => planned,
    }
}

/// The looks that the plan and the trials at hand allow, at least one.
pub(crate) fn looks(run: &Run, baseline: &BaselineState, policy: &Policy) -> Vec<Look> {
    let plan = &policy.sequential.plan;
    let last = at_hand(run);
    let before = plan.split_last().map_or(&[][..], |(_, before)| before);
    let mut trials: Vec<u32> = before.iter().copied().filter(|trials| *trials < last).collect();
    trials.push(last);
    with_levels(&trials, plan, baseline, policy)
}

fn with_levels(trials: &[u32], plan: &[u32], baseline: &BaselineState, policy: &Policy) -> Vec<Look> {
    let alpha = mean_alpha(baseline, policy);
    let planned = match plan {
        [_, _] => vec![policy.sequential.alpha1],
        _ => look_levels(alpha, plan, baseline_trials(baseline)),
    };
    let mut left = alpha;
    let count = trials.len();
    let looks = trials.iter().enumerate().map(|(at, trials)| {
        let last = at + 1 == count;
        // The last look has whatever the others have not spent.
        let mean = if last { left } else { planned.get(at).copied().unwrap_or(0.0).min(left) };
        left -= mean;
        Look { trials: *trials, mean, first: at == 0, last }
    });
    looks.collect()
}

/// The level of the mean guard over all looks: all of alpha unless the break guard can fail the build (statistics §8.1).
fn mean_alpha(baseline: &BaselineState, policy: &Policy) -> f64 {
    let runs = match baseline {
        BaselineState::Found(baseline) => baseline.runs.len(),
        BaselineState::NotAsked
        | BaselineState::Absent(_)
        | BaselineState::Unreachable(_)
        | BaselineState::Broken(_) => 0,
    };
    if breaks_decide(runs, policy) { policy.alpha - policy.alpha_breaks } else { policy.alpha }
}

/// The break guard can fail the build (statistics §7.1, §7.5).
pub(crate) fn breaks_decide(runs: usize, policy: &Policy) -> bool {
    runs >= 3 && policy.breaks == BreaksSetting::Fail
}

/// Trials of a case over the pooled runs.
fn baseline_trials(baseline: &BaselineState) -> f64 {
    match baseline {
        BaselineState::Found(baseline) => {
            let trials = baseline.runs.iter().map(|run| f64::from(run.trials.max(1))).sum::<f64>();
            trials.max(1.0)
        }
        BaselineState::NotAsked
        | BaselineState::Absent(_)
        | BaselineState::Unreachable(_)
        | BaselineState::Broken(_) => 1.0,
    }
}

/// Why no further look is taken; `None`: the next one is.
pub(crate) fn ends(scene: &Scene<'_>, compared: &[Compared<'_>]) -> Option<LookEnd> {
    let policy = scene.policy;
    let Look { mean: level, first, last, .. } = scene.look;
    if last {
        return Some(LookEnd::Last);
    }
    let family: Vec<_> =
        compared.iter().filter(|one| one.rules.gate).filter_map(|one| one.outcome.as_ref().ok()).collect();
    let mean: Vec<f64> = family.iter().map(|numbers| numbers.as_is.p).collect();
    let guard = first && scene.breaks_decide();
    let breaks: Vec<f64> = match guard {
        true => family.iter().map(|numbers| numbers.breaks.map_or(1.0, |count| count.p_mid)).collect(),
        false => Vec::new(),
    };
    let levels = LookLevels { breaks: policy.alpha_breaks, mean: level, phi: policy.sequential.phi };
    match look(&mean, &breaks, levels) {
        LookAction::StopBreaks => Some(LookEnd::Breaks),
        LookAction::StopMean => Some(LookEnd::Mean),
        LookAction::Extend => None,
        // Scores that are missing are no scores: going on for their sake favours nobody.
        LookAction::StopNoSign if compared.iter().any(short_of_scores) => None,
        LookAction::StopNoSign => {
            let open = policy.sequential.extend_on == ExtendOn::Inconclusive
                && compared.iter().any(|one| one.rules.gate && undecided(scene, one));
            (!open).then_some(LookEnd::NoSign)
        }
    }
}

fn short_of_scores(compared: &Compared<'_>) -> bool {
    compared.rules.gate && compared.outcome.as_ref().is_err_and(|refusal| refusal.reason == Reason::Missing)
}

/// More trials that a run is to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoreTrials {
    /// Trials of these cases, with those they have.
    pub trials: u32,
    pub cases: BTreeSet<CaseId>,
    /// Why, in words.
    pub why: String,
}

/// The trials of the next look, where the plan has one and the trials of `run` call for it (statistics §10.2).
///
/// **Inputs**: a whole run with the trials of a look of the policy's plan, and what [`judge`](super::judge) is given beside it.
/// **Returns** the paired cases, whatever they scored (§2.4); `None`: the plan ends here.
pub fn next_look(run: &Run, baseline: &BaselineState, policy: &Policy) -> Option<MoreTrials> {
    let whole = run.header.shard.is_none() && run.completion.as_ref().is_some_and(|end| end.complete);
    if let Some(apart) = super::concurrent::apart(run, policy) {
        // One half is the other's baseline; the cases are asked for of both.
        let stored = policy.clone().without_other_half();
        return next_look(&apart.run, &apart.state(u32::MAX), &stored);
    }
    let plan = &policy.sequential.plan;
    let trials = plan.iter().copied().find(|trials| *trials > at_hand(run)).filter(|_| whole)?;
    let newest = super::judge::newest(baseline, policy);
    let baseline = newest.as_ref().unwrap_or(baseline);
    let selected = super::selected::baseline(run, baseline);
    let baseline = selected.as_ref().unwrap_or(baseline);
    let so_far: Vec<u32> = plan.iter().copied().take_while(|planned| *planned <= trials).collect();
    let all = with_levels(&so_far, plan, baseline, policy);
    let now = *all.iter().rev().nth(1)?;
    // Its level is that of a look that is followed by another one.
    let part = now.part(run);
    let scene = Scene::new(&part, run, baseline, policy, Look { last: false, ..now });
    let compared = compare(&scene);
    if ends(&scene, &compared).is_some() {
        return None;
    }
    let mut cases = BTreeSet::new();
    for one in &compared {
        let (Some(matchup), Some(sheet)) = (&one.matchup, scene.sheets.get(one.sheet)) else { continue };
        let rows = matchup.joints.iter().filter_map(|joint| sheet.rows.get(joint.row));
        cases.extend(rows.map(|row| row.id.clone()));
    }
    let suspects = suspects(&scene, &compared);
    let why = format!("the first {} of a case do not settle it{suspects}", counted_trials(now.trials));
    (!cases.is_empty()).then_some(MoreTrials { trials, cases, why })
}

fn counted_trials(trials: u32) -> String {
    crate::text::number::counted(u64::from(trials), "trial", "trials")
}

/// ` (faithfulness: p 0.03)`: the metric with the smallest adjusted p.
fn suspects(scene: &Scene<'_>, compared: &[Compared<'_>]) -> String {
    let p = |one: &&Compared<'_>| one.outcome.as_ref().map_or(1.0, |numbers| numbers.p_adjusted);
    let gating = compared.iter().filter(|one| one.rules.gate);
    gating.min_by(|left, right| p(left).total_cmp(&p(right))).map_or_else(String::new, |one| {
        let name = scene.label(&one.spec.name, one.target);
        format!(" ({name}: adjusted p {})", crate::text::number::p_value(p(&one)))
    })
}

/// The further attempts of must-pass cases that failed their first trial (statistics §12.1).
pub fn more_attempts(run: &Run, policy: &Policy) -> Option<MoreTrials> {
    let whole = run.header.shard.is_none() && run.completion.as_ref().is_some_and(|end| end.complete);
    if policy.must_pass.is_empty() || !whole {
        return None;
    }
    let state = BaselineState::NotAsked;
    let apart = super::concurrent::apart(run, policy);
    let run = apart.as_ref().map_or(run, |apart| &apart.run);
    let scene = Scene::new(run, run, &state, policy, Look::only(run, policy.alpha));
    let mut cases = BTreeSet::new();
    for sheet in &scene.sheets {
        for (_, row) in super::must_pass::selected(&scene, sheet) {
            if row.trials.len() < ATTEMPTS && failed_first(&scene, row) {
                cases.insert(row.id.clone());
            }
        }
    }
    let count = crate::text::number::counted(cases.len() as u64, "must-pass case", "must-pass cases");
    let why = format!("{count} failed and may be tried twice more");
    (!cases.is_empty()).then_some(MoreTrials { trials: ATTEMPTS as u32, cases, why })
}
