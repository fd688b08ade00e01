//! From a measured run to its end: verdict, screen, reports, host.

use std::path::Path;

use super::base::Yardstick;
use super::beside::Gathered;
use super::ending::Ending;
use super::exit_code::ExitCode;
use super::failure::Failed;
use super::publish::{Comment, Finished};
use super::{reports, screen};
use crate::domain::{Decision, Env, Redactor, Run, TrialRecord, Verdict};
use crate::gate::{BaselineState, judge_beside, judge_shard};
use crate::host::CheckForm;
use crate::report::escape::terminal;
use crate::report::{self, ReportSettings};
use crate::suite::Suite;

/// Characters of a path.
const PATH: usize = 500;

/// A run, and all that is needed to tell of it.
pub(super) struct Measured<'a> {
    pub(super) run: &'a Run,
    /// What became of the recording of its calls; `Ok` where none was made.
    pub(super) recorded: Result<(), Failed>,
    /// The signal that ended it, if one did.
    pub(super) cancelled: Option<ExitCode>,
    pub(super) suite: &'a Suite,
    pub(super) yardstick: &'a Yardstick,
    pub(super) baseline: &'a BaselineState,
    pub(super) gathered: &'a Gathered,
    /// The suspects, as the base's system answers them.
    pub(super) again: Option<&'a Run>,
    pub(super) settings: &'a ReportSettings,
    /// Where the reports go; held by the caller.
    pub(super) folder: &'a Path,
    pub(super) comment: Comment,
    pub(super) check: Option<CheckForm>,
    /// When the command began.
    pub(super) since: &'a str,
    pub(super) redactor: Redactor,
}

impl Measured<'_> {
    /// Judges, shows, writes, publishes.
    ///
    /// # Errors
    /// The results cannot be read.
    pub(super) fn conclude(self, env: &Env) -> Result<Ending, Failed> {
        let Self {
            run,
            recorded,
            cancelled,
            suite,
            yardstick,
            baseline,
            gathered,
            again,
            settings,
            folder,
            comment,
            check,
            since,
            redactor,
        } = self;
        let mut verdict = match run.header.shard {
            Some(part) => judge_shard(run, part, &yardstick.policy),
            None => {
                let beside = gathered.beside(yardstick.record.as_ref(), again);
                judge_beside(run, baseline, &yardstick.policy, beside)
            }
        };
        if let Some(code) = cancelled {
            stopped(&mut verdict, run, code);
        } else if let Some(why) = run.completion.as_ref().and_then(|end| end.reason.as_deref()) {
            verdict.headline = format!("could not evaluate: the run is not complete: {why}");
            (verdict.decision, verdict.exit_code) = (Decision::NotEvaluated, ExitCode::NotEvaluated.code());
        }
        if let (Err(lost), None) = (&recorded, cancelled) {
            // What was asked for is not there: no report says otherwise.
            let why: Vec<String> = lost.problems().iter().map(ToString::to_string).collect();
            verdict.headline = format!("could not evaluate: {}", why.join("; "));
            (verdict.decision, verdict.exit_code) = (Decision::NotEvaluated, ExitCode::NotEvaluated.code());
        }
        let texts = reports::texts(run)?;
        let view = reports::view(run, &verdict, baseline, texts.as_ref(), redactor);
        screen::out(&report::screen(&view, report::Screen::stdout()));
        let written = reports::write(&view, settings, folder).and(recorded);
        screen::out(&format!("\nreports: {}\n", terminal(&folder.display().to_string(), PATH)));
        let code = match &written {
            Ok(()) => ExitCode::of(verdict.exit_code),
            Err(_) => ExitCode::NotEvaluated,
        };
        let written = written.map_err(|lost| lost.masked(view.redactor()));
        let finished =
            Finished { view: &view, suite, settings, folder, code, written: written.is_ok(), comment, check, since };
        finished.publish(env);
        match written {
            Ok(()) => Ok(Ending::because(code, view.redactor().redact(&verdict.headline))),
            // The verdict is published with this code.
            Err(lost) => Ok(lost.report()),
        }
    }
}

/// What was measured until then stays in the reports, and none of it is a decision.
fn stopped(verdict: &mut Verdict, run: &Run, code: ExitCode) {
    let signal = if code == ExitCode::Interrupted { "SIGINT" } else { "SIGTERM or SIGHUP" };
    let answered = |trial: &&TrialRecord| trial.answered.is_ok();
    let measured = run.cases.iter().flat_map(|case| &case.trials).filter(answered).count();
    let planned = run.header.outcomes();
    verdict.headline = format!(
        "cancelled by {signal}: {measured} of {planned} answers are here, and nothing is decided; run again, what was paid for \
         is not paid again"
    );
    (verdict.decision, verdict.exit_code, verdict.partial) = (Decision::NotEvaluated, code.code(), true);
}
