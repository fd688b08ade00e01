//! Limits on means, shares, single cases and drops, in words.

use super::super::estimate::Estimate;
use super::super::must_pass::Found;
use super::super::not_worse::Compared;
use super::super::scene::{Finding, Scene};
use super::super::settings::ModeSetting;
use super::super::threshold::{Reading, Required, Sample};
use super::super::word::{capital, names, score_beside};
use crate::domain::{CaseId, Direction, MetricName, Reason, RuleKind, RuleVerdict};
use crate::stats::{CaseMean, Ratio, ThresholdState};
use crate::text::number::{counted, limit, pair, score};

/// The metric a rule is about, with its target where there are several.
fn subject(scene: &Scene<'_>, finding: &Finding) -> String {
    let name = scene.label(&finding.comparison.metric, &finding.comparison.target);
    super::sliced(&name, finding.comparison.slice.as_deref())
}

/// The paragraph of an allowed drop.
pub(crate) fn drop_rule(
    finding: Finding,
    scene: &Scene<'_>,
    compared: &Compared<'_>,
    estimate: &Estimate,
    allowed: f64,
) -> Finding {
    let name = subject(scene, &finding);
    let scores = pair(estimate.baseline.value(), estimate.current.value());
    let fell = match compared.spec.direction {
        Direction::Higher => estimate.baseline.minus(estimate.current),
        Direction::Lower => estimate.current.minus(estimate.baseline),
    };
    let fell = fell.map_or_else(String::new, |drop| score_beside(drop, allowed));
    let most = limit(allowed);
    let cases = counted(estimate.cases, "case", "cases");
    match finding.comparison.verdict {
        RuleVerdict::Violated => {
            let text = format!("{name} dropped by {fell} ({scores}), more than the allowed {most}");
            finding.saying(text.clone(), format!("{text}, over {cases}."))
        }
        RuleVerdict::Met => {
            let text = format!("{name} did not drop by more than the allowed {most}");
            finding.saying(text.clone(), format!("{text} ({scores}, over {cases})."))
        }
        RuleVerdict::Inconclusive | RuleVerdict::NotEvaluated => {
            let text = format!("{name}: cases without a score could change whether it dropped by more than {most}");
            finding.saying(text.clone(), format!("{text} ({scores}, over {cases})."))
        }
    }
}

pub(crate) fn no_scores(finding: Finding, scene: &Scene<'_>, troubles: &str) -> Finding {
    let (name, planned) = (subject(scene, &finding), finding.comparison.planned);
    let why = if troubles.is_empty() { String::new() } else { format!(" ({troubles})") };
    let text = if planned == 0 {
        format!("0 cases have what {name} measures")
    } else {
        format!("{planned} of {planned} cases have no score for {name}{why}")
    };
    finding.saying(text.clone(), format!("{name} has nothing to judge: {text}."))
}

fn required(bound: Required) -> String {
    match bound {
        Required::AtLeast(value) => format!("at least {}", limit(value)),
        Required::AtMost(value) => format!("at most {}", limit(value)),
    }
}

fn side_word(bound: Required) -> &'static str {
    match bound {
        Required::AtLeast(_) => "below",
        Required::AtMost(_) => "above",
    }
}

/// The paragraph of a threshold on a mean or on a share.
pub(crate) fn threshold(
    finding: Finding,
    scene: &Scene<'_>,
    sample: &Sample<'_>,
    reading: &Reading,
    bound: Required,
    mode: ModeSetting,
    troubles: &str,
) -> Finding {
    let metric = subject(scene, &finding);
    let subject = match finding.comparison.rule {
        RuleKind::PassRate if reading.corrected => {
            format!("the pass rate of {metric}, corrected for the judge's errors,")
        }
        RuleKind::PassRate => format!("the pass rate of {metric}"),
        _ => metric,
    };
    let mean = score_beside(reading.mean, bound.limit());
    let bounds =
        reading.interval.map(|(lower, upper)| format!(", likely between {} and {}", score(lower), score(upper)));
    let bounds = bounds.unwrap_or_default();
    let (scored, missing) = (sample.scored.len(), sample.missing.len());
    let measured = if missing == 0 {
        counted(scored as u64, "case", "cases")
    } else {
        format!("{scored} of {} measured ({troubles})", scored + missing)
    };
    let small = if reading.method == "point" && mode == ModeSetting::Confident {
        " With so few cases the value itself decides."
    } else {
        ""
    };
    let (phrase, explanation) = match (finding.comparison.reason, reading.state) {
        (Reason::Missing, _) => {
            let text = format!(
                "{subject} is at {mean}, but {} could change whether it is {}",
                counted(missing as u64, "missing score", "missing scores"),
                required(bound)
            );
            (text.clone(), format!("{text}: {measured}."))
        }
        (_, ThresholdState::Violated) => {
            let beside = side_word(bound);
            let text = format!("{subject} is at {mean}, {beside} the required {}", limit(bound.limit()));
            // Strict asks for the whole interval: the mean itself may be on the right side.
            let text = if bound.holds(reading.mean) {
                format!("{subject} is at {mean}, which does not show with confidence that it is {}", required(bound))
            } else {
                text
            };
            (text.clone(), format!("{text}{bounds} ({measured}).{small}"))
        }
        (_, ThresholdState::Met) => {
            let text = format!("{subject} is at {mean}, {} as required", required(bound));
            (text.clone(), format!("{text}{bounds} ({measured}).{small}"))
        }
        (_, ThresholdState::Uncertain) => {
            let text = format!("{subject} is at {mean}: {} can be neither confirmed nor ruled out", required(bound));
            (text.clone(), format!("{text}{bounds} ({measured})."))
        }
    };
    finding.saying(phrase, explanation)
}

