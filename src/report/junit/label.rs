//! Names of test cases: non-empty, one line, distinct even where a reader lower-cases, trims or cuts them at 250 characters, and the same in
//! the next run. Names that would collide all carry a digest of what they stand for, never a number by order.

use std::collections::{BTreeSet, HashMap, HashSet};

use unicode_normalization::UnicodeNormalization as _;

use crate::domain::Digest;
use crate::report::clean::{Clean, Cleaner};
use crate::report::escape::xml_attribute;
use crate::report::view::View;

const CASE: usize = 120;
const METRIC: usize = 60;
const TARGET: usize = 40;
const SUITE: usize = 60;

/// Short, distinct names for everything that test cases are named after; what is named as it is called stands in no map.
pub(super) struct Labels {
    pub(super) suite: String,
    cases: HashMap<String, String>,
    metrics: HashMap<String, String>,
    targets: HashMap<String, String>,
    several_targets: bool,
}

impl Labels {
    pub(super) fn new(view: &View<'_>) -> Self {
        let header = &view.run.header;
        let rules = &view.verdict.rules;
        let cases = view.run.cases.iter().map(|case| &*case.id);
        let metrics = header.metrics.iter().map(|metric| &*metric.name).chain(rules.iter().map(|rule| &*rule.metric));
        let named = header.reported_targets();
        let targets = named.iter().map(|target| &**target).chain(rules.iter().map(|rule| &*rule.target));
        let suite = label(&view.verdict.suite, SUITE, &view.cleaner);
        Self {
            suite: if suite.is_empty() { "scoregate".to_owned() } else { suite },
            cases: distinct(cases, CASE, &view.cleaner),
            metrics: distinct(metrics, METRIC, &view.cleaner),
            targets: distinct(targets, TARGET, &view.cleaner),
            several_targets: named.len() > 1,
        }
    }

    /// Of a case of the run.
    pub(super) fn case<'s>(&'s self, id: &'s str) -> &'s str {
        self.cases.get(id).map_or(id, String::as_str)
    }

    /// Of a metric of the run or of a rule.
    pub(super) fn metric<'s>(&'s self, name: &'s str) -> &'s str {
        self.metrics.get(name).map_or(name, String::as_str)
    }

    /// ` (app)` where there are several targets.
    pub(super) fn of_target(&self, name: &str) -> String {
        if !self.several_targets || name.is_empty() {
            return String::new();
        }
        format!(" ({})", self.targets.get(name).map_or(name, String::as_str))
    }

    /// `<suite>.<what>` with no other dot: Jenkins cuts at the last one.
    pub(super) fn class(&self, what: &str) -> String {
        format!("{}.{}", self.suite.replace('.', "_"), what.replace('.', "_"))
    }
}

/// Names of one suite's test cases, none twice; the last resort, for separators that stand in names.
#[derive(Default)]
pub(super) struct Taken(HashSet<Digest>);

impl Taken {
    pub(super) fn unique(&mut self, name: String, what: &[&str]) -> String {
        if self.0.insert(Digest::of([folded(&name)])) {
            return name;
        }
        let name = marked(&name, &what.join("\n"));
        self.0.insert(Digest::of([folded(&name)]));
        name
    }
}

/// The labels of those names that are not their own. There may be a million of them, so the others are not kept, and collisions are found
/// by digests.
fn distinct<'n>(names: impl Iterator<Item = &'n str>, limit: usize, cleaner: &Cleaner) -> HashMap<String, String> {
    let names: BTreeSet<&str> = names.collect();
    let folded_digest = |label: &str| Digest::of([folded(label)]);
    let mut like: HashMap<Digest, u32> = HashMap::with_capacity(names.len());
    for name in &names {
        *like.entry(folded_digest(&label(name, limit, cleaner))).or_default() += 1;
    }
    let mut labels = HashMap::new();
    for name in names {
        let label = label(name, limit, cleaner);
        let alone = like.get(&folded_digest(&label)) == Some(&1);
        let label = if alone { label } else { marked(&label, name) };
        if label != name {
            labels.insert(name.to_owned(), label);
        }
    }
    labels
}

fn label(name: &str, limit: usize, cleaner: &Cleaner) -> String {
    let clean = cleaner.line(name, limit);
    let clean = if clean.is_blank() { Clean::ours("(empty)") } else { clean };
    xml_attribute(&clean).into_string()
}

fn marked(label: &str, name: &str) -> String {
    let digest = Digest::of([name]).to_string();
    format!("{label} ~{}", digest.get(..8).unwrap_or_default())
}

/// As the least careful reader compares.
fn folded(name: &str) -> String {
    name.nfkc().collect::<String>().to_lowercase().trim().chars().take(250).collect()
}
