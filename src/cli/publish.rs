//! Shows the verdict on the host this runs on. Nothing here changes the exit code.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::exit_code::ExitCode;
use super::screen;
use crate::domain::{Env, Redactor, Severity};
use crate::host::{self, Annotation, AnnotationLevel, HostContext, Outputs, Publication, Published};
use crate::net::http_client;
use crate::report::{Format, KINDS, Remark, ReportSettings, View, comment_markdown, remarks, summary_markdown};

const CONNECT: Duration = Duration::from_secs(10);

/// Whether a comment is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comment {
    Yes,
    No,
}

/// Comment, summary, outputs and annotations.
pub(super) fn publish(
    view: &View<'_>,
    context: &HostContext,
    settings: &ReportSettings,
    folder: &Path,
    code: ExitCode,
    comment: Comment,
    env: &Env,
) {
    let publication = Publication {
        key: view.verdict.suite.clone(),
        comment_markdown: (comment == Comment::Yes).then(|| comment_markdown(view)),
        summary_markdown: summary_markdown(view, host::summary_room(context).unwrap_or(usize::MAX)),
        annotations: annotations(view),
        outputs: Outputs {
            verdict: view.verdict.decision,
            exit_code: code.code(),
            regressions: view.verdict.rules.iter().filter(|rule| rule.severity == Severity::Fail).count() as u64,
            junit_path: path_of(Format::Junit, settings, folder),
            summary_path: path_of(Format::Summary, settings, folder),
        },
    };
    match send(context, &publication, env) {
        Ok(published) => tell(&published, view.redactor()),
        Err(problem) => {
            screen::message(&view.redactor().redact(&format!("warning: nothing was published: {problem}")));
        }
    }
}

/// Where a report is, if it was asked for.
fn path_of(format: Format, settings: &ReportSettings, folder: &Path) -> Option<PathBuf> {
    let kind = KINDS.iter().find(|kind| kind.format == format && settings.wants(format))?;
    Some(folder.join(kind.file))
}

fn send(context: &HostContext, publication: &Publication, env: &Env) -> Result<Published, String> {
    let client = http_client(env, CONNECT).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    Ok(runtime.block_on(host::publish(context, publication, client)))
}

fn tell(published: &Published, redactor: &Redactor) {
    for line in &published.lines {
        screen::data(&format!("{line}\n"));
    }
    for warning in &published.warnings {
        screen::message(&redactor.redact(&format!("warning: {warning}")));
    }
    for note in &published.notes {
        screen::message(&redactor.redact(&format!("note: {note}")));
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
