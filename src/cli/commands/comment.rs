//! `scoregate comment RUN`: the stored verdict of a run becomes the comment on its pull request.
//!
//! Made for a second workflow that may write where the first, with the pull request's own code, may only read. So the run is taken for
//! what a stranger wrote: its files are bounded and read by the forms that this program writes; every text passes the escapes of a report
//! again; where the comment goes is what the event says of the commit that was tested, never what the run says. The run must be of just
//! that commit. The verdict itself can only be as honest as who ran it, which the comment says; it sets no check and no output.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::cli::args::CommentArgs;
use crate::cli::ending::Ending;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::{publish, reference, reports};
use crate::domain::{Decision, Env, Redactor, Run, RunHeader, Verdict};
use crate::gate::BaselineState;
use crate::host::{self, HostContext, NoVerdict, Outdated, Outputs, Publication, PullRequest, Standing};
use crate::report::{Links, comment_markdown, read_verdict};
use crate::store::read_results;

const VERDICT: &str = "verdict.json";
const RESULTS: &str = "results.jsonl";
/// Bytes of `verdict.json`: it names every case that was added, removed or changed.
const VERDICT_LIMIT: u64 = 16 << 20;
/// Bytes of `results.jsonl`.
const RESULTS_LIMIT: u64 = 512 << 20;
/// The event of a workflow that follows another.
const FOLLOWING: &str = "workflow_run";
const NOT_OURS: &str = "This run was made with the pull request's own code and files, and is shown as it came from there: \
                        look at the change before believing it.";

pub(in crate::cli) fn execute(args: &CommentArgs, env: &Env) -> Result<Ending, Failed> {
    let Some(context) = host::detect(env) else {
        return Err(Failed::usage(
            "no-host",
            "this is no job of a code host that is known, so there is nothing to comment on",
            "run it in a job of GitHub Actions, Azure Pipelines or GitLab CI; the comment's text is in `comment.md` of the reports",
        ));
    };
    let redactor = Redactor::new(&context.secrets());
    comment(args, context.comment_only(), redactor.clone(), env).map_err(|failed| failed.masked(&redactor))
}

fn comment(args: &CommentArgs, context: HostContext, redactor: Redactor, env: &Env) -> Result<Ending, Failed> {
    let CommentArgs { run: folder, suite_name, baseline } = args;
    if context.change.pull_request == PullRequest::None {
        return Ok(Ending::because(ExitCode::Passed, context.notes.join("; ")));
    }
    let verdict = stored_verdict(&folder.join(VERDICT))?;
    let run = stored_run(&folder.join(RESULTS), &verdict, &context)?;
    fits(&run, &verdict, suite_name.as_deref(), &context).map_err(refused)?;
    let baseline = match baseline {
        Some(path) => reference::of_file(path, &reference::scales(&run.header.metrics))?,
        None => BaselineState::NotAsked,
    };
    let texts = reports::texts(&run)?;
    let view = reports::view(&run, &verdict, &baseline, texts.as_ref(), redactor);
    // The stored run does not say where its project lies in the repository; usually that is the root.
    let links = Links::new(context.source_links(), "", context.run_url.as_deref());
    // A cancelled run has nothing to say but that an earlier comment is outdated.
    let cancelled = matches!(verdict.exit_code, 130 | 143);
    let publication = Publication {
        key: view.comment_key(),
        comment_markdown: (!cancelled).then(|| text(&comment_markdown(&view, &links), &context)),
        standing: Standing::of(verdict.decision, verdict.exit_code),
        outdated: cancelled
            .then(|| Outdated { why: NoVerdict::Cancelled, since: run.header.started.clone().unwrap_or_default() }),
        summary_markdown: String::new(),
        annotations: Vec::new(),
        outputs: Outputs {
            verdict: Decision::NotEvaluated,
            exit_code: ExitCode::NotEvaluated.code(),
            regressions: 0,
            junit_path: None,
            summary_path: None,
        },
        tests: false,
        check: None,
    };
    let published = publish::post(&context, &publication, env)
        .map_err(|problem| Failed::CouldNot(format!("nothing was published: {problem}")))?;
    match (published.comment_url, published.warnings.first()) {
        (Some(url), _) => Ok(Ending::because(ExitCode::Passed, format!("the comment is {url}"))),
        (None, Some(warning)) => Err(Failed::CouldNot(warning.message.clone())),
        (None, None) if cancelled => Ok(Ending::because(ExitCode::Passed, "no comment: the run was cancelled")),
        (None, None) => Ok(Ending::because(ExitCode::Passed, published.notes.join("; "))),
    }
}

