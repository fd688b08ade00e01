//! From a suite file to everything that a run needs; all problems at once, before the first call.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::args::SelectArgs;
use super::failure::Failed;
use super::{alias, clock, git, needs, reference, reports, roles, screen, select, shard};
use crate::alert;
use crate::dataset::Dataset;
use crate::diagnostic::Diagnostics;
use crate::domain::{Digest, Direction, Env, Fingerprint, MetricSpec, Part, Redactor, RunHeader, ScoreKind, Secret};
use crate::engine::{Limits, Pace, Plan};
use crate::evaluator::{self, BuildContext};
use crate::gate::Policy;
use crate::host;
use crate::net::Deadlines;
use crate::provider::{self, Models};
use crate::report::ReportSettings;
use crate::suite::{self, Block, Loaded, Suite};
use crate::target;

/// A suite that can be run.
pub(super) struct Prepared {
    pub(super) suite: Suite,
    pub(super) dataset: Dataset,
    pub(super) plan: Plan,
    /// Asked for suspects alone.
    pub(super) confirm: Option<target::Ready>,
    pub(super) policy: Policy,
    pub(super) reports: ReportSettings,
}

/// Reads and checks the suite and its data.
///
/// # Errors
/// Every problem of the suite, its data and its references at once; nothing was called.
pub(super) fn prepare(path: &Path, selecting: &SelectArgs, env: &Env) -> Result<Prepared, Failed> {
    let Loaded { suite, problems } = suite::load_with_problems(path, env);
    let Some(suite) = suite else { return Err(problems.into()) };
    let redactor = Redactor::new(&suite.secrets);
    build(suite, problems, selecting, env).map_err(|failed| failed.masked(&redactor))
}

/// `problems`: those of the suite's skeleton; the owners of the blocks add theirs.
fn build(suite: Suite, mut problems: Diagnostics, selecting: &SelectArgs, env: &Env) -> Result<Prepared, Failed> {
    let shard = selecting.shard.map(|wish| shard::resolve(wish, env)).transpose()?;
    let models = provider::build(&suite.models, env, &mut problems);
    let version = version(&suite, env);
    let context = target::BuildContext { suite: &suite, models: &models.by_name, version: version.as_deref() };
    let mut targets: Vec<target::Ready> =
        suite.targets.iter().filter_map(|block| target::build(block, &context, &mut problems)).collect();
    let evaluators = evaluators(&suite, &models, (env, version.as_deref()), &mut problems);
    let host = host::detect(env);
    let token = host.as_ref().map(|context| context.secrets()).unwrap_or_default();
    let secrets: Vec<Secret> = suite.secrets.iter().chain(&models.secrets).chain(&token).cloned().collect();
    let redactor = Redactor::new(&secrets);
    let metrics: Vec<MetricSpec> = evaluators.iter().map(|ready| ready.spec.clone()).collect();
    let policy = Policy::build(suite.gate.as_ref(), &named(&suite, &metrics), &mut problems);
    if let (Some(policy), Some(gate)) = (&policy, &suite.gate) {
        problems.extend(policy.trials_problems(gate, &suite.run.looks));
    }
    if let Some(policy) = &policy {
        reference::check(&suite, policy, env, &mut problems);
        roles::check(&suite, policy, &mut problems);
    }
    let confirm = policy.as_ref().and_then(|policy| roles::apart(policy.confirm.as_deref(), &mut targets));
    let policy = policy.map(|policy| policy.with_plan(&suite.run.looks));
    let reports = match &suite.reports {
        Some(block) => block.settings::<ReportSettings>(&mut problems),
        None => Some(ReportSettings::default()),
    };
    let _checked = alert::build(&suite.alerts, &mut problems);
    // A missing section is told already.
    let told = suite.dataset.is_empty() && problems.has_errors();
    let dataset = match Dataset::open(&suite) {
        Ok(dataset) => Some(dataset),
        Err(_) if told => None,
        Err(more) => {
            problems.extend(more);
            None
        }
    };
    // Of the whole data set: what a left-out case lacks, the suite lacks; `must_pass` may name one.
    if let Some(dataset) = &dataset {
        needs::check(&suite, dataset, &evaluators, policy.as_ref(), &mut problems);
    }
    let (Some(policy), Some(reports), Some(mut dataset), false) = (policy, reports, dataset, problems.has_errors())
    else {
        problems.without_consequences();
        problems.sort();
        return Err(problems.into());
    };
    alias::warn(&suite, &mut problems);
    let selection = select::narrow(selecting, &mut dataset, &policy, &metrics)?;
    let mut cases = dataset.len as u64;
    let mut part = None;
    if let Some(shard) = shard {
        part = Some(Part { shard, of: cases });
        cases = dataset.part(shard)?;
    }
    problems.extend(dataset.warnings.clone());
    if !problems.is_empty() {
        problems.map_texts(|text| redactor.redact(text));
        screen::diagnostics(&problems);
    }
    // Recorded answers are there once, and a shard decides nothing.
    let again = part.is_none() && targets.iter().all(|target| !target.free);
    let attempts = if again { policy.attempts() } else { 0 };
    let header = RunHeader {
        cases,
        selection,
        shard: part,
        attempts,
        head: host.and_then(|context| context.change.head_sha),
        ..header(&suite, &models, &dataset, &targets, metrics, env)
    };
    let workers = suite.run.workers.map(|stated| divided(stated, part));
    let limits = Limits { workers, trials: suite.run.trials, pace: pace(&models) };
    let plan = Plan { header, targets, evaluators, limits, redactor };
    Ok(Prepared { suite, dataset, plan, confirm, policy, reports })
}

