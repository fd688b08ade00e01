//! Where the baseline is to be found, and what its absence means: the checked form of `gate.baseline`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::check::Checker;
use super::policy::DEFAULT_RUNS;
use super::settings::BaselineSettings;
pub use super::settings::{BaselineMode, Missing};
use crate::domain::Digest;

/// Where the baseline is to be found.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselinePolicy {
    pub from: BaselineFrom,
    /// As the suite names it; `None`: the default place.
    pub path: Option<String>,
    /// Where it is written, if not where it is read.
    pub put: Option<String>,
    /// Sent with every request for it.
    pub headers: BTreeMap<String, String>,
    /// The only baseline that may be used.
    pub digest: Option<Digest>,
    /// Runs to compare with at most, 1 to 10.
    pub runs: usize,
    pub missing: Missing,
    /// The largest drop of a metric's mean that a newly accepted run may bring, on the 0 to 1 scale; `None`: any.
    pub ratchet: Option<f64>,
    pub mode: BaselineMode,
    /// `mode: concurrent`: the target whose answers in this run are the baseline.
    pub target: Option<String>,
    /// Older than this counts as missing.
    pub max_age: Option<Duration>,
}

/// The kind of place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselineFrom {
    /// A file of the checkout.
    File,
    /// A file on a branch; `None`: the default branch for it.
    Git(Option<String>),
    /// `https://…`, `s3://…`; whether there is a store for it is not known here.
    Address(String),
}

impl BaselineFrom {
    /// As the suite writes it, without what may be secret.
    pub fn word(&self) -> String {
        match self {
            Self::File => "file".to_owned(),
            Self::Git(None) => "git".to_owned(),
            Self::Git(Some(branch)) => format!("git:{branch}"),
            Self::Address(address) => address.split(['?', '#']).next().unwrap_or_default().to_owned(),
        }
    }
}

impl BaselinePolicy {
    /// An absent baseline is allowed: thresholds decide, and the verdict says so.
    pub fn may_be_missing(&self) -> bool {
        match self.missing {
            Missing::Fail => false,
            Missing::Warn | Missing::Seed => true,
        }
    }

    /// `None` where no baseline is asked for, or after an error.
    pub(crate) fn checked(settings: BaselineSettings, checker: &mut Checker<'_>) -> Option<Self> {
        let from = place(settings.from.as_deref(), checker);
        if let Some(from) = &from {
            keys_of_place(from, &settings, checker);
        }
        let digest = settings.digest.as_deref().and_then(|text| pinned(text, checker));
        if let Some(tolerance) = settings.ratchet {
            checker.share("/baseline/ratchet", "ratchet", tolerance, false);
        }
        let mode = settings.mode.unwrap_or_default();
        other_half(mode, settings.target.as_deref(), checker);
        let runs = settings.runs.unwrap_or(DEFAULT_RUNS as u32);
        if !(1..=10).contains(&runs) {
            checker.push("/baseline/runs", "out-of-range", format!("runs is {runs}"), "a baseline pools 1 to 10 runs");
        }
        let max_age = settings.max_age.as_deref().and_then(|text| age(text, checker));
        Some(Self {
            from: from?,
            path: settings.path,
            put: settings.put,
            headers: settings.headers,
            digest,
            runs: runs as usize,
            missing: settings.missing.unwrap_or_default(),
            max_age,
            ratchet: settings.ratchet,
            mode,
            target: settings.target,
        })
    }
}

/// `None` where no baseline is asked for, or after an error.
fn place(from: Option<&str>, checker: &mut Checker<'_>) -> Option<BaselineFrom> {
    match from {
        None | Some("file") => Some(BaselineFrom::File),
        Some("none") => None,
        Some("git") => Some(BaselineFrom::Git(None)),
        Some(other) => match other.strip_prefix("git:") {
            Some(branch) => Some(BaselineFrom::Git(Some(branch.to_owned()))),
            None if other.contains("://") => Some(BaselineFrom::Address(other.to_owned())),
            None => {
                let help = "there are `file`, `git`, `git:BRANCH`, an address such as `https://…` or `s3://bucket/key`, and `none`";
                let message = format!("`{other}` is no place of a baseline");
                checker.push("/baseline/from", "unknown-baseline", message, help);
                None
            }
        },
    }
}

/// Keys that another kind of place has.
fn keys_of_place(from: &BaselineFrom, settings: &BaselineSettings, checker: &mut Checker<'_>) {
    let address = match from {
        BaselineFrom::Address(_) => true,
        BaselineFrom::File | BaselineFrom::Git(_) => false,
    };
    for (key, written, fits) in [
        ("path", settings.path.is_some(), !address),
        ("put", settings.put.is_some(), address),
        ("headers", !settings.headers.is_empty(), address),
    ] {
        if written && !fits {
            let help = "`path` belongs to `file` and `git`, `put` and `headers` to an address";
            let message = format!("`{key}` has no meaning for a baseline from there");
            checker.push(&format!("/baseline/{key}"), "conflicting-keys", message, help);
        }
    }
}

fn pinned(text: &str, checker: &mut Checker<'_>) -> Option<Digest> {
    let digest = Digest::parse(text);
    if digest.is_none() {
        let help = "it is the digest that reports show: 32 hexadecimal digits";
        checker.push("/baseline/digest", "wrong-type", format!("`{text}` is no digest"), help);
    }
    digest
}

/// A concurrent baseline has a target, and a stored one has none.
fn other_half(mode: BaselineMode, target: Option<&str>, checker: &mut Checker<'_>) {
    match (mode, target) {
        (BaselineMode::Concurrent, None) => checker.push(
            "/baseline",
            "missing-key",
            "`mode: concurrent` names no target",
            "add `target: NAME`, a key of `targets`: the system as the base branch has it",
        ),
        (BaselineMode::Stored, Some(_)) => checker.push(
            "/baseline/target",
            "conflicting-keys",
            "`target` has no meaning for a stored baseline",
            "add `mode: concurrent`, or take it out",
        ),
        (BaselineMode::Concurrent, Some(_)) | (BaselineMode::Stored, None) => {}
    }
}

fn age(text: &str, checker: &mut Checker<'_>) -> Option<Duration> {
    let age = duration(text);
    if age.is_none() {
        let message = format!("`{text}` is no length of time");
        checker.push("/baseline/max_age", "wrong-type", message, "write a number and a unit: 30d, 12h, 2w");
    }
    age
}

/// `30d`, `12h`, `45m`, `2w`.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit = text.chars().last()?;
    let seconds = match unit {
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
    number.checked_mul(seconds).map(Duration::from_secs)
}
