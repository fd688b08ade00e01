//! Answers that were compared with others (`pairwise`): won, tied and lost, and how sure the share of wins is.

use super::scene::Scene;
use super::sheet::Sheet;
use super::threshold::{FEWEST_FOR_AN_INTERVAL, Sample, interval};
use crate::domain::MetricSpec;
use crate::stats::total;
use crate::text::number::{counted, score};

/// The evaluator whose scores are won, tied and lost comparisons.
const PAIRWISE: &str = "pairwise";
/// A tie, on a scale on which 1 is won and 0 lost.
const TIE: f64 = 0.5;

/// One sentence for each such metric and target.
pub(crate) fn notes(scene: &Scene<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for sheet in &scene.sheets {
        for (at, (spec, _)) in scene.metrics.iter().enumerate().filter(|(_, (spec, _))| is_duel(spec)) {
            notes.extend(note(scene, sheet, at, spec));
        }
    }
    notes
}

fn is_duel(spec: &MetricSpec) -> bool {
    let evaluator = spec.fingerprint.as_ref().and_then(|fingerprint| fingerprint.0.get("evaluator"));
    evaluator.is_some_and(|name| name == PAIRWISE)
}

fn note(scene: &Scene<'_>, sheet: &Sheet<'_>, at: usize, spec: &MetricSpec) -> Option<String> {
    let (_, rules) = scene.metrics.get(at)?;
    let sample = Sample::of(sheet, at, spec);
    let rate = total(sample.scored.iter().map(|(mean, _)| mean))?.value();
    let count = |keep: fn(f64) -> bool| sample.scored.iter().filter(|(mean, _)| keep(mean.value())).count() as u64;
    let (won, lost) = (count(|value| value > TIE), count(|value| value < TIE));
    let cases = sample.scored.len() as u64;
    let tied = cases.saturating_sub(won).saturating_sub(lost);
    // Half of alpha on each side: an interval as people know it.
    let (found, units, _) = interval(&sample.scored, spec, rules.mode, scene.policy.alpha / 2.0);
    let sure = found.filter(|_| units >= FEWEST_FOR_AN_INTERVAL).map(|(low, high)| {
        let level = ((1.0 - scene.policy.alpha) * 1_000.0).round() / 10.0;
        format!(" ({level} % interval {} to {})", score(low), score(high))
    });
    Some(format!(
        "{}: {} compared: {won} won, {tied} tied, {lost} lost; win rate {}{}, with a tie as half a win",
        scene.label(&spec.name, &sheet.target),
        counted(cases, "answer", "answers"),
        score(rate),
        sure.unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{policy, scores};
    use crate::domain::Fingerprint;
    use crate::gate::{BaselineState, judge};

    #[test]
    fn wins_ties_and_losses_are_counted_and_the_rate_has_an_interval() {
        let values: Vec<f64> = (0..40).map(|at| [1.0, 1.0, 0.5, 0.0][at % 4]).collect();
        let mut run = scores(&values);
        let note = |run: &crate::domain::Run| {
            let verdict = judge(run, &BaselineState::NotAsked, &policy(json!({})));
            verdict.notes.into_iter().find(|note| note.contains("win rate"))
        };
        assert_eq!(note(&run), None);
        run.header.metrics[0].fingerprint = Some(Fingerprint::default().with("evaluator", "pairwise"));
        let said = note(&run).expect("a note");
        assert!(
            said.starts_with(
                "quality: 40 answers compared: 20 won, 10 tied, 10 lost; win rate 0.625 (95 % interval 0."
            ),
            "{said}"
        );
        let mut few = scores(&[1.0, 0.5]);
        few.header.metrics[0].fingerprint = Some(Fingerprint::default().with("evaluator", "pairwise"));
        assert_eq!(
            note(&few).as_deref(),
            Some("quality: 2 answers compared: 1 won, 1 tied, 0 lost; win rate 0.750, with a tie as half a win")
        );
    }
}
