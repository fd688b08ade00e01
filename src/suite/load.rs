//! Reads, interpolates and checks a suite file.

use std::io::Read as _;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::decode::{MOST_BYTES, decode};
use super::interpolate::interpolate;
use super::path::{project_root, resolve};
use super::read::read;
use super::skeleton::{Skeleton, skeleton};
use super::spec::{BudgetSpec, LedgerSettings, LedgerSpec, Reuse, RunSpec, TrialsSpec, Workers};
use super::{Block, path::PathError};
use crate::diagnostic::{Diagnostic, Diagnostics, Source};
use crate::domain::{Digest, Env, Redactor, Secret};

/// Attempts for one call, the first included.
const ATTEMPTS: u32 = 6;
const MAX_ELAPSED: Duration = Duration::from_secs(600);
const TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const LEDGER: &str = ".scoregate/ledger.sqlite";

/// What a run may spend; `None`: no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// US dollars.
    pub usd: Option<f64>,
    /// Sent and received together.
    pub tokens: Option<u64>,
    pub requests: Option<u64>,
    /// Until the last call is begun.
    pub time: Option<Duration>,
}

fn budget_of(spec: &BudgetSpec) -> Budget {
    let BudgetSpec { usd, tokens, requests, time } = spec;
    Budget {
        usd: *usd,
        tokens: tokens.map(NonZeroU64::get),
        requests: requests.map(NonZeroU64::get),
        time: time.as_ref().map(|period| period.0),
    }
}

/// `run:` of the suite, checked, with defaults.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Calls in flight at most, for each endpoint; `None`: `auto`.
    pub workers: Option<NonZeroUsize>,
    /// Judge questions in one request at most, from 1.
    pub batch_size: usize,
    /// Trials of every case; of a plan of looks, those of the first.
    pub trials: u32,
    /// Trials at each look, rising; one of them: no plan.
    pub looks: Vec<u32>,
    /// One attempt, from connect to the last byte.
    pub timeout: Duration,
    pub connect_timeout: Duration,
    /// The whole run; `None`: no limit.
    pub deadline: Option<Duration>,
    pub retry_attempts: u32,
    pub retry_max_elapsed: Duration,
    pub budget: Budget,
    /// Experiment parameters, kept with the run; numbers that JSON would write differently (`1.10`) are texts as written.
    pub record: serde_json::Map<String, serde_json::Value>,
    /// Absolute, below the project root; its folder may not exist yet.
    pub ledger: PathBuf,
    /// Kept answers older than this are asked for again; `None`: never.
    pub ledger_ttl: Option<Duration>,
    pub ledger_reuse: Reuse,
}

/// A suite whose skeleton is sound; the blocks' settings are still their owners' to check.
#[derive(Clone, Debug)]
pub struct Suite {
    pub name: String,
    /// The file, as given.
    pub path: PathBuf,
    /// Folder of the suite file, absolute: relative paths start here and must stay inside the project root ([`resolve`]).
    pub folder: PathBuf,
    /// The nearest folder upwards with `.git`, else `folder`; absolute.
    pub root: PathBuf,
    pub source: Arc<Source>,
    /// Digest of the bytes as written.
    pub digest: Digest,
    pub dataset: Vec<Block>,
    /// At least one; a suite that names none has the target `recorded` (the data set's own answers).
    pub targets: Vec<Block>,
    pub models: Vec<Block>,
    pub evaluators: Vec<Block>,
    /// `None`: no gate section, the defaults apply.
    pub gate: Option<Block>,
    pub reports: Option<Block>,
    pub alerts: Vec<Block>,
    pub run: RunSettings,
    /// Every value that came from the environment and is long enough to be masked.
    pub secrets: Vec<Secret>,
}

impl Suite {
    /// The file that a reference in this suite means; see [`resolve`].
    ///
    /// # Errors
    /// A reference that is not allowed.
    pub fn resolve(&self, reference: &str) -> Result<PathBuf, PathError> {
        resolve(&self.root, &self.folder, reference)
    }
}

/// A suite file with its problems so far. What is wrong is missing from `suite`, whose blocks are for their owners to check, so that a
/// person sees all problems at once; with problems it must not be run.
#[derive(Debug)]
pub struct Loaded {
    /// `None`: the file cannot be read at all.
    pub suite: Option<Suite>,
    pub problems: Diagnostics,
}

