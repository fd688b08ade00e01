//! Shows the verdict on the host this runs on. Nothing here changes the exit code.

use std::path::Path;
use std::time::Duration;

use super::exit_code::ExitCode;
use super::screen;
use crate::domain::{Env, Severity};
use crate::host::{self, Annotation, AnnotationLevel, Outputs, Publication, Published};
use crate::net::http_client;
use crate::report::escape::terminal;
use crate::report::{KINDS, View};

const CONNECT: Duration = Duration::from_secs(10);

/// Comment, summary, outputs and annotations, where the host is known.
pub(super) fn publish(view: &View<'_>, folder: &Path, code: ExitCode, comment: bool, env: &Env) {
    let Some(context) = host::detect(env) else { return };
    let Some(markdown) = KINDS.iter().find(|kind| kind.file == "comment.md").and_then(|kind| (kind.render)(view).ok())
    else {
        return;
    };
    // The host adds the marker itself.
    let text = markdown.split_once("-->\n").map_or(markdown.as_str(), |(_, text)| text).to_owned();
    let publication = Publication {
        key: view.verdict.suite.clone(),
        comment_markdown: comment.then(|| text.clone()),
        summary_markdown: text,
        annotations: annotations(view),
        outputs: Outputs {
            verdict: view.verdict.decision,
            exit_code: code.code(),
            regressions: view.verdict.rules.iter().filter(|rule| rule.severity == Severity::Fail).count() as u64,
            junit_path: Some(folder.join("junit.xml")),
            summary_path: Some(folder.join("comment.md")),
        },
    };
    match send(&context, &publication, env) {
        Ok(published) => tell(&published, &context.notes),
        Err(problem) => screen::err(&terminal(&format!("warning: nothing was published: {problem}"), 600)),
    }
}

fn send(context: &host::HostContext, publication: &Publication, env: &Env) -> Result<Published, String> {
    let client = http_client(env, CONNECT).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    Ok(runtime.block_on(host::publish(context, publication, client)))
}

fn tell(published: &Published, notes: &[String]) {
    for line in &published.lines {
        screen::out(&format!("{line}\n"));
    }
    for warning in &published.warnings {
        screen::err(&terminal(&format!("warning: {warning}"), 1200));
    }
    for note in notes.iter().chain(&published.notes) {
        screen::err(&terminal(&format!("note: {note}"), 600));
    }
}

/// The rules that failed first, then the cases that made them fail, worst first.
fn annotations(view: &View<'_>) -> Vec<Annotation> {
    let rules = view.verdict.rules.iter().filter_map(|rule| {
        let level = match rule.severity {
            Severity::Fail | Severity::Block => AnnotationLevel::Error,
            Severity::Warn => AnnotationLevel::Warning,
            Severity::Ok => return None,
        };
        let title = format!("scoregate: {}", rule.metric);
        Some(Annotation { level, file: None, line: None, title, message: view.redactor.redact(&rule.explanation) })
    });
    let cases = view.broken.iter().filter(|shown| shown.case.decisive).map(|shown| {
        let place = shown.case.place.as_ref();
        let before = shown.before.as_deref().unwrap_or("(no earlier answer)");
        Annotation {
            level: AnnotationLevel::Error,
            file: place.map(|place| place.file.to_string()),
            line: place.map(|place| u64::from(place.line)),
            title: terminal(&format!("{}: {} got worse", shown.case.case, shown.case.metric), 200),
            message: terminal(&format!("before: {before} · now: {}", shown.now), 600),
        }
    });
    rules.chain(cases).collect()
}
