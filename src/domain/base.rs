//! What a proposed change is judged by: the policy and the baseline of the branch that it is to be merged into (security §9).

use serde::{Deserialize, Serialize};

/// Whose policy and baseline decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// Those of the base commit.
    Base,
    /// The change's own: the suite is new with it, so the base has none.
    NewSuite,
    /// The change's own: the workflow accepts its changes of the policy (`--accept-policy-changes`).
    Accepted,
    /// The change's own: the workflow asks for no base (`--base none`).
    Waived,
    /// Nothing can vouch: the base could not be found or read.
    Unknown,
}

/// Stands in every report of a pull request's run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseRecord {
    pub by: JudgedBy,
    /// `None` where it is not known or not wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The base branch's newest commit, where it has moved on since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// Why the base is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What a reader must know of how it was found: a renamed suite, cases that could not be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// How the change's own policy, evaluators, cases and baseline differ from the base's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PolicyChange>,
}

impl BaseRecord {
    pub fn new(by: JudgedBy) -> Self {
        Self { by, commit: None, branch: None, moved_to: None, problem: None, remarks: Vec::new(), changes: Vec::new() }
    }

    /// The changes that make the gate easier to pass.
    pub fn loosened(&self) -> impl Iterator<Item = &PolicyChange> {
        self.changes.iter().filter(|change| change.loosens)
    }

    /// `commit 1a2b3c4d5e of main`.
    pub fn name(&self) -> String {
        let short = |id: &str| id.chars().take(10).collect::<String>();
        match (&self.commit, &self.branch) {
            (Some(commit), Some(branch)) => format!("commit {} of {branch}", short(commit)),
            (Some(commit), None) => format!("commit {}", short(commit)),
            (None, Some(branch)) => branch.clone(),
            (None, None) => "the base".to_owned(),
        }
    }
}

/// One difference of the yardstick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyChange {
    /// `gate.metrics.quality.min`, `evaluator tone`, `case hard`, `baseline base.jsonl`.
    pub what: String,
    pub old: String,
    pub new: String,
    /// Where the new one stands: `scoregate.yaml:12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// It makes the gate easier to pass, or measures otherwise.
    pub loosens: bool,
}

impl PolicyChange {
    pub fn words(&self) -> String {
        let place = self.place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
        format!("{}: {} → {}{place}", self.what, self.old, self.new)
    }
}
