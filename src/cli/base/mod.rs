//! The base branch decides: in a pull request, policy and baseline are those of the commit that the change started from, and what the
//! change makes easier for itself is listed (security §9).
//!
//! ```text
//! environment ─► proposal ─► commit (merge base, fetched if need be) ─► tree ─► earlier (the suite there) ─► changes ─► Yardstick
//! ```
//!
//! Promise: nothing of the change itself is trusted for the verdict; where the base cannot be had the run is not green, and says what is
//! missing.

mod cases;
mod commit;
mod earlier;
mod kept;
mod proposal;
mod systems;
mod tree;

use std::path::Path;
use std::sync::Arc;

use super::args::BaseArgs;
use super::failure::Failed;
use crate::dataset::Dataset;
use crate::diagnostic::Diagnostics;
use crate::domain::{BaseRecord, Case, Digest, Env, JudgedBy, MetricSpec, PolicyChange, Run};
use crate::gate::{self, Policy};
use crate::store::{OutcomeLine, Texts};
use crate::suite::Suite;
use commit::Base;
use earlier::Earlier;
pub(super) use proposal::Proposal;
pub(super) use tree::{Tree, beside};

/// What a run is judged by.
pub(super) struct Yardstick {
    pub(super) policy: Policy,
    /// `None`: no pull request.
    pub(super) record: Option<BaseRecord>,
    /// Where a baseline file is read; `None`: in the checkout.
    pub(super) kept: Option<Kept>,
}

/// The base's files.
pub(super) struct Kept {
    pub(super) tree: Tree,
    /// Folder of the base's suite in the repository, and the suite's name.
    pub(super) folder: String,
    pub(super) suite: String,
}

/// A case, as far as a policy knows it.
pub(super) struct Known {
    pub(super) id: String,
    pub(super) tags: Vec<Arc<str>>,
    pub(super) content: Option<Digest>,
    /// Of its question and its reference, where they are known.
    pub(super) parts: Option<Parts>,
    /// Where these stand, to be read where they are needed.
    pub(super) origin: Option<(Arc<Texts>, u64)>,
}

/// What a case is made of, to say what of it changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    input: Digest,
    reference: Digest,
}

impl Parts {
    fn of(case: &Case) -> Self {
        let reference =
            case.reference.as_deref().map_or_else(|| Digest::of(["none"]), |text| Digest::of(["some", text]));
        Self { input: Digest::of([&*case.input]), reference }
    }

    fn written(line: &OutcomeLine) -> Option<Self> {
        let reference = line.reference.as_deref();
        let reference = reference.map_or_else(|| Digest::of(["none"]), |text| Digest::of(["some", text]));
        Some(Self { input: Digest::of([line.input.as_deref()?]), reference })
    }
}

impl Known {
    /// What it is made of, as far as it can be told.
    fn parts(&self) -> Option<Parts> {
        let read = || {
            let (texts, offset) = self.origin.as_ref()?;
            Parts::written(&texts.outcome(*offset).ok()?)
        };
        self.parts.or_else(read)
    }
}

/// The cases of a data set.
///
/// # Errors
/// A row that cannot be read any more.
pub(super) fn cases_in(dataset: &Dataset) -> Result<Vec<Known>, Diagnostics> {
    let known = |case: Case| Known {
        parts: Some(Parts::of(&case)),
        id: case.id.to_string(),
        tags: case.tags,
        content: Some(case.content),
        origin: None,
    };
    dataset.cases().map(|case| case.map(known)).collect()
}

/// The change's own side.
pub(super) struct Subject<'s> {
    pub(super) suite: &'s Suite,
    pub(super) policy: Policy,
    /// What its evaluators measure; `None`: not known, as for results of other tools.
    pub(super) metrics: Option<&'s [MetricSpec]>,
    /// Its cases; `None`: only some were selected.
    pub(super) cases: Option<Vec<Known>>,
}

/// The cases of a run; `None`: only some were selected.
pub(super) fn cases_of(run: &Run) -> Option<Vec<Known>> {
    let texts = run.file.as_deref().and_then(|file| Texts::open(file).ok()).map(Arc::new);
    let origin = |case: &crate::domain::CaseRecord| Some((Arc::clone(texts.as_ref()?), case.trials.first()?.offset));
    let known = |case: &crate::domain::CaseRecord| Known {
        id: case.id.to_string(),
        tags: case.tags.clone(),
        content: case.content,
        parts: None,
        origin: origin(case),
    };
    run.header.selection.is_none().then(|| run.cases.iter().map(known).collect())
}

