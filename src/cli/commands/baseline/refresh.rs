//! `scoregate baseline refresh`: the suite is measured anew, and the runs are added to the pool until it has as many as the policy asks for
//! (statistics §15.2).

use std::path::Path;

use super::{Step, take};
use crate::cli::args::{LedgerChoice, SelectArgs};
use crate::cli::ending::Ending;
use crate::cli::events::Events;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::measure::{Means, Outcome, measure};
use crate::cli::prepare::{Prepared, prepare};
use crate::cli::{base, reference, reports, screen};
use crate::domain::{Env, Severity};
use crate::gate::{BaselineState, judge};
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
    loop {
        let prepared = prepare(suite, &SelectArgs::default(), env)?;
        let redactor = prepared.plan.redactor.clone();
        let step = once(prepared, to, runs, out, env).map_err(|failed| failed.masked(&redactor))?;
        match step {
            Step::Added => added += 1,
            Step::Full(have) => {
                let runs = counted(have as u64, "run", "runs");
                screen::out(&format!("the baseline has {runs}, {added} of them added now\n"));
                return Ok(Ending::printed());
            }
            Step::Ended(ending) => return Ok(ending),
        }
    }
}

fn once(prepared: Prepared, to: Option<&str>, runs: Option<u32>, out: &Path, env: &Env) -> Result<Step, Failed> {
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
    let state = match to {
        Some(to) => super::state_of(to, env)?,
        None => reference::of_suite(&suite, &yardstick, env)?,
    };
    let have = match &state {
        BaselineState::Found(baseline) => baseline.runs.len(),
        BaselineState::Absent(_) | BaselineState::NotAsked => 0,
        BaselineState::Unreachable(why) | BaselineState::Broken(why) => {
            return Err(Failed::CouldNot(format!("the baseline cannot be added to: {why}")));
        }
    };
    if have >= wanted {
        return Ok(Step::Full(have));
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
    let verdict = judge(&run, &state, &yardstick.policy);
    let failed = verdict.rules.iter().any(|rule| rule.severity == Severity::Fail);
    if failed {
        let reason = format!(
            "the run was not added, since it is no run of the same level: {}; look at {}, and accept it with `scoregate baseline update` \
             if the new level is wanted",
            verdict.headline,
            results.display()
        );
        return Ok(Step::Ended(Ending::because(ExitCode::Failed, reason)));
    }
    take(&run, &results, (to, &suite), env)?;
    Ok(Step::Added)
}
