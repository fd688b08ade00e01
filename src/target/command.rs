//! A program: one process a case. The case's texts reach it as whole arguments or on standard input, never through a shell.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::one_call::OneCall;
use super::paths::{Paths, UsagePaths, Written};
use super::values::{ContextForm, lookup, template, unfilled};
use super::{BuildContext, Kind, Target};
use crate::diagnostic::Diagnostics;
use crate::domain::{Answer, Case, EndpointLimits, Failure, Secret};
use crate::net::{Call, CommandRequest, Deadlines, Dialect, Expected, Purpose, Rejection, Request, Response, Route};
use crate::suite::{Block, Draft, Period};
use crate::text::template::{FillError, Template};

pub(super) const KIND: Kind = Kind {
    name: "command",
    summary: "a program, run once a case",
    schema: || schemars::schema_for!(CommandForm),
    build,
};

/// A program, run once a case in the suite's folder, without a shell.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CommandSettings {
    /// Program and arguments, such as `[python3, app.py, "{{ input }}"]`; each stays one argument. A text may begin with a dash:
    /// put `--` before it, or use standard input.
    #[schemars(length(min = 1))]
    argv: Vec<String>,
    /// What the program gets on standard input (default: json, one line with `id`, `input` and `metadata`).
    stdin: Option<Stdin>,
    /// What the program prints (default: json where `answer` or `contexts` are given, else text: the answer itself).
    stdout: Option<Stdout>,
    /// Where the answer's text is in the JSON that it prints (default: `$.answer`).
    answer: Option<String>,
    /// Where the retrieved passages are, such as `$.contexts[*]`.
    contexts: Option<String>,
    /// Where the passages' ids are.
    context_ids: Option<String>,
    /// Where the tokens are counted.
    usage: Option<UsagePaths>,
    /// Variables for the program beside PATH, HOME, LANG and their like; it gets no others. Keys that it needs are named here.
    env: Option<BTreeMap<String, String>>,
    /// How long it may run (default: the run's `timeout`); then it is killed with everything it started.
    timeout: Option<Period>,
    /// How many may run at the same time, and how often one is started.
    limits: Option<EndpointLimits>,
    /// The version of the application, such as the digest of its image: kept answers are used for the same version alone (default: the
    /// commit that is checked out, with what is changed in it).
    version: Option<String>,
}

