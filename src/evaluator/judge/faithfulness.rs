//! Do the contexts support the answer: as a whole, or claim by claim?

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::claims;
use super::form::Form;
use super::prompt::contexts_of;
use super::reading::Lenient;
use super::settings::{Common, Compat, Rule, build_of, stepped};
use super::sheet::Sheet;
use super::steps::{Conversation, Steps, Stop, borrowed, share, told};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "faithfulness",
    summary: "a model judges whether the retrieved contexts support the answer: 1 or 0; with `mode: claims` the supported share of its claims",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer, Needs::Contexts, Needs::Judge],
    version: 1,
    source: "LlamaIndex FaithfulnessEvaluator (0.14): inputs, range and passing, the reply is read strictly; `claims`: ragas Faithfulness (0.4)",
};

/// Of claims.
const SHARE: Info = Info { score: ScoreKind::UNIT, ..INFO };

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Without contexts nothing can be supported: 0 without asking, as LlamaIndex has it.
const RULE: Rule = Rule {
    info: &INFO,
    template: WHOLE,
    needs_contexts: true,
    form: Form::Words,
    divided: 1.0,
    lenient: Lenient::YesAnywhere,
};

const WHOLE: &str = include_str!("prompts/faithfulness.txt");

/// Asks a model whether the contexts support the answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// `verdict`: one question about the whole answer, 1 or 0 (default). `claims`: the answer is taken apart into claims, each is checked
    /// against the contexts, and the score is the supported share, 0 to 1; the reason names the unsupported ones.
    #[serde(default)]
    mode: Mode,
    /// What to ask, instead of the built-in text: with `{{ input }}`, `{{ answer }}`, `{{ contexts }}`, `{{ reference }}`, which are
    /// put in as escaped data. How to reply is always added. For `mode: verdict`.
    prompt: Option<String>,
    /// Whose way of asking for and reading a reply: `scoregate` (strict, the default) or `llamaindex`, which has the same number for the
    /// same reply as LlamaIndex. For `mode: verdict`.
    #[serde(default)]
    compat: Compat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Verdict,
    Claims,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { common, mode, prompt, compat } = settings;
    if mode == Mode::Verdict {
        return build_of(block, &RULE, (common, sound), (prompt.as_deref(), compat), context, diagnostics);
    }
    let own = [("prompt", prompt.is_some()), ("compat", compat == Compat::Llamaindex)];
    let mut steps: Option<Arc<dyn Steps>> = Some(Arc::new(Claims));
    for (key, _) in own.into_iter().filter(|(_, given)| *given) {
        let message = format!("`{key}` of `{}` is for `mode: verdict`", block.name);
        let problem = block.key_problem(&format!("/{key}"), "conflicting-keys", message);
        diagnostics.push(problem.help("remove it, or write `mode: verdict`"));
        steps = None;
    }
    stepped(block, (&SHARE, SHARE.score), (&common, sound), (steps, Some(None)), context, diagnostics)
}

struct Claims;

impl Steps for Claims {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let contexts = contexts_of(talk.subject);
            if contexts.is_empty() {
                let why = "no contexts were retrieved, so nothing can support the answer; no model was asked";
                return Ok(Found { value: 0.0, reason: Some(why.to_owned()) });
            }
            let claims = claims::of_answer(talk).await?;
            if claims.is_empty() {
                // An answer without claims must not pass because nothing was checked.
                let (rubric, _) = WHOLE.split_once("{{").unwrap_or((WHOLE, ""));
                let sheet = Sheet::new(rubric).contexts(contexts).text("the answer", &talk.subject.answer.text);
                let said = talk.verdict(sheet, &Form::Words).await?;
                let why = said.reason.map_or_else(String::new, |reason| format!(": {reason}"));
                return Ok(Found {
                    value: said.value,
                    reason: Some(format!("the answer makes no claim, and was judged as a whole{why}")),
                });
            }
            let verdicts = claims::by_contexts(talk, contexts, &claims).await?;
            let value = share(&verdicts).unwrap_or(f64::NAN);
            let reason = told(&verdicts, &borrowed(&claims), "claims are supported", "unsupported");
            Ok(Found { value, reason: Some(reason) })
        })
    }

    fn prompts(&self) -> Vec<String> {
        let mut prompts = claims::prompts();
        prompts.push(WHOLE.to_owned());
        prompts
    }

    fn forms(&self) -> Vec<Form> {
        vec![Form::Words]
    }
}
