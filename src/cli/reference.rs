//! What a run is compared with. Absent, unusable and found are three outcomes; only *absent* may be allowed (security §9).

use std::path::{Path, PathBuf};

use super::failure::Failed;
use crate::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::domain::{Baseline, BaselineRun, BaselineSource, MetricSpec, Run};
use crate::gate::{BaselineState, Policy};
use crate::peer::{self, Wanted};
use crate::store::{FileKind, StoreError, Texts, accept, pool, read_baseline};
use crate::suite::Suite;

/// The baseline that the suite asks for.
pub(super) fn of_suite(suite: &Suite, policy: &Policy) -> BaselineState {
    let Some(asked) = &policy.baseline else { return BaselineState::NotAsked };
    let place = asked.path.clone().unwrap_or_else(|| format!("{}.baseline.jsonl", suite.name));
    let path = match suite.resolve(&place) {
        Ok(path) => path,
        Err(error) => return BaselineState::Broken(format!("{place}: {error}")),
    };
    match read_baseline(&path, &place) {
        Ok(baseline) => BaselineState::Found(Box::new(baseline)),
        Err(StoreError::Absent { .. }) => BaselineState::Absent(place),
        Err(error) => BaselineState::Broken(error.to_string()),
    }
}

/// What a missing or unusable baseline means for a run, said before anything is paid: it is measured, and nothing is decided.
pub(super) fn foretell(suite: &Suite, policy: &Policy, state: &BaselineState) -> Diagnostics {
    let mut told = Diagnostics::default();
    let (message, help) = match state {
        BaselineState::Absent(place) if policy.baseline.as_ref().is_some_and(|asked| !asked.may_be_missing) => (
            format!("the baseline `{place}` does not exist, and the gate needs it: a run would end with exit code 3"),
            format!(
                "accept a run with `scoregate baseline update scoregate-out/results.jsonl --to {place}`, or allow none with `gate.baseline.missing: warn`"
            ),
        ),
        BaselineState::Broken(why) => (
            format!("the baseline cannot be used: {why}: a run would end with exit code 3"),
            "restore the file from where it was accepted, or accept a run again with `scoregate baseline update`"
                .to_owned(),
        ),
        BaselineState::Absent(_) | BaselineState::NotAsked | BaselineState::Found(_) => return told,
    };
    let problem = match &suite.gate {
        Some(gate) => gate.problem("/baseline/path", "no-baseline", message),
        None => Diagnostic::error("no-baseline", message),
    };
    told.push(Diagnostic { level: Level::Warning, ..problem.help(help) });
    told
}

/// A baseline file, or the results of earlier runs. A file that was named must be there.
pub(super) fn of_file(path: &Path, declared: &[MetricSpec]) -> Result<BaselineState, Failed> {
    state(path, read(path, declared, Wanted::default()))
}

fn state(path: &Path, read: Result<Baseline, Unusable>) -> Result<BaselineState, Failed> {
    match read {
        Ok(baseline) => Ok(BaselineState::Found(Box::new(baseline))),
        Err(Unusable::File(error @ (StoreError::Absent { .. } | StoreError::Newer { .. }))) => Err(error.into()),
        Err(Unusable::File(error)) => Ok(BaselineState::Broken(error.to_string())),
        Err(Unusable::Runs(problem)) => Ok(BaselineState::Broken(format!("{}: {problem}", path.display()))),
    }
}

/// Files of ours or of other tools. Several are the runs of one pool, in this order.
pub(super) fn of_files(
    paths: &[PathBuf],
    declared: &[MetricSpec],
    wanted: Wanted<'_>,
) -> Result<BaselineState, Failed> {
    let mut pooled: Option<Baseline> = None;
    for path in paths {
        let newest = match state(path, read(path, declared, wanted))? {
            BaselineState::Found(baseline) => *baseline,
            other => return Ok(other),
        };
        pooled = Some(match pooled {
            None => newest,
            Some(earlier) => match join(earlier, newest, path) {
                Ok(joined) => joined,
                Err(problem) => return Ok(BaselineState::Broken(format!("{}: {problem}", path.display()))),
            },
        });
    }
    Ok(pooled.map_or(BaselineState::NotAsked, |baseline| BaselineState::Found(Box::new(baseline))))
}

