//! Tells the suite's `alerts` what came of a run. Nothing here changes the exit code.

use std::path::Path;
use std::time::Duration;

use super::base::Proposal;
use super::ending::Ending;
use super::exit_code::ExitCode;
use super::failure::Failed;
use super::{clock, screen};
use crate::alert::{self, Alert, News};
use crate::diagnostic::Diagnostics;
use crate::domain::{Decision, Env, Redactor};
use crate::gate::JUDGE_DRIFT;
use crate::host;
use crate::net::Client;
use crate::report::{About, Cleaner, View, remarks};
use crate::suite::{self, Suite};

/// Before the headline of a verdict that does not count.
const LOST: &str = "a report could not be written, so this is no pass (exit 3)";
/// Lines below the headline.
const DETAILS: usize = 8;
/// Characters of a line.
const LINE: usize = 300;
/// The runtime's threads are not waited for.
const GRACE: Duration = Duration::from_millis(100);

/// A run that was judged.
pub(super) fn verdict(suite: &Suite, view: &View<'_>, code: ExitCode, env: &Env) {
    let line = |text: &str| view.cleaner.line(text, LINE).to_string();
    // Rules say why; of cases the name and what moved, never what was asked or answered: a chat is another place.
    let details = remarks(view).into_iter().take(DETAILS).map(|remark| match remark.about {
        About::Case => line(&format!("case {}", remark.title)),
        About::Rule => line(&format!("{}: {}", remark.title, remark.message)),
    });
    let header = &view.run.header;
    // The verdict was reached before a report was lost.
    let headline = match view.verdict.decision {
        Decision::NotEvaluated => line(view.headline.as_str()),
        _ if code == ExitCode::NotEvaluated => line(&format!("{LOST}: {}", view.headline)),
        _ => line(view.headline.as_str()),
    };
    let news = News {
        suite: view.suite.to_string(),
        verdict: view.verdict.decision.word().to_owned(),
        exit_code: code.code(),
        headline,
        details: details.collect(),
        url: run_url(env),
        commit: header.head.as_deref().or(header.commit.as_deref()).map(line),
        branch: header.branch.as_deref().map(line),
        drifted: view.verdict.notes.iter().any(|note| note.starts_with(JUDGE_DRIFT)),
    };
    tell(suite, &news, env);
}

/// A run that came to no verdict; its problems are masked. A suite that cannot be read tells nobody.
pub(super) fn stopped(file: &Path, failed: &Failed, env: &Env) {
    let Some(suite) = suite::load_with_problems(file, env).suite else { return };
    let cleaner = Cleaner::new(Redactor::new(&suite.secrets));
    let problems: Vec<String> = failed
        .problems()
        .iter()
        .take(DETAILS)
        .map(|problem| cleaner.line(&problem.to_string(), LINE).to_string())
        .collect();
    let news = News {
        suite: cleaner.line(&suite.name, LINE).to_string(),
        verdict: Decision::NotEvaluated.word().to_owned(),
        exit_code: failed.code().code(),
        headline: "scoregate could not evaluate: there is no verdict".to_owned(),
        details: problems,
        url: run_url(env),
        ..News::default()
    };
    tell(&suite, &news, env);
}

/// What `drift` found in a row of runs.
pub(super) fn drift(file: &Path, ending: &Ending, drifted: bool, env: &Env) {
    let Some(suite) = suite::load_with_problems(file, env).suite else { return };
    let cleaner = Cleaner::new(Redactor::new(&suite.secrets));
    let verdict = match (drifted, ending.code) {
        (true, _) => "drift",
        (false, ExitCode::Passed) => Decision::Passed.word(),
        (false, _) => Decision::NotEvaluated.word(),
    };
    let reason = ending.reason.as_deref().unwrap_or_default();
    let news = News {
        suite: cleaner.line(&suite.name, LINE).to_string(),
        verdict: verdict.to_owned(),
        exit_code: ending.code.code(),
        headline: cleaner.line(reason, LINE).to_string(),
        url: run_url(env),
        drifted,
        ..News::default()
    };
    tell(&suite, &news, env);
}

fn run_url(env: &Env) -> Option<String> {
    host::detect(env).and_then(|context| context.run_url)
}

fn tell(suite: &Suite, news: &News, env: &Env) {
    let mut problems = Diagnostics::default();
    let alerts = alert::build(&suite.alerts, &mut problems);
    let proposal = Proposal::of(env).is_some();
    let wanted: Vec<&Alert> = alerts.iter().filter(|alert| alert.wants(news, proposal)).collect();
    if wanted.is_empty() {
        return;
    }
    let secrets: Vec<_> = wanted.iter().flat_map(|alert| alert.secrets()).cloned().collect();
    let redactor = Redactor::new(&secrets);
    let warn = |text: &str| screen::message(&format!("warning: {}", redactor.redact(text)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match (Client::new(env), runtime) {
        (Ok(client), Ok(runtime)) => {
            let now = clock::now().as_millisecond();
            for trouble in runtime.block_on(alert::send(&wanted, news, &client, now)) {
                warn(&trouble);
            }
            runtime.shutdown_timeout(GRACE);
        }
        (Err(problem), _) => warn(&format!("no alert was sent: {problem}")),
        (_, Err(problem)) => warn(&format!("no alert was sent: {problem}")),
    }
}
