//! `scoregate merge SHARD…`: the results of all shards become one run, which is judged once.

use std::path::{Path, PathBuf};

use crate::alert;
use crate::cli::args::{GateArgs, HostArgs, MergeArgs, ReportArgs, ShardsInput};
use crate::cli::base::{self, Subject, Yardstick};
use crate::cli::beside::Gathered;
use crate::cli::conclude::Measured;
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::publish::{self, Comment};
use crate::cli::{alarm, clock, reference, reports, screen};
use crate::diagnostic::Diagnostics;
use crate::domain::{Env, Redactor, RunHeader, Secret};
use crate::gate::Policy;
use crate::host;
use crate::report::ReportSettings;
use crate::store::{MergeError, Shards, StoreError};
use crate::suite::{self, Suite};

/// What a folder of reports holds.
const RESULTS: &str = "results.jsonl";

pub(in crate::cli) fn execute(args: &MergeArgs, env: &Env) -> Result<Ending, Failed> {
    let since = clock::written(clock::now());
    let stop = |failed: Failed| {
        let (comment, check) = (!args.host.no_comment, args.host.check.map(Into::into));
        let key = (comment || check.is_some()).then(|| suite::name(&args.input.suite, env)).flatten();
        publish::stopped(&failed, publish::Started { key, comment, check, since: &since }, env);
        alarm::stopped(&args.input.suite, &failed, env);
        failed
    };
    let suite = suite::load(&args.input.suite, env).map_err(|problems| stop(problems.into()))?;
    let token = host::detect(env).map(|context| context.secrets()).unwrap_or_default();
    let secrets: Vec<Secret> = suite.secrets.iter().chain(&token).cloned().collect();
    let redactor = Redactor::new(&secrets);
    let ended = carry_out(args, &suite, &since, redactor.clone(), env);
    ended.map_err(|failed| stop(failed.masked(&redactor)))
}

fn carry_out(args: &MergeArgs, suite: &Suite, since: &str, redactor: Redactor, env: &Env) -> Result<Ending, Failed> {
    let MergeArgs {
        input: ShardsInput { shards, suite: _ },
        gate: GateArgs { baseline, base },
        report: ReportArgs { out },
        host: HostArgs { no_comment, check },
    } = args;
    let paths: Vec<PathBuf> =
        shards.iter().map(|path| if path.is_dir() { path.join(RESULTS) } else { path.clone() }).collect();
    let shards = Shards::open(&paths)?;
    same_suite(suite, shards.header())?;
    let (policy, settings) = settings(suite, shards.header())?;
    // A file that is named must be there before anything is written.
    let scales = reference::scales(&shards.header().metrics);
    let named = baseline.as_deref().map(|path| reference::of_file(path, &scales)).transpose()?;
    let folder = reports::folder(out.as_deref(), &settings);
    let results = folder.join(RESULTS);
    not_a_shard(&results, &paths)?;
    let _alone = reports::hold(&folder)?;
    let run = shards.join(&results, redactor.clone())?;
    let subject = Subject { suite, policy, metrics: Some(&run.header.metrics), cases: base::cases_of(&run) };
    let yardstick = Yardstick::find(subject, (base, baseline.as_deref().as_slice()), env)?;
    let gathered = Gathered::of(suite, &yardstick, &scales)?;
    let stored = match named {
        Some(named) => named,
        None => reference::of_suite(suite, &yardstick, env)?,
    };
    let measured = Measured {
        run: &run,
        recorded: Ok(()),
        cancelled: None,
        suite,
        yardstick: &yardstick,
        baseline: &stored,
        gathered: &gathered,
        again: None,
        settings: &settings,
        folder: &folder,
        comment: if *no_comment { Comment::No } else { Comment::Yes },
        check: check.map(Into::into),
        tell: true,
        since,
        redactor,
    };
    measured.conclude(env)
}

/// The policy must be that of the suite that was measured.
fn same_suite(suite: &Suite, header: &RunHeader) -> Result<(), Failed> {
    if header.suite_digest.is_none_or(|digest| digest == suite.digest) {
        return Ok(());
    }
    let message = format!("the shards ran another suite than {}, or an earlier state of it", suite.path.display());
    Err(Failed::usage("other-suite", message, "name the suite that they ran with `--suite FILE`, from the same commit"))
}

fn settings(suite: &Suite, header: &RunHeader) -> Result<(Policy, ReportSettings), Failed> {
    let mut problems = Diagnostics::default();
    let policy = Policy::build(suite.gate.as_ref(), &header.metrics, &mut problems);
    let settings = match &suite.reports {
        Some(block) => block.settings::<ReportSettings>(&mut problems),
        None => Some(ReportSettings::default()),
    };
    let _checked = alert::build(&suite.alerts, &mut problems);
    match (policy, settings) {
        (Some(policy), Some(settings)) if !problems.has_errors() => {
            let policy = policy.with_plan(&suite.run.looks);
            if !problems.is_empty() {
                screen::diagnostics(&problems);
            }
            Ok((policy, settings))
        }
        _ => Err(problems.into()),
    }
}

/// The whole run must not replace a part of it.
fn not_a_shard(results: &Path, shards: &[PathBuf]) -> Result<(), Failed> {
    let Ok(place) = results.canonicalize() else { return Ok(()) };
    if !shards.iter().any(|shard| shard.canonicalize().is_ok_and(|shard| shard == place)) {
        return Ok(());
    }
    let message = format!("{} is one of the shards, and would be replaced by the whole run", results.display());
    Err(Failed::usage("shard-replaced", message, "write the reports elsewhere: `--out DIR`"))
}

impl From<MergeError> for Failed {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Files(problem) => {
                Self::usage("shards", problem, "name the results of every shard of one run, each once")
            }
            // A shard that was lost is evidence that is missing.
            MergeError::Missing(problem) => Self::CouldNot(format!("the run is not complete: {problem}")),
            MergeError::Store(StoreError::Absent { path }) => Self::CouldNot(format!(
                "the run is not complete: there are no results of a shard at {}",
                path.display()
            )),
            MergeError::Store(error) => error.into(),
        }
    }
}
