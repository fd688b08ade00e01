//! `scoregate baseline refresh`: the suite is measured anew, and the runs are added to the pool until it has as many as the policy asks for
//! (statistics §15.2).

use std::path::Path;

use super::{Step, named, of_suite, stored_in, take};
use crate::cli::args::{LedgerChoice, SelectArgs};
use crate::cli::beside::Gathered;
use crate::cli::ending::Ending;
use crate::cli::events::Events;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::measure::{Means, Outcome, measure};
use crate::cli::prepare::{Prepared, prepare};
use crate::cli::{base, reference, reports, screen};
use crate::domain::{Comparison, Digest, Env, Reason, Severity};
use crate::gate::{BaselineMode, BaselineState, judge_beside};
use crate::store::Place;
use crate::suite::Suite;
use crate::text::number::counted;

/// Runs that a pool holds at most (statistics §15.1).
const MOST: usize = 10;

pub(super) fn refresh(
    suite: &Path,
    to: Option<&str>,
    runs: Option<u32>,
    out: &Path,
    env: &Env,
) -> Result<Ending, Failed> {
    let mut added = 0_u64;
    let mut before = None;
    loop {
        let prepared = prepare(suite, &SelectArgs::default(), env)?;
        let redactor = prepared.plan.redactor.clone();
        let step = once(prepared, (to, runs, before), out, env).map_err(|failed| failed.masked(&redactor))?;
        match step {
            Step::Added(of) => {
                before = Some(of);
                added += 1;
            }
            Step::Full(have) => {
                let runs = counted(have as u64, "run", "runs");
                screen::out(&format!("the baseline has {runs}, {added} of them added now\n"));
                return Ok(Ending::printed());
            }
            Step::Ended(ending) => return Ok(ending),
        }
    }
}

/// One run more, if one is wanted. `before`: the runs that the pool had before the last one was added.
fn once(
    prepared: Prepared,
    (to, runs, before): (Option<&str>, Option<u32>, Option<usize>),
    out: &Path,
    env: &Env,
) -> Result<Step, Failed> {
    let Prepared { suite, dataset, plan, policy, .. } = prepared;
    if dataset.filtered {
        let why = "the suite's data set leaves cases out (`where`, `sample`), and a filtered run cannot be a baseline; nothing was measured";
        return Err(Failed::usage(
            "filtered-suite",
            why,
            "take `where` and `sample` out, or make what they leave a data set of its own",
        ));
    }
    let yardstick = base::Yardstick::own(policy);
    let asked = yardstick.policy.baseline.as_ref();
    let wanted = runs.map_or_else(|| asked.map_or(1, |asked| asked.runs), |runs| runs as usize).clamp(1, MOST);
    // Where it goes is known before anything is paid, and it is there that runs are counted.
    let place = destination((to, &suite), &yardstick, env)?;
    let (state, have) = known(&*place)?;
    if before.is_some_and(|before| have <= before) {
        let name = place.name();
        return Err(Failed::CouldNot(format!(
            "a run was added to {name}, and it is read without: look whether {name} is read where it is written (`gate.baseline.put`)"
        )));
    }
    if have >= wanted {
        return Ok(Step::Full(have));
    }
    if let Some(digest) = asked.filter(|_| to.is_none()).and_then(|asked| asked.digest) {
        return Err(pinned(digest, &*place));
    }
    if plan.targets.iter().all(|target| target.free) {
        let why = "the answers are recorded ones: measuring them again would repeat the same run, and make the baseline look steadier than it is";
        return Err(Failed::usage(
            "nothing-to-refresh",
            why,
            "record new answers, then `scoregate baseline update --add`",
        ));
    }
    screen::message(&format!("run {} of {wanted}", have + 1));
    let gathered = Gathered::of(&suite, &yardstick, &reference::scales(&plan.header.metrics))?;
    let _alone = reports::hold(out)?;
    let results = out.join("results.jsonl");
    let means = Means {
        suite: &suite,
        dataset: &dataset,
        // Kept answers would be the same run again.
        ledger: Some(LedgerChoice::Refresh),
        tape: None,
        folder: out,
        events: &Events::default(),
        more: &|_| None,
        suspects: &|_| std::collections::BTreeSet::new(),
        env,
    };
    let Outcome { run, caught, .. } = measure(plan, None, &means)?;
    if let Some(code) = caught.code() {
        let reason = "cancelled: the run was not added; run again, what was paid for is not paid again";
        return Ok(Step::Ended(Ending::because(code, reason)));
    }
    // An accepted regression would start a new pool: this one only grows by runs of the same level (statistics §15.6).
    let verdict = judge_beside(&run, &state, &yardstick.policy, gathered.beside(None, None));
    if run.completion.as_ref().is_some_and(|end| end.complete)
        && let Some(code) = refused(&verdict.rules)
    {
        let why = match code {
            ExitCode::Failed => "since it is no run of the same level",
            _ => "since what it measured does not suffice",
        };
        let reason = format!(
            "the run was not added, {why}: {}; look at {}, and accept it with `scoregate baseline update` if it is wanted all the same",
            verdict.headline,
            results.display()
        );
        return Ok(Step::Ended(Ending::because(code, reason)));
    }
    take(&run, &results, &*place, env)?;
    Ok(Step::Added(have))
}

/// Where the runs are kept: what has no such place is refused.
fn destination(
    (to, suite): (Option<&str>, &Suite),
    yardstick: &base::Yardstick,
    env: &Env,
) -> Result<Box<dyn Place>, Failed> {
    let asked = yardstick.policy.baseline.as_ref();
    if let Some(asked) = asked.filter(|asked| asked.mode == BaselineMode::Concurrent) {
        let target = asked.target.as_deref().unwrap_or_default();
        let why = format!(
            "the suite compares with its target `{target}` in the same run (`gate.baseline.mode: concurrent`), so it has no stored baseline"
        );
        return Err(Failed::usage(
            "nothing-to-refresh",
            why,
            "`scoregate run` measures both anew each time; take `mode` and `target` out of `gate.baseline` to keep accepted runs instead",
        ));
    }
    match to {
        Some(to) => named(to, &suite.name, env),
        None => of_suite(suite, &yardstick.policy, env),
    }
}

/// What is there now, and of how many runs.
fn known(place: &dyn Place) -> Result<(BaselineState, usize), Failed> {
    let found = stored_in(place).map_err(|failed| match failed {
        Failed::CouldNot(why) => Failed::CouldNot(format!("the baseline cannot be added to: {why}")),
        failed => failed,
    })?;
    Ok(match found {
        Some(found) => {
            let have = found.runs.len();
            (BaselineState::Found(Box::new(found)), have)
        }
        None => (BaselineState::Absent(place.name()), 0),
    })
}

/// A baseline whose digest the suite states is that one and no other.
fn pinned(wanted: Digest, place: &dyn Place) -> Failed {
    let why = format!(
        "the suite asks for the baseline {} with the digest {wanted} and no other, so no run can be added to it",
        place.name()
    );
    let help = "take `digest` out of `gate.baseline`, and write the new one there afterwards";
    Failed::usage("nothing-to-refresh", why, help)
}

/// The exit code of a run that is not added. That there is no baseline yet is why it was measured.
fn refused(rules: &[Comparison]) -> Option<ExitCode> {
    let is = |severity| rules.iter().any(|rule| rule.severity == severity && rule.reason != Reason::NoBaseline);
    if is(Severity::Fail) { Some(ExitCode::Failed) } else { is(Severity::Block).then_some(ExitCode::NotEvaluated) }
}