/// Below the verdict, in the same box: whose word it is.
fn text(comment: &str, context: &HostContext) -> String {
    if context.change.event == FOLLOWING {
        return comment.replacen("\n\n", &format!("\n>\n> ⚠️ {NOT_OURS}\n\n"), 1);
    }
    comment.to_owned()
}

fn refused(why: String) -> Failed {
    Failed::CouldNot(format!("no comment: {why}"))
}

/// A file of that size at most, which is neither a link nor a device. `None`: there is none.
fn plain(path: &Path, limit: u64) -> Result<Option<PathBuf>, Failed> {
    let shown = path.display();
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused(format!("{shown}: {error}"))),
        Ok(data) if !data.is_file() => Err(refused(format!("{shown} is no plain file"))),
        Ok(data) if data.len() > limit => Err(refused(format!("{shown} is larger than {limit} bytes"))),
        Ok(_) => Ok(Some(path.to_owned())),
    }
}

fn stored_verdict(path: &Path) -> Result<Verdict, Failed> {
    let Some(path) = plain(path, VERDICT_LIMIT)? else {
        let message = format!("there is no {}", path.display());
        return Err(Failed::usage(
            "no-verdict",
            message,
            "name the folder of a run's reports, with `json` among its formats",
        ));
    };
    let mut text = String::new();
    let read = std::fs::File::open(&path).and_then(|file| file.take(VERDICT_LIMIT).read_to_string(&mut text));
    read.map_err(|error| refused(format!("{}: {error}", path.display())))?;
    let stored = read_verdict(&text).map_err(|error| refused(format!("{}: {error}", path.display())))?;
    Ok(stored.verdict)
}

/// The run behind the verdict. Without it there is a comment without cases' texts, but only where the run is of this very job: nothing
/// else says which commit it is of.
fn stored_run(path: &Path, verdict: &Verdict, context: &HostContext) -> Result<Run, Failed> {
    match plain(path, RESULTS_LIMIT)? {
        Some(path) => read_results(&path).map_err(|error| refused(error.to_string())),
        None if context.change.event == FOLLOWING => {
            Err(refused(format!("there is no {}, which says of which commit the run is", path.display())))
        }
        None => {
            let metrics = verdict.metrics.clone();
            let header = RunHeader { suite: verdict.suite.clone(), metrics, ..RunHeader::default() };
            Ok(Run { header, ..Run::default() })
        }
    }
}

/// # Errors
/// The run is not what may be commented on here, and why.
fn fits(run: &Run, verdict: &Verdict, suite: Option<&str>, context: &HostContext) -> Result<(), String> {
    let header = &run.header;
    if header.suite != verdict.suite {
        return Err(format!("{VERDICT} is of the suite `{}`, {RESULTS} of `{}`", verdict.suite, header.suite));
    }
    if let Some(wanted) = suite.filter(|wanted| *wanted != verdict.suite) {
        return Err(format!("the run is of the suite `{}`, not of `{wanted}`", verdict.suite));
    }
    if header.shard.is_some() || verdict.shard.is_some() {
        return Err("this is one shard of a run, which decides nothing; `scoregate merge` joins them".to_owned());
    }
    let named = header.head.as_deref().or(header.commit.as_deref());
    match (named, context.change.head_sha.as_deref()) {
        (Some(named), Some(head)) if named.eq_ignore_ascii_case(head) => Ok(()),
        (Some(named), Some(head)) => Err(format!("the run is of commit {named}, and this is about commit {head}")),
        (None, Some(head)) if context.change.event == FOLLOWING => {
            Err(format!("the run does not say that it is of commit {head}"))
        }
        (None, _) | (_, None) => Ok(()),
    }
}
