//! A program that scores: one process an answer, or a worker that lives on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ask::{Common, Reach, ready};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::net::{CommandRequest, Dialect, Request};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "command",
    summary: "a program of your own scores the answer: JSON in, JSON out",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer],
    version: 1,
    source: "this project: one JSON object in, one out; `pass`, `score` and `reason` as promptfoo's script assertions have them",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// A program that scores an answer: it is given one line of JSON on standard input (`id`, `metric`, `case` with `id`, `input`,
/// `reference`, `contexts`, `expected_contexts`, `tags` and `metadata`, `answer` with `text` and `contexts`, `trial`, `settings`) and
/// prints one JSON object: `score`, and where it likes `pass` and `reason`; or `skip` or `error` with the reason in words.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    /// Program and arguments, such as `[python3, score.py]`; run in the suite's folder, without a shell.
    #[schemars(length(min = 1))]
    argv: Vec<String>,
    /// `true`: it lives on and answers line after line; each answer says the `id` of its question. Default: one process an answer.
    #[serde(default)]
    worker: bool,
    /// Variables for the program beside PATH, HOME, LANG and their like; it gets no others.
    env: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    common: Common,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { argv, worker, env, common } = settings;
    let environment = block.environment(env.unwrap_or_default(), diagnostics);
    let program = argv.first().filter(|program| !program.trim().is_empty()).cloned();
    if program.is_none() {
        let problem = block.problem("/argv", "program", format!("`{}` names no program", block.name));
        diagnostics.push(problem.help("write the program's name or path first, then its arguments"));
    }
    let folder = context.suite.folder.clone();
    let way = program.zip(environment).map(|(program, (environment, credentials))| {
        let request = move |question: &str| {
            Request::Command(CommandRequest {
                argv: argv.clone(),
                stdin: question.to_owned().into(),
                environment: environment.clone(),
                credentials: credentials.clone(),
                folder: folder.clone(),
                worker,
            })
        };
        Reach { who: format!("`{program}`"), dialect: Dialect::Plain, worker, request: Box::new(request) }
    });
    ready(block, &INFO, (common, sound), way, context, diagnostics)
}
