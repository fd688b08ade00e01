//! The checks of a policy: all problems at once, each at its place.

use std::collections::BTreeMap;

use super::policy::{MetricPolicy, Sequential, SlicePolicy};
use super::settings::{
    CalibrationSettings, KindSetting, MetricSettings, ModeSetting, PassRateSettings, SequentialSettings, SliceSettings,
};
use super::trials::TrialsRule;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::domain::{MetricSpec, ScoreKind};
use crate::stats::{JudgeRates, decimal};
use crate::suite::Block;
use crate::text::pointer::escape;

/// Collects the problems of one gate section.
pub(crate) struct Checker<'b> {
    block: &'b Block,
    /// Nothing of the section was left out. Else what seems to be absent may stand there, unreadable.
    whole: bool,
    problems: Vec<Diagnostic>,
}

/// Codes of problems that say something is absent.
const ABSENT: [&str; 3] = ["missing-key", "missing-range", "nothing-selected"];

impl<'b> Checker<'b> {
    pub(crate) fn new(block: &'b Block, whole: bool) -> Self {
        Self { block, whole, problems: Vec::new() }
    }

    /// Hands the problems over; true where there are none.
    pub(crate) fn finish(self, diagnostics: &mut Diagnostics) -> bool {
        let sound = self.problems.is_empty();
        self.problems.into_iter().for_each(|problem| diagnostics.push(problem));
        sound
    }

    pub(crate) fn push(&mut self, at: &str, code: &'static str, message: impl Into<String>, help: &str) {
        if self.whole || !ABSENT.contains(&code) {
            self.problems.push(self.block.problem(at, code, message).help(help));
        }
    }

    /// `low < value < high`.
    pub(crate) fn between(&mut self, at: &str, name: &str, value: f64, low: f64, high: f64) {
        if !(value > low && value < high) {
            let help = format!("it must be above {low} and below {high}");
            self.push(at, "out-of-range", format!("{name} is {value}"), &help);
        }
    }

    /// `0 ≤ value ≤ 1`, without the 0 where `positive`.
    pub(crate) fn share(&mut self, at: &str, name: &str, value: f64, positive: bool) {
        if !(0.0..=1.0).contains(&value) || (positive && value == 0.0) {
            let help = if positive { "it must be above 0 and at most 1" } else { "it must be from 0 to 1" };
            self.push(at, "out-of-range", format!("{name} is {value}"), help);
        }
    }

    pub(crate) fn unknown_metric(&mut self, at: &str, name: &str, known: &[MetricSpec]) {
        let near = known
            .iter()
            .map(|spec| (strsim::jaro_winkler(name, &spec.name), &spec.name))
            .filter(|(similarity, _)| *similarity > 0.75)
            .max_by(|left, right| left.0.total_cmp(&right.0).then_with(|| right.1.cmp(left.1)));
        let help = match near {
            Some((_, near)) => format!("did you mean `{near}`?"),
            None => {
                let names: Vec<String> = known.iter().map(|spec| format!("`{}`", spec.name)).collect();
                format!("the evaluators measure {}", names.join(", "))
            }
        };
        // The key is the mistake, so the key is underlined where its place is known.
        let key = format!("#key{at}");
        let at = if self.block.spans.contains_key(&key) { key } else { at.to_owned() };
        self.push(&at, "unknown-metric", format!("no evaluator measures `{name}`"), &help);
    }