/// Reads the suite file at `path`.
///
/// # Errors
/// Every problem of the skeleton.
pub fn load(path: &Path, env: &Env) -> Result<Suite, Diagnostics> {
    load_with_problems(path, env).sound()
}

/// Reads the suite file at `path` as far as it can be read.
pub fn load_with_problems(path: &Path, env: &Env) -> Loaded {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let read = bytes(path).and_then(|bytes| match parent.canonicalize() {
        Ok(folder) => Ok((bytes, folder)),
        Err(error) => Err(unreadable(path, &error)),
    });
    match read {
        Ok((bytes, folder)) => parse(path, &bytes, &folder, env),
        Err(problem) => Loaded { suite: None, problems: problem.into() },
    }
}

/// The name of the suite at `path`, masked, whatever else is wrong with the file; `None` where it does not say one.
pub fn name(path: &Path, env: &Env) -> Option<String> {
    if let Some(suite) = load_with_problems(path, env).suite {
        return Some(Redactor::new(&suite.secrets).redact(&suite.name)).filter(|name| !name.is_empty());
    }
    // Not even YAML: a plain line says it all the same.
    let text = decode(&path.to_string_lossy(), &bytes(path).ok()?).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("name:"))?;
    let value = value.split(" #").next().unwrap_or_default().trim();
    let bare = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    Some(bare.unwrap_or(value).to_owned()).filter(|name| !name.is_empty() && !name.contains("${"))
}

