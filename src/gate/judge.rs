//! Asks every rule, in a fixed order, and puts the verdict together.

use std::collections::{BTreeMap, HashMap};

use super::comparable::other_judges;
use super::looks::{self, Look};
use super::not_worse::Compared;
use super::policy::{DEFAULT_RUNS, MetricPolicy};
use super::scene::{Finding, Scene};
use super::sheet::Measured;
use super::threshold::Levels;
use super::{
    BaselineState, Calibrations, Policy, anchor, broken, canary, concurrent, confirm, headline, max_drop, must_pass,
    new_errors, not_worse, notes, part, reported, resource, selected, single, slices, standing, tags, threshold, trust,
};
use crate::domain::{
    BaseRecord, BaselineSource, CaseChanges, CaseId, CaseRecord, Decision, LooksTaken, Reason, Run, Verdict,
    VerdictCounts,
};

/// Decides.
///
/// **Inputs**: a run, what is known about its baseline, and the checked policy.
/// **Returns** the verdict with every rule's evidence; exit code 0, 1 or 3. A cancelled run is `partial`; its exit code (130,
/// 143) is the caller's.
/// Rules come in this order: complete, policy, baseline; per target coverage and new errors; per target and metric the comparison, the
/// allowed drop, thresholds, pass rate, single cases, percentile, or the bare level where nothing is asked; metrics that the
/// baseline has alone; must-pass cases. Slices that gate come after the metrics.
/// A plan of trials (`run.trials: [1, 3]`) is followed on the trials at hand: look by look until one ends it (statistics §10).
/// A shard is no run: it is never evaluated here ([`judge_shard`](super::judge_shard)). Of a selection only the selected cases are
/// compared; the others are missed by no rule.
pub fn judge(run: &Run, baseline: &BaselineState, policy: &Policy) -> Verdict {
    judge_beside(run, baseline, policy, Beside::default())
}

/// What else a verdict is drawn from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Of a proposed change: whose policy and baseline these are, and how the change's own differ.
    pub base: Option<&'a BaseRecord>,
    /// The run that is kept to be compared with over a long time.
    pub anchor: Option<&'a BaselineState>,
    /// How far judges agree with people.
    pub calibrations: Option<&'a Calibrations>,
    /// What the base's system came to on the suspects.
    pub again: Option<&'a Run>,
}

/// As [`judge`], with what else is known.
pub fn judge_beside(run: &Run, baseline: &BaselineState, policy: &Policy, beside: Beside<'_>) -> Verdict {
    let policy = &policy.clone().on(run.header.started.as_deref());
    let Some(apart) = canary::apart(run, baseline, policy) else { return decide(run, baseline, policy, beside) };
    let canary::Said { notes, drifted } = apart.said(policy);
    let mut verdict = decide(&apart.run, &apart.baseline, policy, beside);
    verdict.comparable &= !drifted;
    verdict.notes.extend(notes);
    verdict
}

/// The same without a target whose answers are fixed.
fn decide(run: &Run, baseline: &BaselineState, policy: &Policy, beside: Beside<'_>) -> Verdict {
    // The other half of a concurrent run is the baseline, whatever is stored.
    let apart = concurrent::apart(run, policy);
    let other = apart.as_ref().map(|apart| apart.state(u32::MAX));
    let (run, baseline) = match (&apart, &other) {
        (Some(apart), Some(other)) => (&apart.run, other),
        _ => (run, baseline),
    };
    let newest = newest(baseline, policy);
    let baseline = newest.as_ref().unwrap_or(baseline);
    let selected = selected::baseline(run, baseline);
    let baseline = selected.as_ref().unwrap_or(baseline);
    let plan = looks::looks(run, baseline, policy);
    for (at, look) in plan.iter().enumerate() {
        let part = look.part(run);
        let seen = apart.as_ref().map(|apart| apart.state(look.trials));
        let baseline = seen.as_ref().unwrap_or(baseline);
        let scene = Scene { beside, ..Scene::new(&part, run, baseline, policy, *look) };
        let compared = not_worse::compare(&scene);
        if let Some(ended) = looks::ends(&scene, &compared) {
            let taken = LooksTaken {
                trials: plan.iter().map(|look| look.trials).collect(),
                taken: u32::try_from(at + 1).unwrap_or(u32::MAX),
                ended,
            };
            return conclude(&scene, &compared, (plan.len() > 1).then_some(taken));
        }
    }
    // The last look always ends.
    let scene = Scene { beside, ..Scene::new(run, run, baseline, policy, Look::only(run, policy.alpha)) };
    conclude(&scene, &not_worse::compare(&scene), None)
}