    /// What the policy itself says about the metric's scale.
    pub(crate) fn kind(
        &mut self,
        at: &str,
        name: &str,
        settings: &MetricSettings,
        spec: Option<&MetricSpec>,
    ) -> Option<ScoreKind> {
        if settings.r#type.is_none() && settings.range.is_none() {
            return None;
        }
        let (lo, hi) = settings.range.unwrap_or((0.0, 1.0));
        let declared = match settings.r#type {
            Some(KindSetting::Binary) => ScoreKind::Binary,
            Some(KindSetting::Ordinal) => ScoreKind::Ordinal { lo: lo as i64, hi: hi as i64 },
            Some(KindSetting::Continuous) | None => ScoreKind::Continuous { lo, hi },
        };
        let range_at = format!("{at}/range");
        if declared == ScoreKind::Binary && settings.range.is_some_and(|range| range != (0.0, 1.0)) {
            self.push(&range_at, "out-of-range", "a binary metric is 0 or 1", "leave the range out");
        } else if !(lo < hi && decimal(lo).is_some() && decimal(hi).is_some()) {
            let help = "write [lowest, highest], the lowest first";
            self.push(&range_at, "out-of-range", format!("the range {lo} to {hi} holds no score"), help);
        } else if matches!(declared, ScoreKind::Ordinal { .. }) && (lo.fract() != 0.0 || hi.fract() != 0.0) {
            self.push(
                &range_at,
                "wrong-type",
                format!("an ordinal metric has no range {lo} to {hi}"),
                "use whole numbers",
            );
        } else if settings.r#type == Some(KindSetting::Ordinal) && settings.range.is_none() {
            self.push(at, "missing-range", format!("`{name}` is ordinal and has no range"), "add `range: [1, 5]`");
        }
        if let Some(spec) = spec.filter(|spec| spec.kind != declared) {
            let message = format!("`{name}` is {}, as its evaluator says, not {}", shown(spec.kind), shown(declared));
            self.push(at, "conflicting-type", message, "remove `type` and `range`");
        }
        Some(declared)
    }

    /// A day of the calendar.
    pub(crate) fn day(&mut self, at: &str, text: Option<&str>) -> Option<jiff::civil::Date> {
        let text = text?;
        let day = text.parse().ok().filter(|_| text.len() == "2026-12-31".len());
        if day.is_none() {
            self.push(at, "wrong-type", format!("`{text}` is no day"), "write it as 2026-12-31");
        }
        day
    }

    /// The looks of a plan: what the first may spend leaves something for the last (statistics §1.5).
    pub(crate) fn sequential(&mut self, settings: Option<&SequentialSettings>, alpha: f64, breaks: f64) -> Sequential {
        let SequentialSettings { alpha1, phi, extend_on } = settings.cloned().unwrap_or_default();
        let stated = alpha1;
        // Where the break guard is given nearly everything, half of what is left.
        let alpha1 = alpha1.unwrap_or((alpha / 5.0).min((alpha - breaks) / 2.0));
        if stated.is_some() {
            self.between("/sequential/alpha1", "alpha1", alpha1, 0.0, alpha - breaks);
        }
        let phi = phi.unwrap_or(0.5);
        self.share("/sequential/phi", "phi", phi, true);
        Sequential { plan: Vec::new(), alpha1, phi, extend_on: extend_on.unwrap_or_default() }
    }

    /// The tags that gate.
    pub(crate) fn slices(
        &mut self,
        slices: &BTreeMap<String, SliceSettings>,
        known: &[MetricSpec],
    ) -> BTreeMap<String, SlicePolicy> {
        let mut gating = BTreeMap::new();
        for (tag, slice) in slices {
            let at = format!("/slices/{}", escape(tag));
            if let Some(margin) = slice.margin {
                self.between(&format!("{at}/margin"), "margin", margin, 0.0, 1.0);
            }
            for (position, name) in slice.metrics.iter().flatten().enumerate() {
                if !known.is_empty() && known.iter().all(|spec| *spec.name != **name) {
                    self.unknown_metric(&format!("{at}/metrics/{position}"), name, known);
                }
            }
            if slice.gate == Some(true) {
                gating.insert(tag.clone(), SlicePolicy { margin: slice.margin, metrics: slice.metrics.clone() });
            }
        }
        gating
    }

    /// How trials become a score.
    pub(crate) fn trials(&mut self, at: &str, settings: &MetricSettings) -> TrialsRule {
        let Some(text) = settings.trials.as_deref() else { return TrialsRule::default() };
        TrialsRule::parse(text).unwrap_or_else(|| {
            let help = "there are mean, median, majority, any, all, 2-of-3 and pass^3, with numbers of yours";
            self.push(&format!("{at}/trials"), "wrong-value", format!("`{text}` says nothing about trials"), help);
            TrialsRule::default()
        })
    }

    /// Everything about one metric's rules.
    pub(crate) fn metric(
        &mut self,
        at: &str,
        name: &str,
        settings: &MetricSettings,
        policy: &MetricPolicy,
        spec: Option<&MetricSpec>,
    ) {
        let kind = policy.kind.or(spec.map(|spec| spec.kind));
        let percentile = settings.percentile.as_ref();
        let limits = [
            ("min", policy.min),
            ("max", policy.max),
            ("case_min", policy.case_min),
            ("case_max", policy.case_max),
            ("pass_mark", policy.pass_mark),
            ("percentile/min", percentile.and_then(|percentile| percentile.min)),
            ("percentile/max", percentile.and_then(|percentile| percentile.max)),
        ];
        for (key, limit) in limits {
            self.limit(&format!("{at}/{key}"), name, key, limit, kind);
        }
        for (low, high) in [(policy.min, policy.max), (policy.case_min, policy.case_max)] {
            if let (Some(low), Some(high)) = (low, high)
                && low > high
            {
                self.push(at, "contradiction", format!("no score is at least {low} and at most {high}"), "swap them");
            }
        }
        if let Some(drop) = policy.max_drop
            && (drop < 0.0 || decimal(drop).is_none())
        {
            let help = "the largest drop allowed, 0 or more, in the metric's own scale";
            self.push(&format!("{at}/max_drop"), "out-of-range", format!("max_drop is {drop}"), help);
        }
        self.percentile(at, settings);
        self.pass_rate(at, name, settings, policy, spec, kind);
        let on_the_mean = policy.min.is_some() || policy.max.is_some();
        if policy.mode == ModeSetting::Exact && on_the_mean && kind.is_some_and(|kind| kind != ScoreKind::Binary) {
            let message = format!("mode `exact` needs a binary metric, and `{name}` is not");
            self.push(&format!("{at}/mode"), "wrong-mode", message, "use `confident`");
        }
    }

    fn limit(&mut self, at: &str, name: &str, key: &str, limit: Option<f64>, kind: Option<ScoreKind>) {
        let Some(limit) = limit else { return };
        let key = key.replace('/', ".");
        if decimal(limit).is_none() {
            self.push(at, "out-of-range", format!("{key} is {limit}"), "use an ordinary number");
            return;
        }
        let Some((lo, hi)) = kind.map(ScoreKind::range) else { return };
        if limit < lo || limit > hi {
            let help = format!("`{name}` scores from {lo} to {hi}, and limits are on that scale");
            self.push(at, "out-of-range", format!("{key} is {limit}, which no score of `{name}` can be"), &help);
        }
    }

    fn percentile(&mut self, at: &str, settings: &MetricSettings) {
        let Some(percentile) = &settings.percentile else { return };
        let here = format!("{at}/percentile");
        match percentile.at {
            Some(share) if share > 0.0 && share < 100.0 => {}
            Some(share) => {
                self.push(&format!("{here}/at"), "out-of-range", format!("at is {share}"), "above 0 and below 100");
            }
            None => self.push(&here, "missing-key", "the percentile has no `at`", "add `at: 95`"),
        }
        if percentile.min.is_none() && percentile.max.is_none() {
            self.push(&here, "missing-key", "the percentile has no limit", "add `min` or `max`");
        }
    }

    /// The judge's rates on labelled cases; they have to say something about the others.
    pub(super) fn calibration(&mut self, at: &str, rate: Option<&PassRateSettings>) -> Option<JudgeRates> {
        let CalibrationSettings { both_pass, judge_only, people_only, both_fail } = rate?.calibration?;
        let (good, bad) = (both_pass.saturating_add(people_only), both_fail.saturating_add(judge_only));
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let rates = JudgeRates { sensitivity: share(both_pass, good), good, specificity: share(both_fail, bad), bad };
        if good == 0 || bad == 0 || rates.sensitivity + rates.specificity <= 1.0 {
            let message =
                "the judge told good from bad no better than chance on the labelled cases, or one kind is not there";
            let help = "label more cases, or use a better judge: a rate cannot be corrected by one that says nothing";
            self.push(&format!("{at}/pass_rate/calibration"), "useless-calibration", message, help);
            return None;
        }
        Some(rates)
    }

    fn pass_rate(
        &mut self,
        at: &str,
        name: &str,
        settings: &MetricSettings,
        policy: &MetricPolicy,
        spec: Option<&MetricSpec>,
        kind: Option<ScoreKind>,
    ) {
        let Some(rate) = &settings.pass_rate else { return };
        let here = format!("{at}/pass_rate");
        match rate.min {
            Some(min) => self.share(&format!("{here}/min"), "pass_rate.min", min, false),
            None => self.push(&here, "missing-key", "the pass rate has no limit", "add `min: 0.9`"),
        }
        let has_mark = policy.pass_mark.is_some() || spec.is_some_and(|spec| spec.pass_mark.is_some());
        if spec.is_some() && !has_mark && kind != Some(ScoreKind::Binary) {
            let message = format!("nothing says when a case passes `{name}`");
            self.push(&here, "missing-key", message, "add `pass_mark`, the score at which a case passes");
        }
    }
}

fn shown(kind: ScoreKind) -> String {
    match kind {
        ScoreKind::Binary => "binary".to_owned(),
        ScoreKind::Ordinal { lo, hi } => format!("ordinal {lo} to {hi}"),
        ScoreKind::Continuous { lo, hi } => format!("continuous {lo} to {hi}"),
    }
}
