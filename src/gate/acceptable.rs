//! Whether enough of a run was measured for later runs to be compared with it: what a baseline lacks, no run can be found worse than.

use super::looks::Look;
use super::scene::{Scene, at_least};
use super::{BaselineState, Policy, canary};
use crate::domain::Run;

/// What the run lacks for being a baseline, in words, the metrics of each target in their order; empty: nothing. A metric that decides needs
/// `min_measured` of its scores (with several trials: in half of the trials at least), one that only warns needs some, and a metric that
/// applies to no case needs none.
pub fn too_little(run: &Run, policy: &Policy) -> Vec<String> {
    let policy = &policy.clone().on(run.header.started.as_deref());
    // Fixed answers are the judge's measure, and no rule reads them.
    let apart = canary::apart(run, &BaselineState::NotAsked, policy);
    let run = apart.as_ref().map_or(run, |apart| &apart.run);
    let look = Look::only(run, policy.alpha);
    let part = look.part(run);
    let scene = Scene::new(&part, run, &BaselineState::NotAsked, policy, look);
    let mut lacks = Vec::new();
    for sheet in &scene.sheets {
        let (mut scored, mut planned) = (0, 0);
        for (metric, (spec, rules)) in scene.metrics.iter().enumerate() {
            let (measured, out_of) = sheet.share(metric);
            scored += measured;
            planned += out_of;
            let (well, tried) = sheet.well_tried(metric, spec);
            let enough = |part, whole| !rules.required() || at_least(part, whole, policy.min_measured);
            let what = if !rules.gate || out_of == 0 {
                continue;
            } else if measured == 0 {
                format!("{out_of} of {out_of} cases have no score for")
            } else if !enough(measured, out_of) {
                format!("only {measured} of {out_of} cases have a score for")
            } else if !enough(well, tried) {
                format!("only {well} of {tried} cases have a score in half of their trials for")
            } else {
                continue;
            };
            let troubles = sheet.troubles(metric);
            let troubles = if troubles.is_empty() { troubles } else { format!(" ({troubles})") };
            lacks.push(format!("{what} {}{troubles}", scene.label(&spec.name, &sheet.target)));
        }
        if scored == 0 && planned > 0 && lacks.is_empty() {
            lacks.push(format!("none of {planned} scores was measured{}", scene.of_target(&sheet.target)));
        }
    }
    lacks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{error, policy, scores};
    use super::*;

    fn losing(lost: usize, of: usize) -> Run {
        let mut run = scores(&vec![1.0; of]);
        run.cases.iter_mut().take(lost).for_each(|case| case.trials[0].cells = vec![error()]);
        run
    }

    #[test]
    fn a_baseline_needs_what_the_gate_calls_measured() {
        let usual = Policy::default();
        assert!(too_little(&losing(0, 60), &usual).is_empty() && too_little(&losing(1, 60), &usual).is_empty());
        assert_eq!(too_little(&losing(50, 60), &usual), ["only 10 of 60 cases have a score for quality (50 timeout)"]);
        assert_eq!(too_little(&losing(60, 60), &usual), ["60 of 60 cases have no score for quality (60 timeout)"]);
        let tolerant = policy(json!({ "min_measured": 0.1 }));
        assert!(too_little(&losing(50, 60), &tolerant).is_empty());
        assert_eq!(too_little(&losing(60, 60), &tolerant).len(), 1, "none is too little for every gate");
    }

    #[test]
    fn a_metric_that_only_warns_needs_some_scores_and_one_that_is_reported_needs_them_where_nothing_else_has_any() {
        let of = |rules| policy(json!({ "metrics": { "quality": rules } }));
        let warns = of(json!({ "on_fail": "warn" }));
        assert!(too_little(&losing(50, 60), &warns).is_empty());
        assert_eq!(too_little(&losing(60, 60), &warns).len(), 1);
        let reported = of(json!({ "gate": false }));
        assert!(too_little(&losing(59, 60), &reported).is_empty());
        assert_eq!(too_little(&losing(60, 60), &reported), ["none of 60 scores was measured"]);
    }
}