/// The settings, or the list of program and arguments alone.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the form of the schema; the two are read apart for better messages")]
enum CommandForm {
    Argv(#[schemars(length(min = 1))] Vec<String>),
    Settings(Box<CommandSettings>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Stdin {
    /// One line: `{"id": …, "input": …, "metadata": {…}}`.
    Json,
    /// The input, as it is.
    Text,
    /// Nothing.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Stdout {
    /// The answer, without the line end at its end.
    Text,
    /// One JSON value that holds the answer.
    Json,
}

struct Command {
    endpoint: Arc<str>,
    argv: Vec<Template>,
    /// The program as the suite writes it, for messages.
    program: String,
    stdin: Stdin,
    stdout: Stdout,
    paths: Paths,
    environment: Vec<(String, String)>,
    credentials: Vec<(String, Secret)>,
    folder: PathBuf,
    deadlines: Deadlines,
    limits: EndpointLimits,
    version: Option<Arc<str>>,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Box<dyn Target>> {
    let short = block.value.is_array().then(|| short_form(block));
    let block = short.as_ref().unwrap_or(block);
    let Draft { settings, sound } = block.draft::<CommandSettings>(diagnostics)?;
    let argv = argv(block, &settings.argv, diagnostics);
    let environment = block.environment(settings.env.unwrap_or_default(), diagnostics);
    let structured = settings.answer.is_some() || settings.contexts.is_some() || settings.context_ids.is_some();
    let stdout = settings.stdout.unwrap_or(if structured { Stdout::Json } else { Stdout::Text });
    if stdout == Stdout::Text && (structured || settings.usage.is_some()) {
        let problem = block.problem("/stdout", "conflict", "a text holds no paths to `answer`, `contexts` or `usage`");
        diagnostics.push(problem.help("write `stdout: json`, or remove the paths"));
        return None;
    }
    let paths = match stdout {
        Stdout::Text => Paths::build(block, Written::default(), diagnostics),
        Stdout::Json => Paths::build(
            block,
            Written {
                answer: Some(settings.answer.as_deref().unwrap_or("$.answer")),
                contexts: settings.contexts.as_deref(),
                context_ids: settings.context_ids.as_deref(),
                usage: settings.usage.as_ref(),
            },
            diagnostics,
        ),
    };
    let (argv, (environment, credentials), paths) = (argv?, environment?, paths?);
    if !sound {
        return None;
    }
    Some(Box::new(Command {
        endpoint: block.name.clone(),
        argv,
        program: settings.argv.first().cloned().unwrap_or_default(),
        stdin: settings.stdin.unwrap_or(Stdin::Json),
        limits: settings.limits.unwrap_or_default(),
        version: context.version(settings.version.as_deref()),
        stdout,
        paths,
        environment,
        credentials,
        folder: context.suite.folder.clone(),
        deadlines: context.deadlines(settings.timeout.map(|period| period.0)),
    }))
}

/// `command: [python3, app.py]` is `command: { argv: [python3, app.py] }`.
fn short_form(block: &Block) -> Block {
    let moved = |pointer: &String| match pointer.strip_prefix('#') {
        None if pointer.is_empty() => String::new(),
        None => format!("/argv{pointer}"),
        Some(key) => format!("#{key}"),
    };
    let spans = block.spans.iter().map(|(pointer, span)| (moved(pointer), *span)).collect();
    Block { value: json!({"argv": block.value}), spans: Arc::new(spans), ..block.clone() }
}

fn argv(block: &Block, written: &[String], diagnostics: &mut Diagnostics) -> Option<Vec<Template>> {
    let parsed: Vec<Option<Template>> = written
        .iter()
        .enumerate()
        .map(|(index, text)| template(block, &format!("/argv/{index}"), text, diagnostics))
        .collect();
    let argv: Vec<Template> = parsed.into_iter().collect::<Option<_>>()?;
    let program = argv.first()?;
    if !program.is_plain() || written.first().is_some_and(|text| text.trim().is_empty()) {
        let problem = block.problem("/argv/0", "program", "the program must be named by the suite, not by the case");
        diagnostics.push(problem.help("write the program's name or path first, then its arguments"));
        return None;
    }
    Some(argv)
}

impl OneCall for Command {
    fn brings_contexts(&self) -> bool {
        self.paths.has_contexts()
    }

    fn call(&self, case: &Case, trial: u32) -> Result<Call, Failure> {
        let request = self.request(case, trial).map_err(|error| unfilled(&error))?;
        Ok(Call {
            request: Request::Command(request),
            endpoint: Arc::clone(&self.endpoint),
            purpose: Purpose::Target,
            dialect: Dialect::Plain,
            deadlines: self.deadlines,
            trial,
            redirects: false,
            route: Route::Direct,
            what: format!("answer to case {}", case.id),
            limits: self.limits,
            version: self.version.clone(),
            expected: Expected::default(),
        })
    }

    fn read(&self, _: &Case, _: &Call, response: &Response) -> Result<Answer, Rejection> {
        let who = format!("`{}`", self.program);
        let answer = self.paths.read(&response.body, &who)?;
        let text = match self.stdout {
            Stdout::Json => answer.text,
            Stdout::Text => without_line_end(&answer.text).to_owned(),
        };
        Ok(Answer { text, ..answer })
    }
}

impl Command {
    fn request(&self, case: &Case, trial: u32) -> Result<CommandRequest, FillError> {
        let values = lookup(case, trial, ContextForm::List);
        let argv = self.argv.iter().map(|part| part.render(&values)).collect::<Result<Vec<_>, _>>()?;
        let stdin = match self.stdin {
            Stdin::None => String::new(),
            Stdin::Text => case.input.clone(),
            Stdin::Json => {
                let row =
                    json!({"id": &*case.id, "input": case.input, "metadata": Value::Object(case.metadata.clone())});
                format!("{row}\n")
            }
        };
        Ok(CommandRequest {
            argv,
            stdin: stdin.into(),
            environment: self.environment.clone(),
            credentials: self.credentials.clone(),
            folder: self.folder.clone(),
            worker: false,
        })
    }
}

fn without_line_end(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line))
}
