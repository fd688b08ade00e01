//! Shows the verdict on the host this runs on. Nothing here changes the exit code.

use std::path::Path;
use std::time::Duration;

use super::exit_code::ExitCode;
use super::screen;
use crate::domain::{Env, Severity};
use crate::host::{self, Annotation, AnnotationLevel, Outputs, Publication, Published};
use crate::net::http_client;
use crate::report::escape::terminal;
use crate::report::{Remark, View, comment_markdown, remarks, summary_markdown};

const CONNECT: Duration = Duration::from_secs(10);

/// Comment, summary, outputs and annotations, where the host is known.
pub(super) fn publish(view: &View<'_>, folder: &Path, code: ExitCode, comment: bool, env: &Env) {
    let Some(context) = host::detect(env) else { return };
    let publication = Publication {
        key: view.verdict.suite.clone(),
        comment_markdown: comment.then(|| comment_markdown(view)),
        summary_markdown: summary_markdown(view, host::summary_room(&context).unwrap_or(usize::MAX)),
        annotations: annotations(view),
        outputs: Outputs {
            verdict: view.verdict.decision,
            exit_code: code.code(),
            regressions: view.verdict.rules.iter().filter(|rule| rule.severity == Severity::Fail).count() as u64,
            junit_path: Some(folder.join("junit.xml")),
            summary_path: Some(folder.join("summary.md")),
        },
    };
    match send(&context, &publication, env) {
        Ok(published) => tell(&published),
        Err(problem) => screen::err(&terminal(&format!("warning: nothing was published: {problem}"), 600)),
    }
}

fn send(context: &host::HostContext, publication: &Publication, env: &Env) -> Result<Published, String> {
    let client = http_client(env, CONNECT).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    Ok(runtime.block_on(host::publish(context, publication, client)))
}

fn tell(published: &Published) {
    for line in &published.lines {
        screen::out(&format!("{line}\n"));
    }
    for warning in &published.warnings {
        screen::err(&terminal(&format!("warning: {warning}"), 1200));
    }
    for note in &published.notes {
        screen::err(&terminal(&format!("note: {note}"), 600));
    }
}

/// What the report remarks, as the host's annotations.
fn annotations(view: &View<'_>) -> Vec<Annotation> {
    let annotation = |remark: Remark| Annotation {
        level: match remark.severity {
            Severity::Fail | Severity::Block => AnnotationLevel::Error,
            Severity::Warn | Severity::Ok => AnnotationLevel::Warning,
        },
        file: remark.place.as_ref().map(|place| place.file.to_string()),
        line: remark.place.as_ref().map(|place| u64::from(place.line)),
        title: remark.title.to_string(),
        message: remark.message.to_string(),
    };
    remarks(view).into_iter().map(annotation).collect()
}