/// The verdict of a look.
fn conclude(scene: &Scene<'_>, compared: &[Compared<'_>], looks: Option<LooksTaken>) -> Verdict {
    let (run, baseline) = (scene.run, scene.state);
    let mut findings = ask(scene, compared);
    let slices = slices::explored(scene, compared);
    let moved = broken::moved(scene, compared, &findings);
    let confirmed = confirm::weigh(scene, &mut findings, &moved.broken);
    let (decision, exit_code) = headline::decision(&findings);
    let reference = scene.reference.as_ref();
    let mut notes = notes::all(scene, compared, &findings, looks.as_ref(), &slices);
    notes.extend(confirmed);
    let (source, runs) = match baseline {
        BaselineState::Found(baseline) => (Some(baseline.source.clone()), baseline.runs.clone()),
        BaselineState::NotAsked
        | BaselineState::Absent(_)
        | BaselineState::Unreachable(_)
        | BaselineState::Broken(_) => (None, Vec::new()),
    };
    Verdict {
        decision,
        exit_code,
        headline: selected::said(run, headline::sentence(scene, &findings, decision, exit_code)),
        notes,
        looks,
        slices,
        slice_table: tags::table(scene, compared),
        cases: VerdictCounts { worse: moved.worse, better: moved.better, ..counts(scene) },
        changes: reference.map(|reference| reference.changes.clone()).unwrap_or_default(),
        flaky: reference.map(|reference| super::flaky::flaky(reference.baseline, scene.policy)).unwrap_or_default(),
        broken: moved.broken,
        fixed: moved.fixed,
        baseline: source,
        baseline_runs: runs,
        ..verdict(scene, findings)
    }
}

/// What a verdict says whatever was decided, with the findings; nothing is decided yet.
pub(crate) fn verdict(scene: &Scene<'_>, findings: Vec<Finding>) -> Verdict {
    let Run { header, completion, .. } = scene.run;
    Verdict {
        decision: Decision::NotEvaluated,
        exit_code: 3,
        headline: String::new(),
        suite: header.suite.clone(),
        notes: Vec::new(),
        trials: mean_trials(scene.run),
        looks: None,
        slices: Vec::new(),
        slice_table: Vec::new(),
        cases: counts(scene),
        changes: CaseChanges::default(),
        flaky: Vec::new(),
        broken: Vec::new(),
        fixed: Vec::new(),
        comparable: is_comparable(scene, &findings),
        baseline: None,
        baseline_runs: Vec::new(),
        anchor: anchor_of(scene),
        base: scene.beside.base.cloned(),
        metrics: scene.metrics.iter().map(|(spec, _)| spec.clone()).collect(),
        partial: completion.as_ref().is_none_or(|end| !end.complete),
        selection: header.selection.clone(),
        shard: header.shard,
        alpha: scene.policy.alpha,
        rules: findings.into_iter().map(|finding| finding.comparison).collect(),
    }
}

/// Nothing says that the baseline was measured otherwise than this run.
fn is_comparable(scene: &Scene<'_>, findings: &[Finding]) -> bool {
    let mismatch = findings.iter().any(|finding| finding.comparison.reason == Reason::JudgeMismatch);
    let others = scene.reference.as_ref().is_some_and(|known| !other_judges(scene.run, known.baseline).is_empty());
    !mismatch && !others
}

/// The newest runs of a pool that holds more than the policy asks for (statistics §15.1); `None`: it does not.
pub(crate) fn newest(state: &BaselineState, policy: &Policy) -> Option<BaselineState> {
    let BaselineState::Found(baseline) = state else { return None };
    let wanted = policy.baseline.as_ref().map_or(DEFAULT_RUNS, |baseline| baseline.runs);
    let older = baseline.runs.len().checked_sub(wanted).filter(|older| *older > 0)?;
    let mut newest = baseline.clone();
    newest.runs.drain(..older);
    newest.cases.iter_mut().for_each(|case| case.retire(older, false));
    Some(BaselineState::Found(newest))
}

