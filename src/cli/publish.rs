//! Shows the verdict on the host this runs on. Nothing here changes the exit code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::exit_code::ExitCode;
use super::failure::Failed;
use super::screen;
use crate::domain::{Decision, Env, RuleKind, Severity, Verdict};
use crate::host::{
    self, Annotation, AnnotationLevel, Check, CheckForm, HostContext, NoVerdict, Outdated, Outputs, Publication,
    Published, Standing,
};
use crate::net::http_client;
use crate::report::{
    Format, KINDS, Links, Remark, ReportSettings, View, comment_markdown, remarks, stopped_markdown, summary_markdown,
};
use crate::suite::Suite;

const STOPPED: &str = "scoregate could not evaluate";
const CONNECT: Duration = Duration::from_secs(10);

/// What is known of a run that came to a verdict.
pub(super) struct Finished<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) suite: &'a Suite,
    pub(super) settings: &'a ReportSettings,
    /// Where the reports are.
    pub(super) folder: &'a Path,
    pub(super) code: ExitCode,
    /// The reports are there.
    pub(super) written: bool,
    pub(super) comment: Comment,
    pub(super) check: Option<CheckForm>,
    /// When the run began.
    pub(super) since: &'a str,
}

/// Whether a comment is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comment {
    Yes,
    No,
    /// One comment for all shards, by who joins them.
    NotOfAShard,
}

impl Finished<'_> {
    /// Comment, summary, outputs and annotations, where the host is known.
    pub(super) fn publish(&self, env: &Env) {
        let Some(mut context) = host::detect(env) else { return };
        let cancelled = matches!(self.code, ExitCode::Interrupted | ExitCode::Terminated);
        let wanted = self.comment == Comment::Yes;
        if cancelled && wanted {
            // Whoever cancels a job waits for its end.
            context.notes = vec!["no comment: the run was cancelled".to_owned()];
        }
        if self.comment == Comment::NotOfAShard {
            context.notes = vec!["no comment: this is one shard of a run; `scoregate merge` comments".to_owned()];
        }
        let view = self.view;
        let links = self.links(&context);
        let publication = Publication {
            key: view.comment_key(),
            comment_markdown: (wanted && !cancelled).then(|| comment_markdown(view, &links)),
            standing: Standing::of(view.verdict.decision, self.code.code()),
            outdated: (wanted && cancelled)
                .then(|| Outdated { why: NoVerdict::Cancelled, since: self.since.to_owned() }),
            summary_markdown: summary_markdown(view, room(&context), &links),
            annotations: remarks(view).into_iter().map(|remark| self.annotation(remark, &context)).collect(),
            outputs: Outputs {
                verdict: view.verdict.decision,
                exit_code: self.code.code(),
                regressions: regressions(view.verdict),
                junit_path: self.report(Format::Junit),
                summary_path: self.report(Format::Summary),
            },
            tests: self.comment != Comment::NotOfAShard,
            check: self.check.map(|form| Check { form, title: view.headline.to_string() }),
        };
        send(&context, &publication, env);
    }

    /// To lines of files and to the job.
    fn links(&self, context: &HostContext) -> Links {
        let own = self.view.suite_file.as_deref().unwrap_or_default();
        let suite = self.suite.root.join(own);
        // The project's root may be a folder of the repository.
        let folder = context.in_repository(&suite).and_then(|path| path.strip_suffix(own).map(str::to_owned));
        let source = context.source_links().filter(|_| folder.is_some());
        Links::new(source, &folder.unwrap_or_default(), context.run_url.as_deref())
    }

    /// Where a report is, if it was asked for and written.
    fn report(&self, format: Format) -> Option<PathBuf> {
        let kind = KINDS.iter().find(|kind| kind.format == format && self.settings.wants(format))?;
        self.written.then(|| self.folder.join(kind.file))
    }

    fn annotation(&self, remark: Remark, context: &HostContext) -> Annotation {
        Annotation {
            level: match remark.severity {
                Severity::Fail | Severity::Block => AnnotationLevel::Error,
                Severity::Warn | Severity::Ok => AnnotationLevel::Warning,
            },
            file: remark.place.as_ref().map(|place| {
                let file = self.suite.root.join(&*place.file);
                context.in_repository(&file).unwrap_or_else(|| place.file.to_string())
            }),
            line: remark.place.as_ref().map(|place| u64::from(place.line)),
            title: remark.title.to_string(),
            message: remark.message.to_string(),
        }
    }
}

