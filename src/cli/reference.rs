//! What a run is compared with. Absent, unusable and found are three outcomes; only *absent* may be allowed (security §9).

use std::path::{Path, PathBuf};

use super::base::{Tree, Yardstick, beside};
use super::failure::Failed;
use super::keep;
use crate::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::domain::{Baseline, BaselineRun, BaselineSource, Env, MetricSpec, Run};
use crate::gate::{BaselineFrom, BaselineMode, BaselinePolicy, BaselineState, Policy};
use crate::peer::{self, Wanted};
use crate::store::{FileKind, StoreError, Texts, accept, parse_baseline, pool, read_baseline};
use crate::suite::Suite;

/// The baseline that the yardstick asks for. In a pull request a file of the repository is read from the base commit.
///
/// # Errors
/// It was written by a later version.
pub(super) fn of_suite(suite: &Suite, yardstick: &Yardstick, env: &Env) -> Result<BaselineState, Failed> {
    let Some(asked) = &yardstick.policy.baseline else { return Ok(BaselineState::NotAsked) };
    if asked.mode == BaselineMode::Concurrent {
        // It is measured with the run.
        return Ok(BaselineState::NotAsked);
    }
    let name = yardstick.kept.as_ref().map_or(&*suite.name, |kept| &*kept.suite);
    let place = place(asked.path.as_deref(), name);
    let read = match (&asked.from, &yardstick.kept) {
        (BaselineFrom::File, Some(kept)) => match beside(&kept.folder, &place) {
            Some(path) => of_commit(&kept.tree, &path),
            None => return Ok(BaselineState::Broken(format!("`{place}` leads out of the project"))),
        },
        (BaselineFrom::File, None) => match suite.resolve(&place) {
            Ok(path) => of_checkout(&path, &place),
            Err(error) => return Ok(BaselineState::Broken(format!("{place}: {error}"))),
        },
        (BaselineFrom::Git(_) | BaselineFrom::Address(_), _) => fetched(suite, asked, &place, env),
    };
    outcome(read, asked)
}

/// What is known of it before a run, without asking anybody: nothing of what is elsewhere.
pub(super) fn foreseen(suite: &Suite, policy: &Policy) -> BaselineState {
    let stored = |asked: &&BaselinePolicy| asked.from == BaselineFrom::File && asked.mode == BaselineMode::Stored;
    let Some(asked) = policy.baseline.as_ref().filter(stored) else {
        return BaselineState::NotAsked;
    };
    let place = place(asked.path.as_deref(), &suite.name);
    match suite.resolve(&place) {
        Ok(path) => match outcome(of_checkout(&path, &place), asked) {
            Ok(state) => state,
            Err(_) => BaselineState::Broken(format!("{place} was written by a newer scoregate")),
        },
        Err(error) => BaselineState::Broken(format!("{place}: {error}")),
    }
}

/// A place that there is no store for is a mistake of the suite.
pub(super) fn check(suite: &Suite, policy: &Policy, env: &Env, problems: &mut Diagnostics) {
    let Some(asked) = policy.baseline.as_ref().filter(|asked| asked.from != BaselineFrom::File) else { return };
    let place = place(asked.path.as_deref(), &suite.name);
    if let Err(why) = keep::of_suite(suite, asked, &place, env) {
        problems.push(match &suite.gate {
            Some(gate) => gate.problem("/baseline/from", "unknown-baseline", why),
            None => Diagnostic::error("unknown-baseline", why),
        });
    }
}

/// Where the file is, as the suite says or as is usual.
pub(super) fn place(path: Option<&str>, suite: &str) -> String {
    path.map_or_else(|| format!("{suite}.baseline.jsonl"), str::to_owned)
}

/// What is absent is named as the suite does.
fn of_checkout(path: &Path, place: &str) -> Result<Baseline, StoreError> {
    read_baseline(path, place).map_err(|error| match error {
        StoreError::Absent { .. } => StoreError::Absent { path: place.into() },
        error => error,
    })
}

fn of_commit(tree: &Tree, path: &str) -> Result<Baseline, StoreError> {
    let place = format!("{path} at commit {}", tree.short());
    match tree.file(path) {
        Ok(Some(bytes)) => parse_baseline(&bytes, Path::new(&place), &place),
        Ok(None) => Err(StoreError::Absent { path: place.into() }),
        Err(problem) => Err(StoreError::Corrupt { path: PathBuf::from(place), line: 0, problem }),
    }
}

fn fetched(suite: &Suite, asked: &BaselinePolicy, place: &str, env: &Env) -> Result<Baseline, StoreError> {
    let unreachable = |problem: String| StoreError::Unreachable { place: asked.from.word(), problem };
    let place = keep::of_suite(suite, asked, place, env).map_err(unreachable)?;
    let kept = keep::wait(place.load()).map_err(unreachable)??;
    parse_baseline(&kept.bytes, Path::new(&place.name()), &place.name())
}

/// Absent, not to be fetched, and damaged are three outcomes; only *absent* may be allowed.
fn outcome(read: Result<Baseline, StoreError>, asked: &BaselinePolicy) -> Result<BaselineState, Failed> {
    Ok(match read {
        Ok(baseline) => match (asked.digest, baseline.source.digest) {
            (Some(wanted), Some(found)) if wanted != found => BaselineState::Broken(format!(
                "{}: its digest is {found}, and the suite asks for {wanted}",
                baseline.source.place
            )),
            _ => BaselineState::Found(Box::new(baseline)),
        },
        Err(StoreError::Absent { path }) => BaselineState::Absent(path.display().to_string()),
        Err(error @ StoreError::Unreachable { .. }) => BaselineState::Unreachable(error.to_string()),
        Err(error @ StoreError::Newer { .. }) => return Err(error.into()),
        Err(error) => BaselineState::Broken(error.to_string()),
    })
}

/// What a missing or unusable baseline means for a run, said before anything is paid: it is measured, and nothing is decided. `folder`: of
/// its reports.
pub(super) fn foretell(suite: &Suite, policy: &Policy, state: &BaselineState, folder: &Path) -> Diagnostics {
    let results = folder.join("results.jsonl");
    let results = results.display();
    let mut told = Diagnostics::default();
    let (message, help) = match state {
        BaselineState::Absent(place) if policy.baseline.as_ref().is_some_and(|asked| !asked.may_be_missing()) => (
            format!("the baseline `{place}` does not exist, and the gate needs it: a run would end with exit code 3"),
            format!(
                "accept a run with `scoregate baseline update {results} --to {place}`, or allow none with `gate.baseline.missing: warn`"
            ),
        ),
        BaselineState::Unreachable(why) => (
            format!("the baseline could not be fetched: {why}: a run would end with exit code 3"),
            "look why it cannot be had; it is not taken for missing".to_owned(),
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
    let accepted = BaselineRun::of(run);
    if accepted.id.is_empty() {
        BaselineRun { id: format!("{UNNAMED}{}", at.saturating_add(1)), ..accepted }
    } else {
        accepted
    }
}