impl Loaded {
    /// # Errors
    /// Every problem found so far.
    pub fn sound(self) -> Result<Suite, Diagnostics> {
        match self.suite {
            Some(suite) if !self.problems.has_errors() => Ok(suite),
            Some(_) | None => Err(self.problems),
        }
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let metadata = path.metadata().map_err(|error| unreadable(path, &error))?;
    if !metadata.is_file() {
        return Err(Diagnostic::error("suite-not-found", format!("`{}` is not a file", path.display()))
            .help("give the suite file itself, such as `scoregate run scoregate.yaml`"));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(Diagnostic::error(
            "limit",
            format!("`{}` is larger than 64 MiB, the size limit of a suite", path.display()),
        )
        .help("put the cases into a file of their own and name it under `dataset`"));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let help = match error.kind() {
        std::io::ErrorKind::NotFound => "give the suite's path: `scoregate run path/to/scoregate.yaml`",
        std::io::ErrorKind::PermissionDenied => "allow this user to read it",
        _ => "check the path and the disk",
    };
    Diagnostic::error("suite-not-found", format!("cannot read the suite `{}`: {error}", path.display())).help(help)
}

/// Reads a suite from its bytes; `folder` is absolute.
pub(super) fn parse(path: &Path, bytes: &[u8], folder: &Path, env: &Env) -> Loaded {
    let shown = path.to_string_lossy();
    let source = match decode(&shown, bytes) {
        Ok(text) => Arc::new(Source::new(shown.as_ref(), text)),
        Err(problem) => return Loaded { suite: None, problems: problem.into() },
    };
    let mut problems = Diagnostics::default();
    let Some(mut node) = read(&source, &mut problems) else { return Loaded { suite: None, problems } };
    let secrets = interpolate(&mut node, env, &source, &mut problems);
    let redactor = Redactor::new(&secrets);
    let skeleton = skeleton(node, &source, &mut problems);
    let root = project_root(folder);
    let run = run_settings(&skeleton, &root, folder, &mut problems);
    problems.map_texts(|text| redactor.redact(text));
    problems.sort();
    let suite = Suite {
        name: skeleton.name,
        path: path.to_path_buf(),
        folder: folder.to_path_buf(),
        root,
        source,
        digest: Digest::of([bytes]),
        dataset: skeleton.dataset,
        targets: skeleton.targets,
        models: skeleton.models,
        evaluators: skeleton.evaluators,
        gate: skeleton.gate,
        reports: skeleton.reports,
        alerts: skeleton.alerts,
        run,
        secrets,
    };
    Loaded { suite: Some(suite), problems }
}

/// What a call costs is not known beforehand without its model's price, so a budget would not hold it.
fn unpriced(models: &[Block]) -> Diagnostics {
    let mut problems = Diagnostics::default();
    for block in models.iter().filter(|block| block.value.get("price").is_none_or(serde_json::Value::is_null)) {
        let message = format!("`run.budget.usd` cannot bound what `{}` costs: the model has no `price`", block.name);
        let help = "add `price: { input: …, output: … }`, in dollars per million tokens, or bound `tokens` or `requests` instead";
        problems.push(block.key_problem("", "missing-price", message).help(help));
    }
    problems
}

fn run_settings(skeleton: &Skeleton, root: &Path, folder: &Path, diagnostics: &mut Diagnostics) -> RunSettings {
    let RunSpec { workers, batch_size, trials, timeout, connect_timeout, deadline, retry, budget, record: _, ledger } =
        &skeleton.run;
    let block = skeleton.run_block.clone().unwrap_or_else(|| Block::from_value("run", "run", serde_json::Value::Null));
    let (ledger_pointer, LedgerSettings { path, ttl, mode }) = match ledger {
        None => ("/ledger", &LedgerSettings::default()),
        Some(LedgerSpec::Path(path)) => {
            ("/ledger", &LedgerSettings { path: Some(path.clone()), ..LedgerSettings::default() })
        }
        Some(LedgerSpec::Settings(settings)) => ("/ledger/path", settings),
    };
    let attempts = retry.as_ref().and_then(|retry| retry.attempts);
    let max_elapsed = retry.as_ref().and_then(|retry| retry.max_elapsed);
    let budgeted = budget.as_ref().and_then(|budget| budget.time);
    for (pointer, period) in [
        ("/timeout", timeout),
        ("/connect_timeout", connect_timeout),
        ("/deadline", deadline),
        ("/retry/max_elapsed", &max_elapsed),
        ("/budget/time", &budgeted),
        ("/ledger/ttl", ttl),
    ] {
        if period.is_some_and(|period| period.0.is_zero()) {
            let name = pointer.rsplit('/').next().unwrap_or_default();
            diagnostics.push(block.problem(pointer, "out-of-range", format!("`{name}` must be more than nothing")));
        }
    }
    if budget.as_ref().is_some_and(|budget| budget.usd.is_some()) {
        diagnostics.extend(unpriced(&skeleton.models));
    }
    let ledger = match resolve(root, folder, path.as_deref().unwrap_or(LEDGER)) {
        Ok(path) => path,
        Err(error) => {
            diagnostics.push(block.path_problem(ledger_pointer, &error));
            folder.join(LEDGER)
        }
    };
    let looks = looks(trials.as_ref(), &block, diagnostics);
    RunSettings {
        workers: match workers {
            None | Some(Workers::Auto(_)) => None,
            Some(Workers::Number(number)) => Some(*number),
        },
        batch_size: batch_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(1).max(1),
        trials: looks.first().copied().unwrap_or(1),
        looks,
        timeout: timeout.map_or(TIMEOUT, |period| period.0),
        connect_timeout: connect_timeout.map_or(CONNECT_TIMEOUT, |period| period.0),
        deadline: deadline.map(|period| period.0),
        retry_attempts: attempts.map_or(ATTEMPTS, std::num::NonZeroU32::get),
        retry_max_elapsed: max_elapsed.map_or(MAX_ELAPSED, |period| period.0),
        budget: budget.as_ref().map(budget_of).unwrap_or_default(),
        record: skeleton.record.clone(),
        ledger,
        ledger_ttl: ttl.map(|period| period.0),
        ledger_reuse: mode.unwrap_or_default(),
    }
}

/// Trials at each look, each more than the one before.
fn looks(trials: Option<&TrialsSpec>, block: &Block, diagnostics: &mut Diagnostics) -> Vec<u32> {
    let looks: Vec<u32> = match trials {
        None => vec![1],
        Some(TrialsSpec::Fixed(count)) => vec![count.get()],
        Some(TrialsSpec::Looks(looks)) => looks.iter().map(|count| count.get()).collect(),
    };
    if !looks.iter().zip(looks.iter().skip(1)).all(|(now, next)| now < next) {
        let problem = block.problem("/trials", "out-of-range", "each look needs more trials than the one before");
        diagnostics.push(problem.help("write them rising, such as `trials: [1, 3]`"));
    }
    looks
}
