//! `scoregate compare CURRENT [BASELINE]`: the gate from files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli::args::{CompareArgs, Format, OutputArgs, ReportArgs, ResultsInput};
use crate::cli::base::{self, Subject, Yardstick};
use crate::cli::beside::Gathered;
use crate::cli::ending::Ending;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::{Failed, in_line};
use crate::cli::{reference, reports, screen};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::domain::{Baseline, Env, MetricSpec, Redactor, Run};
use crate::gate::{BaselineState, Policy, judge_beside};
use crate::peer::{self, Wanted};
use crate::report;
use crate::store::StoreError;
use crate::suite::{self, Suite};

pub(in crate::cli) fn execute(args: &CompareArgs, env: &Env) -> Result<Ending, Failed> {
    let suite = args.input.suite.as_deref().map(|path| suite::load(path, env)).transpose()?;
    let redactor = suite.as_ref().map_or_else(Redactor::default, |suite| Redactor::new(&suite.secrets));
    judge_files(args, suite.as_ref(), redactor.clone(), env).map_err(|failed| failed.masked(&redactor))
}

fn judge_files(args: &CompareArgs, suite: Option<&Suite>, redactor: Redactor, env: &Env) -> Result<Ending, Failed> {
    let CompareArgs {
        input: ResultsInput { current, baseline, from, metric, suite: _ },
        base,
        report: ReportArgs { out },
        output: OutputArgs { format },
    } = args;
    let wanted = Wanted { from: from.as_deref(), metrics: metric };
    let mut problems = Diagnostics::default();
    let policy = Policy::build(suite.and_then(|suite| suite.gate.as_ref()), &[], &mut problems);
    let policy = match policy {
        Some(policy) => policy.with_plan(suite.map_or(&[], |suite| &suite.run.looks)),
        None => return Err(problems.into()),
    };
    if let Some(suite) = suite {
        reference::check(suite, &policy, env, &mut problems);
        if problems.has_errors() {
            return Err(problems.into());
        }
    }
    let declared = policy.declared();
    let of_baseline = || match baseline.as_slice() {
        [] => Ok(None),
        paths => reference::of_files(paths, &declared, wanted).map(Some),
    };
    // The baseline is read here: what it frees on the way is used again by the comparison.
    let (named, run) = both(of_baseline, || one_run(current, &declared, wanted));
    let (run, named) = (run?, named?);
    let yardstick = match suite {
        Some(suite) => {
            let subject = Subject { suite, policy, metrics: None, cases: base::cases_of(&run) };
            let named: Vec<&Path> = baseline.iter().map(PathBuf::as_path).collect();
            Yardstick::find(subject, (base, &named), env)?
        }
        None => Yardstick::own(policy),
    };
    let gathered = match suite {
        Some(suite) => Gathered::of(suite, &yardstick, &declared)?,
        None => Gathered::nothing(),
    };
    let mut baseline = match (named, suite) {
        (Some(named), _) => named,
        // What the suite asks for is asked for here too: a comparison without it would be green without evidence.
        (None, Some(suite)) => reference::of_suite(suite, &yardstick, env)?,
        (None, None) => BaselineState::NotAsked,
    };
    if let BaselineState::Found(baseline) = &mut baseline {
        align(baseline, &run, metric);
    }
    let verdict = judge_beside(&run, &baseline, &yardstick.policy, gathered.beside(yardstick.record.as_ref(), None));
    let texts = reports::texts(&run)?;
    let view = reports::view(&run, &verdict, &baseline, texts.as_ref(), redactor);
    match format {
        Format::Human => screen::out(&report::screen(&view, report::Screen::stdout())),
        Format::Json => screen::data(&report::verdict_json(&view).map_err(Failed::CouldNot)?),
    }
    if let Some(folder) = out {
        let _alone = reports::hold(folder)?;
        reports::write(&view, &report::ReportSettings::default(), folder)?;
    }
    Ok(Ending::because(ExitCode::of(verdict.exit_code), view.redactor().redact(&verdict.headline)))
}

/// The baseline as this comparison reads it: with the metrics that were asked for, and where both sides know one target, with the
/// run's name for it. Another tool's file says a provider's name, and a change of the provider is what is judged.
fn align(baseline: &mut Baseline, run: &Run, metrics: &[String]) {
    if !metrics.is_empty() {
        let wanted = |name: &str| metrics.iter().any(|metric| metric == name);
        baseline.metrics.retain(|spec| wanted(&spec.name));
        for case in &mut baseline.cases {
            case.scores.retain(|name, _| wanted(name));
            case.not_applicable.retain(|name| wanted(name));
        }
    }
    let before: BTreeSet<&str> = baseline.cases.iter().map(|case| &*case.target).collect();
    let ([now], 1) = (&*run.header.reported_targets(), before.len()) else { return };
    if !peer::is_of_peer(&run.header) || before.contains(&**now) {
        return;
    }
    let old = before.into_iter().collect::<String>();
    if !old.is_empty() && !now.is_empty() {
        screen::message(&format!("the baseline's only target `{old}` is compared with this run's, `{now}`"));
    }
    baseline.cases.iter_mut().for_each(|case| case.target = now.clone());
}

/// Both results, worked out side by side: reading is most of the time that a large comparison takes.
fn both<A, B: Send>(first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
    std::thread::scope(|scope| {
        let second = scope.spawn(second);
        let first = first();
        match second.join() {
            Ok(second) => (first, second),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The run under test; a file of several runs leaves open which one.
fn one_run(path: &Path, declared: &[MetricSpec], wanted: Wanted<'_>) -> Result<Run, Failed> {
    let mut runs = peer::read_runs(path, declared, wanted).map_err(|error| match error {
        StoreError::Corrupt { path, line, problem } => {
            let message = if line == 0 { format!("{}: {problem}", path.display()) } else { problem };
            let problem = Diagnostic::error("bad-results", message)
                .help("docs/compare.md describes the files that are read; `--from FORMAT` says which one this is");
            Failed::Wrong(in_line(&path, line, None, problem).into())
        }
        error => error.into(),
    })?;
    match (runs.pop(), runs.is_empty()) {
        (Some(run), true) => Ok(run),
        _ => {
            let message = format!("{} holds several runs, and one is to be judged", path.display());
            Err(Failed::usage("several-runs", message, "keep the lines of one `run`"))
        }
    }
}
