//! The parts of a policy that came later, side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::asked::{BaselineMode, BaselinePolicy};
use super::loosened::{List, NONE, Stricter, fail_or_warn, mode};
use super::policy::{MetricPolicy, Policy};
use super::resource::ResourcePolicy;
use crate::domain::{Resource, Statistic};
use crate::text::pointer::escape;

impl List<'_> {
    pub(super) fn more(&mut self, old: &Policy, new: &Policy) {
        self.tag_limits(old, new);
        for resource in [Resource::Latency, Resource::Tokens, Resource::Cost] {
            self.resource(resource, old.resources.get(&resource), new.resources.get(&resource));
        }
        self.judges(old, new);
        let place = |path: &Option<String>| path.clone().unwrap_or_else(|| NONE.to_owned());
        if old.anchor != new.anchor {
            self.say("/anchor", place(&old.anchor), place(&new.anchor), old.anchor.is_some());
        }
        if old.confirm != new.confirm {
            // Who is asked again can only excuse.
            self.say("/confirm/target", place(&old.confirm), place(&new.confirm), new.confirm.is_some());
        }
    }

    fn tag_limits(&mut self, old: &Policy, new: &Policy) {
        let tags: BTreeSet<&String> = old.tag_limits.keys().chain(new.tag_limits.keys()).collect();
        let empty = BTreeMap::new();
        for tag in tags {
            let before = old.tag_limits.get(tag).unwrap_or(&empty);
            let after = new.tag_limits.get(tag).unwrap_or(&empty);
            let metrics: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            for metric in metrics {
                let pointer = format!("/slices/{}/limits/{}", escape(tag), escape(metric));
                match (before.get(metric), after.get(metric)) {
                    (Some(old), Some(new)) => self.level(&pointer, old, new),
                    (Some(_), None) => self.say(&pointer, "asked for", NONE, true),
                    (None, Some(_)) => self.say(&pointer, NONE, "asked for", false),
                    (None, None) => {}
                }
            }
        }
    }

    /// The limits and what a tag may say otherwise than its metric: the rest is the metric's, whose changes are told.
    fn level(&mut self, pointer: &str, old: &MetricPolicy, new: &MetricPolicy) {
        let at = |key: &str| format!("{pointer}/{key}");
        self.limit(&at("min"), old.min, new.min, Stricter::More);
        self.limit(&at("max"), old.max, new.max, Stricter::Less);
        self.limit(&at("pass_rate/min"), old.pass_rate, new.pass_rate, Stricter::More);
        self.limit(&at("case_min"), old.case_min, new.case_min, Stricter::More);
        self.limit(&at("case_max"), old.case_max, new.case_max, Stricter::Less);
        self.choice(&at("mode"), mode(old.mode), mode(new.mode));
        self.choice(&at("on_fail"), fail_or_warn(old.on_fail), fail_or_warn(new.on_fail));
        self.shadow(&at("shadow_until"), old.shadow_until, new.shadow_until);
        // It counts for a pass rate alone.
        let rates = |one: &MetricPolicy| one.calibration.filter(|_| one.pass_rate.is_some());
        self.calibration(&at("pass_rate/calibration"), rates(old), rates(new));
    }

    fn resource(&mut self, resource: Resource, old: Option<&ResourcePolicy>, new: Option<&ResourcePolicy>) {
        let none = ResourcePolicy::default();
        let (before, after) = (old.unwrap_or(&none), new.unwrap_or(&none));
        let at = |key: &str| format!("/resources/{}/{key}", resource.word());
        for statistic in Statistic::ALL {
            let of = |limits: &BTreeMap<Statistic, f64>| limits.get(&statistic).copied();
            self.limit(&at(statistic.key()), of(&before.limits), of(&after.limits), Stricter::Less);
            let pointer = at(&format!("increase/{}", statistic.key()));
            self.limit(&pointer, of(&before.increase), of(&after.increase), Stricter::Less);
        }
        if old.is_some() && new.is_some() {
            self.choice(&at("on_fail"), fail_or_warn(before.on_fail), fail_or_warn(after.on_fail));
            self.choice(&at("on_missing"), fail_or_warn(before.on_missing), fail_or_warn(after.on_missing));
            self.choice(&at("mode"), mode(before.mode), mode(after.mode));
        }
    }

    fn judges(&mut self, old: &Policy, new: &Policy) {
        let names: BTreeSet<_> = old.judges.keys().chain(new.judges.keys()).collect();
        for name in names {
            let pointer = format!("/judges/{}", escape(name));
            match (old.judges.get(name), new.judges.get(name)) {
                (Some(old), Some(new)) if old != new => {
                    let lower = |old: Option<f64>, new: Option<f64>| match (old, new) {
                        (Some(old), Some(new)) => new < old,
                        (Some(_), None) => true,
                        (None, _) => false,
                    };
                    let loosens = lower(old.min_accuracy, new.min_accuracy)
                        || lower(old.min_kappa, new.min_kappa)
                        || new.min_labels < old.min_labels
                        || new.calibration != old.calibration
                        || fail_or_warn(new.on_fail).1 < fail_or_warn(old.on_fail).1;
                    self.say(&pointer, old.words(), new.words(), loosens);
                }
                (Some(old), None) => self.say(&pointer, old.words(), NONE, true),
                (None, Some(new)) => self.say(&pointer, NONE, new.words(), false),
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
    }

    pub(super) fn way_of_baseline(&mut self, old: &BaselinePolicy, new: &BaselinePolicy) {
        self.limit("/baseline/ratchet", old.ratchet, new.ratchet, Stricter::Less);
        if (old.mode, &old.target) != (new.mode, &new.target) {
            let words = |one: &BaselinePolicy| match (one.mode, &one.target) {
                (BaselineMode::Concurrent, Some(target)) => format!("concurrent with {target}"),
                (BaselineMode::Concurrent, None) => "concurrent".to_owned(),
                (BaselineMode::Stored, _) => "stored".to_owned(),
            };
            self.say("/baseline/mode", words(old), words(new), true);
        }
    }
}
