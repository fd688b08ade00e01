//! What a run measures anew because suite or data changed since the one before it in the same place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::domain::{Case, Digest, Fingerprint};
use crate::engine::Plan;
use crate::text::number;

/// Cases that are remembered one by one; of more, only that they changed is known.
const CASES: usize = 5_000;
/// Cases named at once.
const NAMED: usize = 5;

/// What the questions of a run are made of, part by part.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Shape {
    targets: BTreeMap<String, Digest>,
    metrics: BTreeMap<String, Fingerprint>,
    /// Of all cases.
    data: Option<Digest>,
    /// Of each, where they are few.
    cases: BTreeMap<String, Digest>,
}

impl Shape {
    /// Cases that cannot be read are left out: the run itself will say so.
    pub(super) fn of(plan: &Plan, dataset: &Dataset) -> Self {
        let metrics = plan.header.metrics.iter();
        let few = dataset.len <= CASES;
        let cases = few.then(|| dataset.cases().flatten().map(|case| (case.id.to_string(), asked(&case))));
        Self {
            targets: plan.targets.iter().map(|target| (target.name.to_string(), target.made_of)).collect(),
            metrics: metrics
                .map(|metric| (metric.name.to_string(), metric.fingerprint.clone().unwrap_or_default()))
                .collect(),
            data: plan.header.dataset_digest,
            cases: cases.into_iter().flatten().collect(),
        }
    }

    /// As it is kept.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What is measured anew since `before`, as [`Shape::text`] wrote it; `None`: nothing is known to be.
    pub(super) fn since(&self, before: &str) -> Option<String> {
        let before: Self = serde_json::from_str(before).ok()?;
        let mut anew: Vec<String> = self
            .targets
            .iter()
            .filter(|(name, made_of)| before.targets.get(*name).is_some_and(|old| old != *made_of))
            .map(|(name, _)| format!("every answer of `{name}` (it changed, and with it what judges are asked)"))
            .collect();
        anew.extend(self.metrics.iter().filter_map(|(name, made_of)| {
            let differences = before.metrics.get(name)?.differences(made_of);
            let parts: Vec<&str> = differences.iter().map(|(part, ..)| part.as_str()).collect();
            (!parts.is_empty()).then(|| format!("`{name}` of every case ({} changed)", parts.join(", ")))
        }));
        anew.extend(self.changed_cases(&before));
        (!anew.is_empty()).then(|| format!("since the last run here, measured anew: {}", anew.join("; ")))
    }

    fn changed_cases(&self, before: &Self) -> Option<String> {
        if self.cases.is_empty() || before.cases.is_empty() {
            return (self.data != before.data).then(|| "the cases that changed".to_owned());
        }
        let changed: Vec<&str> = self
            .cases
            .iter()
            .filter(|(id, content)| before.cases.get(*id).is_some_and(|old| old != *content))
            .map(|(id, _)| id.as_str())
            .collect();
        if changed.is_empty() {
            return None;
        }
        let more = if changed.len() > NAMED { ", …" } else { "" };
        let named: Vec<&str> = changed.iter().copied().take(NAMED).collect();
        let count = number::counted(changed.len() as u64, "case that changed", "cases that changed");
        Some(format!("{count} ({}{more})", named.join(", ")))
    }
}

/// What is asked about a case, with the answer where it is recorded.
fn asked(case: &Case) -> Digest {
    let recorded = case.recorded.iter();
    let texts = recorded.flat_map(|answer| answer.contexts.iter().map(|context| &*context.text).chain([&*answer.text]));
    Digest::of(std::iter::once(case.content.bytes().as_slice()).chain(texts.map(str::as_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        let made_of = |model: &str| Fingerprint::default().with("model", model).with("prompt", "p");
        Shape {
            targets: [("app".to_owned(), Digest::of(["1"]))].into(),
            metrics: [("faithful".to_owned(), made_of("large")), ("relevant".to_owned(), made_of("large"))].into(),
            data: Some(Digest::of(["data"])),
            cases: (0..9).map(|at| (format!("q{at}"), Digest::of([at.to_string()]))).collect(),
        }
    }

    #[test]
    fn what_changed_is_named_and_nothing_else() {
        let before = shape().text();
        assert_eq!(shape().since(&before), None);
        let mut now = shape();
        now.metrics.insert("faithful".to_owned(), Fingerprint::default().with("model", "tiny").with("prompt", "q"));
        now.metrics.insert("new".to_owned(), Fingerprint::default());
        now.targets.insert("app".to_owned(), Digest::of(["2"]));
        now.data = Some(Digest::of(["other"]));
        now.cases.insert("q3".to_owned(), Digest::of(["changed"]));
        now.cases.insert("q99".to_owned(), Digest::of(["added"]));
        assert_eq!(
            now.since(&before).as_deref(),
            Some(
                "since the last run here, measured anew: every answer of `app` (it changed, and with it what judges are asked); \
                 `faithful` of every case (model, prompt changed); 1 case that changed (q3)"
            )
        );
        for at in 0..9 {
            now.cases.insert(format!("q{at}"), Digest::of(["changed"]));
        }
        assert!(now.since(&before).is_some_and(|text| text.ends_with("9 cases that changed (q0, q1, q2, q3, q4, …)")));
    }

    #[test]
    fn of_many_cases_only_that_they_changed_is_known() {
        let many = |data: &str| Shape { data: Some(Digest::of([data])), cases: BTreeMap::new(), ..shape() };
        assert_eq!(many("a").since(&many("a").text()), None);
        assert!(many("b").since(&many("a").text()).is_some_and(|text| text.ends_with("the cases that changed")));
        // What cannot be read is no reason to say anything.
        assert_eq!(shape().since("{"), None);
    }
}