/// The pool with the runs of one more file, which are told apart by its name where theirs stand there already.
fn join(earlier: Baseline, mut newest: Baseline, path: &Path) -> Result<Baseline, String> {
    let place = format!("{}, {}", earlier.source.place, newest.source.place);
    for run in &mut newest.runs {
        if run.id.starts_with(UNNAMED) && earlier.runs.iter().any(|known| known.id == run.id) {
            run.id = format!("{} of {}", run.id, path.display());
        }
    }
    let mut joined = pool(earlier, newest)?;
    joined.source = BaselineSource { place, digest: None };
    Ok(joined)
}

/// The baseline in a file, or in the results of earlier runs, that was named.
///
/// # Errors
/// It cannot be read, or its runs are not whole.
pub(super) fn stored(path: &Path, declared: &[MetricSpec]) -> Result<Baseline, Failed> {
    read(path, declared, Wanted::default()).map_err(|unusable| match unusable {
        Unusable::File(error) => error.into(),
        Unusable::Runs(problem) => Failed::CouldNot(format!("{}: {problem}", path.display())),
    })
}

/// What the metrics are, for lines that say only their names. Such lines do not say what they were measured with.
pub(super) fn scales(metrics: &[MetricSpec]) -> Vec<MetricSpec> {
    metrics.iter().map(|metric| MetricSpec { fingerprint: None, ..metric.clone() }).collect()
}

/// Why a file is nothing to compare with.
enum Unusable {
    File(StoreError),
    /// Its runs cannot vouch for anything.
    Runs(String),
}

impl From<StoreError> for Unusable {
    fn from(error: StoreError) -> Self {
        Self::File(error)
    }
}

fn read(path: &Path, declared: &[MetricSpec], wanted: Wanted<'_>) -> Result<Baseline, Unusable> {
    let place = path.display().to_string();
    let texts = match FileKind::of(path) {
        Ok(FileKind::Baseline) => return Ok(read_baseline(path, &place)?),
        Ok(FileKind::Results) => Some(Texts::open(path)?),
        // A first line that is no text may be another tool's.
        Ok(FileKind::Scores) | Err(StoreError::Corrupt { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let mut pooled: Option<Baseline> = None;
    for (at, run) in peer::read_runs(path, declared, wanted)?.into_iter().enumerate() {
        if !run.completion.as_ref().is_some_and(|end| end.complete) {
            return Err(Unusable::Runs("the run is not complete, so nothing can be compared with it".to_owned()));
        }
        if let Some(part) = run.header.shard {
            let text = format!("this is only shard {} of a run; join all shards with `scoregate merge`", part.shard);
            return Err(Unusable::Runs(text));
        }
        let newest = accept(&run, named(&run, at), texts.as_ref())?;
        pooled = Some(match pooled {
            None => newest,
            Some(earlier) => pool(earlier, newest).map_err(Unusable::Runs)?,
        });
    }
    let mut baseline = pooled.ok_or_else(|| Unusable::Runs("the file holds no run".to_owned()))?;
    baseline.source.place = place;
    Ok(baseline)
}

/// What a run without an id is called, with its place in the file.
const UNNAMED: &str = "run ";

/// A run of a file by its id, or by its place where it has none.
fn named(run: &Run, at: usize) -> BaselineRun {
    let accepted = BaselineRun::of(&run.header);
    if accepted.id.is_empty() {
        BaselineRun { id: format!("{UNNAMED}{}", at.saturating_add(1)), ..accepted }
    } else {
        accepted
    }
}
