//! What of a run and a baseline measured the same thing: cases by id and content, metrics by fingerprint (statistics §3, §15.4).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::policy::Policy;
use super::sheet::Sheet;
use crate::domain::{Baseline, BaselineCase, CaseChanges, CaseId, Digest, MetricSpec, Run};

/// Where a case of the run stands.
#[derive(Clone, Copy)]
pub(crate) enum Standing<'b> {
    /// In the baseline with the same content.
    Same(&'b BaselineCase),
    /// In the baseline with another content: not compared.
    Changed,
    /// New, no baseline.
    Added,
}

/// A usable baseline beside the run.
pub(crate) struct Reference<'b> {
    pub(crate) baseline: &'b Baseline,
    /// The baseline's metrics as the policy sees them.
    pub(crate) specs: Vec<MetricSpec>,
    /// Parallel to the run's sheets.
    pub(crate) sides: Vec<Side<'b>>,
    pub(crate) changes: CaseChanges,
}

/// One target of the run in the baseline.
pub(crate) struct Side<'b> {
    /// The baseline has this target at all.
    pub(crate) known: bool,
    /// Parallel to the sheet's rows.
    pub(crate) standing: Vec<Standing<'b>>,
    /// The baseline's cases of this target, whether or not they are still there.
    pub(crate) cases: Vec<&'b BaselineCase>,
    /// Of these, the ones that the run lacks.
    pub(crate) removed: Vec<&'b BaselineCase>,
}

impl<'b> Reference<'b> {
    pub(crate) fn spec(&self, name: &str) -> Option<&MetricSpec> {
        self.specs.iter().find(|spec| &*spec.name == name)
    }

    pub(crate) fn build(baseline: &'b Baseline, sheets: &[Sheet<'_>], policy: &Policy) -> Self {
        let mut by_target: BTreeMap<&str, Vec<&'b BaselineCase>> = BTreeMap::new();
        for case in &baseline.cases {
            by_target.entry(&case.target).or_default().push(case);
        }
        let mut gathered = Gathered::default();
        let sides = sheets
            .iter()
            .map(|sheet| side(sheet, by_target.remove(&*sheet.target).unwrap_or_default(), &mut gathered))
            .collect();
        // A target that the run lacks takes all its cases with it.
        for case in by_target.into_values().flatten() {
            gathered.removed.insert(case.id.clone(), case.content);
        }
        let specs = baseline.metrics.iter().map(|spec| policy.metric(&spec.name).apply(spec.clone())).collect();
        Self { baseline, specs, sides, changes: gathered.changes() }
    }
}

#[derive(Default)]
struct Gathered {
    added: BTreeMap<CaseId, Option<Digest>>,
    removed: BTreeMap<CaseId, Option<Digest>>,
    changed: BTreeSet<CaseId>,
}

impl Gathered {
    fn changes(self) -> CaseChanges {
        let mut by_content: HashMap<Digest, CaseId> = HashMap::new();
        for (id, content) in self.added.iter().rev() {
            content.map(|content| by_content.insert(content, id.clone()));
        }
        let renamed = self
            .removed
            .iter()
            .filter_map(|(old, content)| Some((old.clone(), by_content.remove(content.as_ref()?)?)))
            .collect();
        CaseChanges {
            added: self.added.into_keys().collect(),
            removed: self.removed.into_keys().collect(),
            changed: self.changed.into_iter().collect(),
            renamed,
        }
    }
}

fn side<'b>(sheet: &Sheet<'_>, cases: Vec<&'b BaselineCase>, gathered: &mut Gathered) -> Side<'b> {
    let known = !cases.is_empty();
    let by_id: HashMap<&str, &'b BaselineCase> = cases.iter().map(|case| (&*case.id, *case)).collect();
    let mut present: HashSet<&str> = HashSet::with_capacity(sheet.rows.len());
    let mut standing = Vec::with_capacity(sheet.rows.len());
    for row in &sheet.rows {
        present.insert(&row.id);
        standing.push(match by_id.get(&*row.id) {
            None => {
                if known {
                    gathered.added.insert(row.id.clone(), row.content);
                }
                Standing::Added
            }
            Some(case) if differ(row.content, case.content) => {
                gathered.changed.insert(row.id.clone());
                Standing::Changed
            }
            Some(case) => Standing::Same(case),
        });
    }
    let removed: Vec<&'b BaselineCase> = cases.iter().copied().filter(|case| !present.contains(&*case.id)).collect();
    for case in &removed {
        gathered.removed.insert(case.id.clone(), case.content);
    }
    Side { known, standing, cases, removed }
}

/// Unknown content (results of other tools) pairs by id alone.
fn differ(left: Option<Digest>, right: Option<Digest>) -> bool {
    matches!((left, right), (Some(left), Some(right)) if left != right)
}

/// What keeps two measurements of a metric from being compared, part by part; empty: nothing.
pub(crate) fn mismatch(current: &MetricSpec, baseline: &MetricSpec) -> Vec<String> {
    let mut parts = Vec::new();
    if current.kind != baseline.kind {
        parts.push(format!("scale: {:?} → {:?}", baseline.kind, current.kind));
    }
    if current.direction != baseline.direction {
        parts.push(format!("direction: {:?} → {:?}", baseline.direction, current.direction));
    }
    if let (Some(old), Some(new)) = (&baseline.fingerprint, &current.fingerprint) {
        let named = old.differences(new).into_iter();
        parts.extend(named.map(|(part, old, new)| format!("{part}: {} → {}", short(&old), short(&new))));
    }
    parts
}

/// Metrics whose judge answered under another name than in the newest run of the baseline that says one: its service put another model
/// behind the name that the suite asks for. One sentence for each change.
pub(crate) fn other_judges(run: &Run, baseline: &Baseline) -> Vec<String> {
    let mut changes: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for (metric, now) in &run.judges {
        let before = baseline.runs.iter().rev().find_map(|run| run.judges.get(metric));
        if let Some(before) = before.filter(|before| *before != now) {
            changes.entry((listed(now), listed(before))).or_default().push(metric);
        }
    }
    let say = |((now, before), metrics): ((String, String), Vec<&str>)| {
        format!("judge answered as {now}, baseline as {before} ({})", super::word::names(&metrics, 5))
    };
    changes.into_iter().map(say).collect()
}

fn listed(models: &BTreeSet<Arc<str>>) -> String {
    models.iter().map(|model| short(model)).collect::<Vec<_>>().join(" and ")
}

/// Enough of a value to recognise it.
fn short(text: &str) -> String {
    const SHOWN: usize = 60;
    if text.is_empty() {
        return "(none)".to_owned();
    }
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Why a baseline cannot be used at all; `None`: it can.
pub(crate) fn unusable(run: &Run, baseline: &Baseline, policy: &Policy) -> Option<String> {
    // Of a selection, no case may be in the baseline.
    if baseline.runs.is_empty() || (baseline.cases.is_empty() && run.header.selection.is_none()) {
        return Some("it holds no runs or no cases".to_owned());
    }
    for spec in &baseline.metrics {
        let spec = policy.metric(&spec.name).apply(spec.clone());
        for case in &baseline.cases {
            let scores = case.scores.get(&spec.name).into_iter().flatten().flatten();
            if let Some(score) = scores.into_iter().find(|score| !spec.kind.admits(**score)) {
                let (lo, hi) = spec.kind.range();
                let (metric, case) = (&spec.name, &case.id);
                return Some(format!("{metric} of case {case} is {score}, which is no score from {lo} to {hi}"));
            }
        }
    }
    None
}