/// The paragraph of a limit for every case.
pub(crate) fn each_case(
    finding: Finding,
    scene: &Scene<'_>,
    bound: Required,
    failing: &[(CaseMean, CaseId)],
    troubles: &str,
) -> Finding {
    let metric = subject(scene, &finding);
    let planned = finding.comparison.planned;
    let text = match finding.comparison.verdict {
        RuleVerdict::Violated => {
            let shown: Vec<String> = failing
                .iter()
                .map(|(mean, id)| format!("{id} ({})", score_beside(mean.exact(), bound.limit())))
                .collect();
            let cases = counted(failing.len() as u64, "case", "cases");
            let limit = limit(bound.limit());
            format!("{cases} {} {limit} on {metric}: {}", side_word(bound), names(&shown, 5))
        }
        RuleVerdict::Met => format!("every one of {planned} cases is {} on {metric}", required(bound)),
        RuleVerdict::Inconclusive => {
            format!("not every case was measured for {metric} ({troubles}), so some may not be {}", required(bound))
        }
        RuleVerdict::NotEvaluated => return no_scores(finding, scene, troubles),
    };
    finding.saying(text.clone(), format!("{}.", capital(&text)))
}

/// The paragraph of a percentile.
pub(crate) fn percentile(
    finding: Finding,
    scene: &Scene<'_>,
    at: f64,
    value: Option<Ratio>,
    bound: Required,
    troubles: &str,
) -> Finding {
    let metric = subject(scene, &finding);
    let Some(value) = value else { return no_scores(finding, scene, troubles) };
    let subject = format!("the {at}th percentile of {metric} is {}", score_beside(value, bound.limit()));
    let text = match finding.comparison.verdict {
        RuleVerdict::Violated => format!("{subject}, {} the required {}", side_word(bound), limit(bound.limit())),
        RuleVerdict::Met => format!("{subject}, {} as required", required(bound)),
        RuleVerdict::Inconclusive | RuleVerdict::NotEvaluated => {
            format!("{subject}, but cases without a score ({troubles}) could change whether it is {}", required(bound))
        }
    };
    finding.saying(text.clone(), format!("{}.", capital(&text)))
}

/// The paragraph of the must-pass cases.
pub(crate) fn must_pass(finding: Finding, scene: &Scene<'_>, found: &Found) -> Finding {
    let cases = |number: u64| counted(number, "must-pass case", "must-pass cases");
    let of = scene.of_target(&finding.comparison.target);
    let text = match finding.comparison.verdict {
        RuleVerdict::Violated => {
            let failed = by_case(&found.failed);
            format!("{}{of} failed: {}", cases(failed.len() as u64), names(&failed, 5))
        }
        RuleVerdict::NotEvaluated => {
            format!("the must-pass list selects no case{of} with {}", found.unmatched.join(", "))
        }
        RuleVerdict::Inconclusive => {
            let unmeasured = cases(found.unmeasured.len() as u64);
            format!("{unmeasured}{of} could not be measured: {}", names(&found.unmeasured, 5))
        }
        RuleVerdict::Met => format!("{}{of} passed", cases(found.selected)),
    };
    finding.saying(text.clone(), format!("{}.", capital(&text)))
}

/// Each case once, with the metrics that it failed: `q2 (rouge_l, hit_rate)`.
fn by_case(failed: &[(CaseId, MetricName)]) -> Vec<String> {
    let mut cases: Vec<(&CaseId, Vec<&str>)> = Vec::new();
    for (id, metric) in failed {
        match cases.last_mut() {
            Some((last, metrics)) if *last == id => metrics.push(metric),
            _ => cases.push((id, vec![metric])),
        }
    }
    cases.into_iter().map(|(id, metrics)| format!("{id} ({})", metrics.join(", "))).collect()
}