/// What tells today's application from yesterday's where targets do not: an answer that the ledger has of another version says nothing
/// about this one. The suite and its data are what is asked, not who.
fn version(suite: &Suite, env: &Env) -> Option<String> {
    let outside = |block: &Block| {
        matches!(&*block.kind, "http" | "command")
            && block
                .value
                .get("version")
                .and_then(serde_json::Value::as_str)
                .is_none_or(|stated| stated.trim().is_empty())
    };
    if !suite.targets.iter().chain(&suite.evaluators).any(outside) {
        return None;
    }
    let data = suite.dataset.iter().filter_map(|block| suite.resolve(block.value.get("path")?.as_str()?).ok());
    let suite_file = suite.folder.join(suite.path.file_name()?);
    let baseline = suite.gate.as_ref().and_then(|gate| gate.value.pointer("/baseline/path")?.as_str());
    let reports = suite.reports.as_ref().and_then(|reports| reports.value.get("dir")?.as_str());
    // An accepted baseline, reports and a ledger in the repository say nothing of the application.
    let made = baseline.into_iter().chain([reports.unwrap_or(reports::FOLDER)]);
    let made = made.filter_map(|path| suite.resolve(path).ok());
    let own: Vec<PathBuf> = data.chain([suite_file, suite.run.ledger.clone()]).chain(made).collect();
    git::version(&suite.root, &own, env)
}

/// A stated number of calls in flight: a shard has its share of it, at least one.
pub(super) fn divided(workers: NonZeroUsize, part: Option<Part>) -> NonZeroUsize {
    let share = part.and_then(|part| usize::try_from(part.shard.share(workers.get() as u64)).ok());
    share.map_or(workers, |share| NonZeroUsize::new(share).unwrap_or(NonZeroUsize::MIN))
}

/// Names a model that is in the suite and has problems of its own, which are told already.
fn waits_for_model(block: &Block, suite: &Suite, models: &Models) -> bool {
    let broken = |wanted: &str| {
        let there = models.by_name.contains_key(wanted) || models.embedders.contains_key(wanted);
        suite.models.iter().any(|model| &*model.name == wanted) && !there
    };
    ["model", "embedding"].iter().filter_map(|key| block.value.get(key)).any(|named| match named {
        serde_json::Value::Array(names) => names.iter().filter_map(serde_json::Value::as_str).any(broken),
        named => named.as_str().is_some_and(broken),
    })
}

