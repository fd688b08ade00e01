//! A model with a prompt of ours: for comparing prompts and models without an application around them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::one_call::OneCall;
use super::values::{ContextForm, lookup, template, unfilled};
use super::{BuildContext, Kind, Target};
use crate::diagnostic::Diagnostics;
use crate::domain::{Answer, Case, Failure};
use crate::net::{Call, Deadlines, Purpose, Rejection, Response};
use crate::provider::{ChatRequest, Message, Model, Role};
use crate::suite::{Block, Draft, Period};
use crate::text::suggest;
use crate::text::template::{FillError, Template};

pub(super) const KIND: Kind = Kind {
    name: "chat",
    summary: "a model of `models`, asked with a prompt",
    schema: || schemars::schema_for!(ChatSettings),
    build,
};

const PROMPT: &str = "{{ input }}";

/// A model, asked with a prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChatSettings {
    /// The model: a key of `models`.
    model: String,
    /// What the user says (default: `{{ input }}`); `{{ contexts }}` are the case's passages with blank lines between.
    prompt: Option<String>,
    /// What the system message says (default: there is none).
    system: Option<String>,
    /// Time for one attempt (default: the model's, else the run's).
    timeout: Option<Period>,
}

struct Chat {
    model: Model,
    prompt: Template,
    system: Option<Template>,
    deadlines: Deadlines,
    own_timeout: bool,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Box<dyn Target>> {
    let Draft { settings, sound } = block.draft::<ChatSettings>(diagnostics)?;
    let prompt = template(block, "/prompt", settings.prompt.as_deref().unwrap_or(PROMPT), diagnostics);
    let system = match &settings.system {
        Some(text) => template(block, "/system", text, diagnostics).map(Some),
        None => Some(None),
    };
    let model = model(block, &settings.model, context, diagnostics);
    let (model, prompt, system) = (model?, prompt?, system?);
    if !sound {
        return None;
    }
    let own_timeout = settings.timeout.is_some();
    let deadlines = context.deadlines(settings.timeout.map(|period| period.0));
    Some(Box::new(Chat { model, prompt, system, deadlines, own_timeout }))
}

/// A model that is in the suite and could not be built has its own problem already.
fn model(block: &Block, name: &str, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Model> {
    let known = || context.suite.models.iter().map(|model| &*model.name);
    if let Some(model) = context.models.get(name) {
        return Some(model.clone());
    }
    if !known().any(|model| model == name) {
        let problem = block.problem("/model", "unknown-model", format!("there is no model `{name}` under `models`"));
        let help = suggest::did_you_mean(name, known()).unwrap_or_else(|| match suggest::list(known(), "and") {
            list if list.is_empty() => "add a `models` section".to_owned(),
            list => format!("known: {list}"),
        });
        diagnostics.push(problem.help(help));
    }
    None
}

impl OneCall for Chat {
    fn brings_contexts(&self) -> bool {
        false
    }

    fn call(&self, case: &Case, trial: u32) -> Result<Call, Failure> {
        let request = self.request(case, trial).map_err(|error| unfilled(&error))?;
        let mut call = self.model.chat.call(&request);
        if self.own_timeout {
            call.deadlines.whole = self.deadlines.whole;
        }
        Ok(call)
    }

    fn read(&self, case: &Case, call: &Call, response: &Response) -> Result<Answer, Rejection> {
        let reply = self.model.chat.read(call, response)?;
        let contexts = if self.shows_contexts() { case.contexts.clone() } else { Vec::new() };
        let (usage, cost) = (reply.usage, reply.cost);
        // No prompt and no text is without tokens.
        let none_written = usage.completion_tokens == 0 && !reply.text.is_empty();
        let half_counted = !usage.is_empty() && (usage.prompt_tokens == 0 || none_written);
        Ok(Answer { text: reply.text, contexts, usage, half_counted, cost, ..Answer::default() })
    }
}

impl Chat {
    /// True where the model was given the case's passages, so that its answer rests on them.
    fn shows_contexts(&self) -> bool {
        self.prompt.names().chain(self.system.iter().flat_map(Template::names)).any(|name| name == "contexts")
    }

    fn request(&self, case: &Case, trial: u32) -> Result<ChatRequest, FillError> {
        let values = lookup(case, trial, ContextForm::Text);
        let mut messages = Vec::new();
        if let Some(system) = &self.system {
            messages.push(Message { role: Role::System, text: system.render(&values)? });
        }
        messages.push(Message { role: Role::User, text: self.prompt.render(&values)? });
        Ok(ChatRequest {
            messages,
            trial,
            purpose: Purpose::Target,
            deadlines: self.deadlines,
            what: format!("answer to case {}", case.id),
            form: None,
        })
    }
}