/// Metrics (of each target) that got worse than in the baseline, and targets with new errors, where that fails the build.
fn regressions(verdict: &Verdict) -> u64 {
    if verdict.decision != Decision::Failed {
        return 0;
    }
    let worse = verdict.rules.iter().filter(|rule| {
        rule.severity == Severity::Fail
            && matches!(rule.rule, RuleKind::NotWorse | RuleKind::Slice | RuleKind::MaxDrop | RuleKind::NewErrors)
    });
    worse.map(|rule| (&rule.metric, &rule.target)).collect::<BTreeSet<_>>().len() as u64
}

/// A run that may have a comment of an earlier one to mark.
#[derive(Default)]
pub(super) struct Started<'a> {
    /// The suite's name, masked, where it is known.
    pub(super) key: Option<String>,
    /// A comment is wanted.
    pub(super) comment: bool,
    pub(super) check: Option<CheckForm>,
    /// When the run began.
    pub(super) since: &'a str,
}

/// What stopped the run before a verdict: the steps that follow read "not evaluated", and its problems stand at their lines.
pub(super) fn stopped(failed: &Failed, started: Started<'_>, env: &Env) {
    let Some(context) = host::detect(env) else { return };
    let code = failed.code();
    let problems = failed.problems();
    // One line each: what to do stands behind an arrow.
    let texts: Vec<String> = problems.iter().map(|problem| problem.to_string().replace('\n', " → ")).collect();
    let Started { key, comment, check, since } = started;
    let why = NoVerdict::Stopped { exit_code: code.code() };
    let publication = Publication {
        comment_markdown: None,
        standing: Standing::Open,
        outdated: (comment && key.is_some()).then(|| Outdated { why, since: since.to_owned() }),
        // Under which name is not known without the suite's.
        check: check.filter(|_| key.is_some()).map(|form| Check { form, title: STOPPED.to_owned() }),
        key: key.unwrap_or_default(),
        summary_markdown: stopped_markdown(&texts, room(&context)),
        annotations: problems
            .into_iter()
            .map(|problem| Annotation {
                level: AnnotationLevel::Error,
                file: problem.file.map(|file| context.in_repository(Path::new(&file)).unwrap_or(file)),
                line: problem.line.map(u64::from),
                title: STOPPED.to_owned(),
                message: problem.message,
            })
            .collect(),
        outputs: Outputs {
            verdict: Decision::NotEvaluated,
            exit_code: code.code(),
            regressions: 0,
            junit_path: None,
            summary_path: None,
        },
        tests: false,
    };
    send(&HostContext { notes: Vec::new(), ..context }, &publication, env);
}

fn room(context: &HostContext) -> usize {
    host::summary_room(context).unwrap_or(usize::MAX)
}

fn send(context: &HostContext, publication: &Publication, env: &Env) {
    if let Err(problem) = post(context, publication, env) {
        screen::message(&format!("warning: nothing was published: {problem}"));
    }
}

/// Publishes, says what there is to say, and returns what came of it.
///
/// # Errors
/// Nothing could be published at all.
pub(super) fn post(context: &HostContext, publication: &Publication, env: &Env) -> std::io::Result<Published> {
    let client = http_client(env, CONNECT).map_err(|error| error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let published = runtime.block_on(host::publish(context, publication, client));
    tell(context, &published);
    Ok(published)
}

fn tell(context: &HostContext, published: &Published) {
    for line in &published.lines {
        screen::data(&format!("{line}\n"));
    }
    for note in &published.notes {
        screen::message(&format!("note: {note}"));
    }
    if context.kind.reads_no_log() {
        for warning in &published.warnings {
            screen::message(&format!("warning: {warning}"));
        }
    }
}