/// The metrics that the suite means to measure, those included whose evaluator has problems: the gate's rules for them are not wrong.
fn named(suite: &Suite, built: &[MetricSpec]) -> Vec<MetricSpec> {
    let mut metrics = built.to_vec();
    for block in suite.evaluators.iter().filter(|block| built.iter().all(|metric| metric.name != block.name)) {
        let info = evaluator::kinds().map(|kind| kind.info).find(|info| info.name == &*block.kind);
        metrics.push(MetricSpec {
            name: block.name.clone(),
            kind: info.map_or(ScoreKind::UNIT, |info| info.score),
            direction: info.map_or(Direction::Higher, |info| info.direction),
            pass_mark: None,
            fingerprint: None,
        });
    }
    metrics
}

pub(super) fn evaluators(
    suite: &Suite,
    models: &Models,
    (env, version): (&Env, Option<&str>),
    problems: &mut Diagnostics,
) -> Vec<evaluator::Ready> {
    let deadlines = Deadlines { connect: suite.run.connect_timeout, whole: suite.run.timeout };
    let context = BuildContext {
        env,
        suite,
        models: &models.by_name,
        embedders: &models.embedders,
        deadlines,
        batch_size: suite.run.batch_size,
        version,
    };
    let known: Vec<&str> = evaluator::kinds().map(|kind| kind.info.name).collect();
    let mut ready = Vec::new();
    for block in &suite.evaluators {
        match evaluator::kinds().find(|kind| kind.info.name == &*block.kind) {
            Some(kind) if waits_for_model(block, suite, models) => {
                let mut found = Diagnostics::default();
                let _unfit = kind.build(block, &context, &mut found);
                let own = found.iter().filter(|problem| problem.code != "unknown-model");
                own.cloned().for_each(|problem| problems.push(problem));
            }
            Some(kind) => ready.extend(kind.build(block, &context, problems)),
            None => problems.push(block.unknown_kind("evaluator", known.iter().copied())),
        }
    }
    evaluator::connect(ready, &suite.evaluators, problems)
}

fn header(
    suite: &Suite,
    models: &Models,
    dataset: &Dataset,
    targets: &[target::Ready],
    metrics: Vec<MetricSpec>,
    env: &Env,
) -> RunHeader {
    let checkout = git::Checkout::of(&suite.folder, env);
    let now = clock::now();
    // Two runs of one suite within a second are two runs: a baseline takes each of them once.
    let id = Digest::of([suite.digest.to_string(), dataset.digest.to_string(), now.to_string()]).to_string();
    RunHeader {
        id: id.chars().take(12).collect(),
        suite: suite.name.clone(),
        suite_digest: Some(suite.digest),
        dataset_digest: Some(dataset.digest),
        commit: checkout.commit,
        branch: checkout.branch,
        head: None,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        started: Some(clock::written(now)),
        targets: targets.iter().map(|target| target.name.clone()).collect(),
        metrics,
        models: model_names(models),
        cases: dataset.len as u64,
        trials: suite.run.trials,
        attempts: 0,
        filtered: dataset.filtered,
        selection: None,
        shard: None,
        record: suite.run.record.clone(),
    }
}

/// Batches are waited for where one model makes them.
fn pace(models: &Models) -> Pace {
    if models.by_name.values().any(|model| model.chat.batches()) { Pace::Batches } else { Pace::Slots }
}

/// The models by their key, as the suite names them.
fn model_names(models: &Models) -> serde_json::Map<String, serde_json::Value> {
    let name = |known: &Fingerprint| known.0.get("model").cloned().unwrap_or_default();
    let chat = models.by_name.iter().map(|(key, model)| (key, name(&model.fingerprint)));
    let embedders = models.embedders.iter().map(|(key, model)| (key, name(&model.fingerprint)));
    chat.chain(embedders).map(|(key, name)| (key.clone(), name.into())).collect()
}
