//! Two policies side by side: what changed, and what of it makes the gate easier to pass. Pure.
//!
//! In doubt a change loosens: it then waits for somebody who may decide, instead of passing unseen.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::asked::{BaselinePolicy, Missing};
use super::policy::{MetricPolicy, Percentile, Policy, SlicePolicy};
use super::settings::{BreaksSetting, FailOrWarn, InconclusiveSetting, ModeSetting};
use super::trials::TrialsRule;
use crate::domain::{Direction, MetricSpec, PolicyChange, ScoreKind};
use crate::stats::JudgeRates;
use crate::suite::Block;
use crate::text::pointer::escape;

/// What a setting that is not there is called.
pub(super) const NONE: &str = "none";

/// Where the new policy is written; `None`: it has no gate section.
pub type Written<'b> = Option<&'b Block>;

/// How `new` differs from `old`.
pub fn changes(old: &Policy, new: &Policy, written: Written<'_>) -> Vec<PolicyChange> {
    let mut list = List { written, changes: Vec::new() };
    list.whole(old, new);
    for ids in [("tags", &old.must_pass.tags, &new.must_pass.tags), ("ids", &old.must_pass.ids, &new.must_pass.ids)] {
        list.must_pass(ids.0, ids.1, ids.2);
    }
    let names: BTreeSet<_> = old.metrics.keys().chain(new.metrics.keys()).collect();
    for name in names {
        list.metric(name, &old.metric(name), &new.metric(name));
    }
    list.looks(old, new);
    list.slices(&old.slices, &new.slices);
    list.exceptions("/quarantine", &old.quarantine.words(), &new.quarantine.words());
    list.exceptions("/canaries", &old.canaries, &new.canaries);
    list.more(old, new);
    list.baseline(old.baseline.as_ref(), new.baseline.as_ref());
    list.changes
}

/// How what is measured differs. `old` and `new` are what the two suites' evaluators measure.
pub fn metric_changes(
    old: &[MetricSpec],
    new: &[MetricSpec],
    place: impl Fn(&str) -> Option<String>,
) -> Vec<PolicyChange> {
    let mut changes = Vec::new();
    let mut say = |name: &str, part: &str, old: String, new: String, loosens: bool| {
        let part = if part.is_empty() { String::new() } else { format!(".{part}") };
        changes.push(PolicyChange { what: format!("evaluators.{name}{part}"), old, new, place: place(name), loosens });
    };
    for before in old {
        let Some(after) = new.iter().find(|spec| spec.name == before.name) else {
            say(&before.name, "", "measured".to_owned(), "removed".to_owned(), true);
            continue;
        };
        if before.kind != after.kind {
            say(&before.name, "scale", scale(before.kind), scale(after.kind), true);
        }
        if before.direction != after.direction {
            say(&before.name, "direction", way(before.direction), way(after.direction), true);
        }
        if before.pass_mark != after.pass_mark {
            let easier = match (before.pass_mark, after.pass_mark, after.direction) {
                (Some(old), Some(new), Direction::Higher) => new < old,
                (Some(old), Some(new), Direction::Lower) => new > old,
                _ => true,
            };
            say(&before.name, "threshold", shown(before.pass_mark), shown(after.pass_mark), easier);
        }
        if let (Some(earlier), Some(later)) = (&before.fingerprint, &after.fingerprint) {
            for (part, old, new) in earlier.differences(later) {
                // The threshold is said above.
                say(&before.name, &part, short(&old), short(&new), true);
            }
        }
    }
    for after in new.iter().filter(|after| old.iter().all(|before| before.name != after.name)) {
        say(&after.name, "", NONE.to_owned(), "measured".to_owned(), false);
    }
    changes
}

pub(super) struct List<'b> {
    written: Written<'b>,
    changes: Vec<PolicyChange>,
}