impl Yardstick {
    /// The change's own, outside of any pull request.
    pub(super) fn own(policy: Policy) -> Self {
        Self { policy, record: None, kept: None }
    }

    fn with(policy: Policy, record: BaseRecord) -> Self {
        Self { policy, record: Some(record), kept: None }
    }

    /// Finds out what decides. `named`: baseline files of the command line.
    ///
    ///  Outside of pull requests it is the suite's own policy.
    ///
    /// # Errors
    /// `--base` names no commit.
    pub(super) fn find(subject: Subject<'_>, (args, named): (&BaseArgs, &[&Path]), env: &Env) -> Result<Self, Failed> {
        let Subject { suite, policy, metrics, cases } = subject;
        let proposal = match args.base.as_deref() {
            Some("none") => {
                return Ok(match Proposal::of(env) {
                    Some(_) => Self::with(policy.of_change(), BaseRecord::new(JudgedBy::Waived)),
                    None => Self::own(policy),
                });
            }
            Some(asked) => Proposal { asked: Some(asked.to_owned()), ..Proposal::of(env).unwrap_or_default() },
            None => match Proposal::of(env) {
                Some(proposal) => proposal,
                None => return Ok(Self::own(policy)),
            },
        };
        let policy = policy.of_change();
        let unknown = |problem: String, base: Option<&Base>| BaseRecord {
            problem: Some(problem),
            ..record(JudgedBy::Unknown, base, &proposal)
        };
        let base = match Base::find(&suite.folder, &proposal, env) {
            Ok(base) => base,
            Err(problem) => return Ok(Self::with(policy, unknown(problem, None))),
        };
        let earlier = match Earlier::read(&base, suite, env) {
            Ok(Some(earlier)) => earlier,
            Ok(None) => {
                let record = record(JudgedBy::NewSuite, Some(&base), &proposal);
                return Ok(Self::with(policy, record));
            }
            Err(problem) => return Ok(Self::with(policy, unknown(problem, Some(&base)))),
        };
        let mut record = record(
            if args.accept_policy_changes { JudgedBy::Accepted } else { JudgedBy::Base },
            Some(&base),
            &proposal,
        );
        record.remarks.extend(earlier.renamed.clone());
        record.changes = gate::changes(&earlier.policy, &policy, suite.gate.as_ref());
        let (before, after) = (&earlier.suite.run.looks, &suite.run.looks);
        if before != after {
            record.changes.push(PolicyChange {
                what: "run.trials".to_owned(),
                old: format!("{before:?}"),
                new: format!("{after:?}"),
                place: None,
                loosens: after.last() < before.last(),
            });
        }
        if let Some(metrics) = metrics {
            let place = |name: &str| {
                let block = suite.evaluators.iter().find(|block| &*block.name == name);
                block.map(|block| format!("{}:{}", block.source.path, block.span.line))
            };
            record.changes.extend(gate::metric_changes(&earlier.metrics, metrics, place));
        }
        match &cases {
            Some(cases) => cases::compare(&base.tree, &earlier, cases, &mut record),
            None => record
                .remarks
                .push("only some cases were selected, so they are not compared with the base's".to_owned()),
        }
        kept::compare(&base.tree, &earlier, suite, &mut record);
        for named in named {
            kept::named(&base.tree, named, &mut record);
        }
        systems::compare(&base.tree, &earlier, suite, &mut record);
        if record.by == JudgedBy::Accepted {
            return Ok(Self::with(policy, record));
        }
        // What the base does not measure it has no rules for.
        let is_new = |name: &str| earlier.metrics.iter().all(|spec| &*spec.name != name);
        let rules = earlier.policy.clone().of_change().with_rules_of(&policy, is_new).with_plan(&suite.run.looks);
        let kept = Kept { tree: base.tree, folder: earlier.folder, suite: earlier.suite.name };
        Ok(Self { policy: rules, record: Some(record), kept: Some(kept) })
    }
}

fn record(by: JudgedBy, base: Option<&Base>, proposal: &Proposal) -> BaseRecord {
    BaseRecord {
        commit: base.map(|base| base.tree.commit.clone()),
        branch: proposal.base_ref.clone(),
        moved_to: base.and_then(|base| base.moved_to.clone()),
        ..BaseRecord::new(by)
    }
}