fn ask(scene: &Scene<'_>, compared: &[Compared<'_>]) -> Vec<Finding> {
    let mut findings = vec![part::alone(scene.run).unwrap_or_else(|| standing::complete(scene))];
    findings.extend(super::base::finding(scene));
    findings.extend(standing::baseline(scene));
    for (at, sheet) in scene.sheets.iter().enumerate() {
        findings.push(standing::covered(scene, at, sheet));
        findings.extend(new_errors::finding(scene, at));
    }
    findings.extend(standing::unmeasured(scene));
    let levels = levels(scene);
    for (at, sheet) in scene.sheets.iter().enumerate() {
        for metric in 0..scene.metrics.len() {
            let before = findings.len();
            if let Some(one) = compared.iter().find(|one| (one.sheet, one.metric) == (at, metric)) {
                findings.push(not_worse::finding(scene, one));
                findings.extend(max_drop::finding(scene, one));
            }
            findings.extend(threshold::findings(scene, sheet, metric, levels));
            findings.extend(single::findings(scene, sheet, metric));
            if findings.len() == before {
                findings.extend(reported::finding(scene, sheet, metric));
            }
        }
    }
    for (at, sheet) in scene.sheets.iter().enumerate() {
        findings.extend(tags::findings(scene, sheet, levels));
        findings.extend(resource::findings(scene, at, sheet));
    }
    let slices = compared.iter().filter(|one| one.slice.is_some());
    findings.extend(slices.map(|slice| not_worse::finding(scene, slice)));
    findings.extend(slices::unseen(scene));
    findings.extend(not_worse::vanished(scene));
    findings.extend(scene.sheets.iter().filter_map(|sheet| must_pass::finding(scene, sheet)));
    findings.extend(anchor::findings(scene));
    findings.extend(trust::findings(scene));
    trust::disarm(&mut findings);
    findings
}

/// Where the anchor is from, if there is one.
fn anchor_of(scene: &Scene<'_>) -> Option<BaselineSource> {
    match scene.beside.anchor? {
        BaselineState::Found(anchor) => Some(anchor.source.clone()),
        BaselineState::NotAsked
        | BaselineState::Absent(_)
        | BaselineState::Unreachable(_)
        | BaselineState::Broken(_) => None,
    }
}

/// "Violated" shares alpha among all thresholds that gate (statistics §11.4).
fn levels(scene: &Scene<'_>) -> Levels {
    let gating = scene.metrics.iter().filter(|(_, rules)| rules.gate);
    let thresholds: usize = gating.map(|(_, rules)| rules.interval_thresholds()).sum();
    let of_tags = scene.policy.tag_limits.values().flat_map(BTreeMap::values).filter(|rules| rules.gate);
    let thresholds = thresholds + of_tags.map(MetricPolicy::interval_thresholds).sum::<usize>();
    let family = (thresholds * scene.sheets.len()).max(1);
    Levels { alpha: scene.policy.alpha, violated: scene.policy.alpha / family as f64 }
}

fn mean_trials(run: &Run) -> f64 {
    let measured = |case: &CaseRecord| case.trials.iter().filter(|trial| !trial.lost()).count();
    let (cases, trials) = run
        .cases
        .iter()
        .map(measured)
        .filter(|trials| *trials > 0)
        .fold((0, 0), |(cases, all), more| (cases + 1, all + more));
    if cases == 0 { 0.0 } else { trials as f64 / f64::from(cases) }
}

/// What became of a case, over all its cells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Nothing,
    Scored,
    Skipped,
    Errored,
}

fn counts(scene: &Scene<'_>) -> VerdictCounts {
    let mut counts = VerdictCounts::default();
    let mut fates: HashMap<&CaseId, Fate> = HashMap::new();
    for sheet in &scene.sheets {
        for (at, row) in sheet.rows.iter().enumerate() {
            let fate = fates.entry(&row.id).or_insert(Fate::Nothing);
            for column in &sheet.columns {
                let Some(cell) = column.get(at) else { continue };
                *fate = (*fate).max(tally(&mut counts, *cell));
            }
        }
    }
    for fate in fates.values() {
        counts.total += 1;
        match fate {
            Fate::Scored => counts.scored += 1,
            Fate::Errored => counts.errored += 1,
            // No metric applied: nothing was measured, so it is not called scored.
            Fate::Skipped | Fate::Nothing => counts.skipped += 1,
        }
    }
    if let Some(reference) = &scene.reference {
        counts.added = reference.changes.added.len() as u64;
        counts.removed = reference.changes.removed.len() as u64;
        counts.changed = reference.changes.changed.len() as u64;
    }
    counts
}

fn tally(counts: &mut VerdictCounts, cell: Measured) -> Fate {
    let (slot, fate) = match cell {
        Measured::Score(_) => (&mut counts.cells_scored, Fate::Scored),
        Measured::Error(_) => (&mut counts.cells_errored, Fate::Errored),
        Measured::Unusable(_) => (&mut counts.cells_unusable, Fate::Errored),
        Measured::Left => (&mut counts.cells_skipped, Fate::Skipped),
        Measured::NotApplicable => return Fate::Nothing,
    };
    *slot += 1;
    counts.cells += 1;
    fate
}