impl List<'_> {
    pub(super) fn say(&mut self, pointer: &str, old: impl ToString, new: impl ToString, loosens: bool) {
        let what = format!("gate{}", pointer.replace('/', ".").replace("~1", "/").replace("~0", "~"));
        let place = self.written.map(|block| {
            let span = block.place(pointer);
            if span.line == 0 { block.source.path.clone() } else { format!("{}:{}", block.source.path, span.line) }
        });
        self.changes.push(PolicyChange { what, old: old.to_string(), new: new.to_string(), place, loosens });
    }

    /// A number of which less is stricter (`Stricter::Less`), or more.
    fn number(&mut self, pointer: &str, old: f64, new: f64, stricter: Stricter) {
        if old != new {
            let loosens = match stricter {
                Stricter::Less => new > old,
                Stricter::More => new < old,
            };
            self.say(pointer, old, new, loosens);
        }
    }

    /// A limit that may not be there, which is the loosest.
    pub(super) fn limit(&mut self, pointer: &str, old: Option<f64>, new: Option<f64>, stricter: Stricter) {
        if old == new {
            return;
        }
        let loosens = match (old, new, stricter) {
            (Some(_), None, _) => true,
            (None, _, _) => false,
            (Some(old), Some(new), Stricter::Less) => new > old,
            (Some(old), Some(new), Stricter::More) => new < old,
        };
        self.say(pointer, shown(old), shown(new), loosens);
    }

    /// A choice with its rank: the higher the stricter.
    pub(super) fn choice(&mut self, pointer: &str, (old, before): (&str, u8), (new, after): (&str, u8)) {
        if old != new {
            self.say(pointer, old, new, after < before);
        }
    }

    fn whole(&mut self, old: &Policy, new: &Policy) {
        let strict = |policy: &Policy| policy.metrics.values().any(|rules| rules.mode == ModeSetting::Strict);
        if old.alpha != new.alpha {
            // A smaller chance of a false alarm needs more evidence of a drop; what `strict` asks for it needs more of, too.
            let loosens = new.alpha < old.alpha || strict(old) || strict(new);
            self.say("/alpha", old.alpha, new.alpha, loosens);
        }
        let usual = |policy: &Policy| policy.alpha_breaks == policy.alpha / 5.0;
        if old.alpha_breaks != new.alpha_breaks && !(usual(old) && usual(new)) {
            let mean = |policy: &Policy| policy.alpha - policy.alpha_breaks;
            let loosens = new.alpha_breaks < old.alpha_breaks || mean(new) < mean(old);
            self.say("/alpha_breaks", old.alpha_breaks, new.alpha_breaks, loosens);
        }
        self.number("/severity", old.severity, new.severity, Stricter::Less);
        self.choice("/breaks", breaks(old.breaks), breaks(new.breaks));
        self.choice("/inconclusive", inconclusive(old.inconclusive), inconclusive(new.inconclusive));
        self.choice("/on_coverage", fail_or_warn(old.on_coverage), fail_or_warn(new.on_coverage));
        self.number("/min_measured", old.min_measured, new.min_measured, Stricter::More);
        self.number("/max_missing", old.max_missing, new.max_missing, Stricter::Less);
        self.number("/min_overlap", old.min_overlap, new.min_overlap, Stricter::More);
        let (before, after) = (old.max_new_errors, new.max_new_errors);
        if before != after {
            self.say("/errors/max_new", before, after, after > before);
        }
    }

    /// What of the plan's numbers is harder depends on the run, so a change waits for who may decide.
    fn looks(&mut self, before: &Policy, after: &Policy) {
        let (old, new) = (&before.sequential, &after.sequential);
        // Where it is not written it follows the other levels, whose changes are told.
        let usual = |policy: &Policy| {
            policy.sequential.alpha1 == (policy.alpha / 5.0).min((policy.alpha - policy.alpha_breaks) / 2.0)
        };
        if old.alpha1 != new.alpha1 && !(usual(before) && usual(after)) {
            self.say("/sequential/alpha1", old.alpha1, new.alpha1, true);
        }
        if old.phi != new.phi {
            self.say("/sequential/phi", old.phi, new.phi, true);
        }
        if old.extend_on != new.extend_on {
            self.say("/sequential/extend_on", format!("{:?}", old.extend_on), format!("{:?}", new.extend_on), true);
        }
    }

    fn slices(&mut self, old: &BTreeMap<String, SlicePolicy>, new: &BTreeMap<String, SlicePolicy>) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let pointer = format!("/slices/{}", escape(name));
            match (old.get(name), new.get(name)) {
                (Some(_), None) => self.say(&pointer, "decides", "does not decide", true),
                (None, Some(_)) => self.say(&pointer, "does not decide", "decides", false),
                (Some(old), Some(new)) if old != new => {
                    let words = |slice: &SlicePolicy| {
                        let metrics =
                            slice.metrics.as_ref().map_or_else(|| "all metrics".to_owned(), |names| names.join(", "));
                        format!("margin {}, {metrics}", shown(slice.margin))
                    };
                    self.say(&pointer, words(old), words(new), true);
                }
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
    }

    /// Each one excuses something.
    fn exceptions(&mut self, pointer: &str, old: &[String], new: &[String]) {
        for added in new.iter().filter(|one| !old.contains(one)) {
            self.say(pointer, NONE, added, true);
        }
        for gone in old.iter().filter(|one| !new.contains(one)) {
            self.say(pointer, gone, NONE, false);
        }
    }

    fn must_pass(&mut self, key: &str, old: &[String], new: &[String]) {
        let pointer = format!("/must_pass/{key}");
        for gone in old.iter().filter(|name| !new.contains(name)) {
            self.say(&pointer, format!("`{gone}`"), "removed", true);
        }
        for added in new.iter().filter(|name| !old.contains(name)) {
            self.say(&pointer, NONE, format!("`{added}`"), false);
        }
    }

    /// None is before every day: no shadow at all.
    pub(super) fn shadow(&mut self, pointer: &str, old: Option<Date>, new: Option<Date>) {
        if old != new {
            let words = |day: Option<Date>| day.map_or_else(|| NONE.to_owned(), |day| day.to_string());
            self.say(pointer, words(old), words(new), new > old);
        }
    }

    /// Other counts may make any rate of it.
    pub(super) fn calibration(&mut self, pointer: &str, old: Option<JudgeRates>, new: Option<JudgeRates>) {
        if old != new {
            let words = |rates: Option<JudgeRates>| rates.map_or_else(|| NONE.to_owned(), rates_of);
            self.say(pointer, words(old), words(new), true);
        }
    }

    fn metric(&mut self, name: &str, old: &MetricPolicy, new: &MetricPolicy) {
        let at = |key: &str| format!("/metrics/{}/{key}", escape(name));
        self.limit(&at("min"), old.min, new.min, Stricter::More);
        self.limit(&at("max"), old.max, new.max, Stricter::Less);
        self.number(&at("margin"), old.margin, new.margin, Stricter::Less);
        self.limit(&at("max_drop"), old.max_drop, new.max_drop, Stricter::Less);
        if old.gate != new.gate {
            self.say(&at("gate"), old.gate, new.gate, !new.gate);
        }
        self.choice(&at("on_fail"), fail_or_warn(old.on_fail), fail_or_warn(new.on_fail));
        self.shadow(&at("shadow_until"), old.shadow_until, new.shadow_until);
        self.choice(&at("mode"), mode(old.mode), mode(new.mode));
        if old.trials != new.trials {
            self.say(&at("trials"), old.trials.word(), new.trials.word(), new.trials != TrialsRule::All);
        }
        self.limit(&at("pass_rate/min"), old.pass_rate, new.pass_rate, Stricter::More);
        self.calibration(&at("pass_rate/calibration"), old.calibration, new.calibration);
        self.limit(&at("case_min"), old.case_min, new.case_min, Stricter::More);
        self.limit(&at("case_max"), old.case_max, new.case_max, Stricter::Less);
        self.percentile(&at("percentile"), old.percentile, new.percentile);
        if old.kind != new.kind {
            let words = |kind: Option<ScoreKind>| kind.map_or_else(|| NONE.to_owned(), scale);
            self.say(&at("type"), words(old.kind), words(new.kind), true);
        }
        if old.direction != new.direction {
            let words = |direction: Option<Direction>| direction.map_or_else(|| NONE.to_owned(), way);
            self.say(&at("direction"), words(old.direction), words(new.direction), true);
        }
        if old.pass_mark != new.pass_mark {
            let easier = match (old.pass_mark, new.pass_mark, new.direction.unwrap_or_default()) {
                (Some(old), Some(new), Direction::Higher) => new < old,
                (Some(old), Some(new), Direction::Lower) => new > old,
                _ => true,
            };
            self.say(&at("pass_mark"), shown(old.pass_mark), shown(new.pass_mark), easier);
        }
    }

    fn percentile(&mut self, pointer: &str, old: Option<Percentile>, new: Option<Percentile>) {
        if old == new {
            return;
        }
        let words = |one: Option<Percentile>| {
            one.map_or_else(
                || NONE.to_owned(),
                |Percentile { at, min, max }| {
                    let side = |name: &str, limit: Option<f64>| limit.map(|limit| format!(", {name} {limit}"));
                    format!("at {at}{}{}", side("min", min).unwrap_or_default(), side("max", max).unwrap_or_default())
                },
            )
        };
        let loosens = match (old, new) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(old), Some(new)) => {
                let below = |old: Option<f64>, new: Option<f64>| matches!((old, new), (Some(_), None)) || new < old;
                let above =
                    matches!((old.max, new.max), (Some(_), None)) || old.max.zip(new.max).is_some_and(|(o, n)| n > o);
                // A lower percentile is asked of fewer cases from above, and of more from below.
                let moved = (new.at > old.at && old.min.is_some()) || (new.at < old.at && old.max.is_some());
                moved || (old.min.is_some() && below(old.min, new.min)) || above
            }
        };
        self.say(pointer, words(old), words(new), loosens);
    }

    fn baseline(&mut self, old: Option<&BaselinePolicy>, new: Option<&BaselinePolicy>) {
        let (old, new) = match (old, new) {
            (None, None) => return,
            (Some(_), None) => return self.say("/baseline", "asked for", NONE, true),
            (None, Some(_)) => return self.say("/baseline", NONE, "asked for", false),
            (Some(old), Some(new)) => (old, new),
        };
        if old.from != new.from {
            self.say("/baseline/from", old.from.word(), new.from.word(), true);
        }
        if old.path != new.path {
            let words = |path: &Option<String>| path.clone().unwrap_or_else(|| "the usual place".to_owned());
            self.say("/baseline/path", words(&old.path), words(&new.path), true);
        }
        if old.runs != new.runs {
            self.say("/baseline/runs", old.runs, new.runs, new.runs < old.runs);
        }
        self.choice("/baseline/missing", missing(old.missing), missing(new.missing));
        if old.max_age != new.max_age {
            let words = |age: Option<std::time::Duration>| {
                age.map_or_else(|| NONE.to_owned(), |age| format!("{} h", age.as_secs() / 3600))
            };
            let loosens = match (old.max_age, new.max_age) {
                (Some(old), Some(new)) => new > old,
                (Some(_), None) => true,
                (None, _) => false,
            };
            self.say("/baseline/max_age", words(old.max_age), words(new.max_age), loosens);
        }
        self.way_of_baseline(old, new);
        if old.digest != new.digest {
            let words =
                |digest: Option<crate::domain::Digest>| digest.map_or_else(|| NONE.to_owned(), |one| one.to_string());
            self.say("/baseline/digest", words(old.digest), words(new.digest), old.digest.is_some());
        }
    }
}

#[derive(Clone, Copy)]
pub(super) enum Stricter {
    Less,
    More,
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| value.to_string())
}

/// Enough of a prompt or a parameter to recognise it.
fn short(text: &str) -> String {
    const SHOWN: usize = 60;
    if text.is_empty() {
        return NONE.to_owned();
    }
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn rates_of(rates: JudgeRates) -> String {
    let JudgeRates { sensitivity, good, specificity, bad } = rates;
    format!("{:.3} of {good} good and {:.3} of {bad} bad ones told", sensitivity, specificity)
}

fn scale(kind: ScoreKind) -> String {
    let (lo, hi) = kind.range();
    match kind {
        ScoreKind::Binary => "0 or 1".to_owned(),
        ScoreKind::Ordinal { .. } => format!("whole numbers from {lo} to {hi}"),
        ScoreKind::Continuous { .. } => format!("{lo} to {hi}"),
    }
}

fn way(direction: Direction) -> String {
    match direction {
        Direction::Higher => "higher".to_owned(),
        Direction::Lower => "lower".to_owned(),
    }
}

fn breaks(setting: BreaksSetting) -> (&'static str, u8) {
    match setting {
        BreaksSetting::Fail => ("fail", 2),
        BreaksSetting::Warn => ("warn", 1),
        BreaksSetting::Off => ("off", 0),
    }
}

fn inconclusive(setting: InconclusiveSetting) -> (&'static str, u8) {
    match setting {
        InconclusiveSetting::Fail => ("fail", 2),
        InconclusiveSetting::Warn => ("warn", 1),
        InconclusiveSetting::Pass => ("pass", 0),
    }
}

pub(super) fn fail_or_warn(setting: FailOrWarn) -> (&'static str, u8) {
    match setting {
        FailOrWarn::Fail => ("fail", 1),
        FailOrWarn::Warn => ("warn", 0),
    }
}

/// `exact` has the widest intervals, so it calls the least a miss.
pub(super) fn mode(setting: ModeSetting) -> (&'static str, u8) {
    match setting {
        ModeSetting::Strict => ("strict", 3),
        ModeSetting::Point => ("point", 2),
        ModeSetting::Confident => ("confident", 1),
        ModeSetting::Exact => ("exact", 0),
    }
}

fn missing(setting: Missing) -> (&'static str, u8) {
    match setting {
        Missing::Fail => ("fail", 2),
        Missing::Seed => ("seed", 1),
        Missing::Warn => ("warn", 0),
    }
}
