//! The settings that all judges share.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::threshold;
use super::super::{BuildContext, Ready, Way, spec};
use super::ask::{Judge, Rule};
use super::prompt::Template;
use crate::diagnostic::Diagnostics;
use crate::provider::Model;
use crate::suite::{Block, Draft};
use crate::text::suggest::{did_you_mean, list};

/// Asks a model for a verdict.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The judge: a key of `models`.
    model: String,
    /// A case passes at this score or better.
    threshold: Option<f64>,
    /// What to ask, instead of the built-in text: with `{{ input }}`, `{{ answer }}`, `{{ contexts }}`, `{{ reference }}`, which are
    /// put in as escaped data. How to reply is always added.
    prompt: Option<String>,
}

/// Checks the settings and makes the evaluator.
pub(super) fn build(
    block: &Block,
    rule: &'static Rule,
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mark = threshold(block, rule.info, settings.threshold, diagnostics);
    let model = model(block, &settings.model, context, diagnostics);
    let template = template(block, rule, settings.prompt.as_deref(), diagnostics);
    let (Ok(mark), Some(model), Some(template), true) = (mark, model, template, sound) else { return None };
    let judge = Judge {
        rule,
        metric: block.name.clone(),
        pass_mark: mark.or(rule.info.pass_mark),
        template,
        model,
        deadlines: context.deadlines,
        batch_size: context.batch_size,
    };
    let mut spec = spec(block, rule.info, mark);
    if let Some(fingerprint) = &mut spec.fingerprint {
        fingerprint.0.insert("prompt".to_owned(), judge.prompt_digest().to_string());
        if judge.packing().is_some() {
            // Neighbours in a request may move a verdict: another way of measuring.
            fingerprint.0.insert("batch_size".to_owned(), judge.batch_size.to_string());
            fingerprint.0.insert("pack".to_owned(), judge.pack_digest().to_string());
        }
        fingerprint.0.extend(judge.model.fingerprint.0.clone());
    }
    Some(Ready { spec, info: rule.info, way: Way::Asking(Box::new(judge)) })
}

fn model(block: &Block, name: &str, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Model> {
    if let Some(model) = context.models.get(name) {
        return Some(model.clone());
    }
    let names = || context.models.keys().map(String::as_str);
    let help = match did_you_mean(name, names()) {
        Some(help) => help,
        None if context.models.is_empty() => {
            format!("add it: `models: {{ {name}: {{ provider: openai, model: … }} }}`")
        }
        None => format!("there are {}", list(names(), "and")),
    };
    let message = format!("evaluator `{}` asks the model `{name}`, which is not under `models`", block.name);
    diagnostics.push(block.problem("/model", "unknown-model", message).help(help));
    None
}

fn template(block: &Block, rule: &Rule, own: Option<&str>, diagnostics: &mut Diagnostics) -> Option<Template> {
    let text = own.unwrap_or(rule.template);
    let problem = match Template::parse(text) {
        Ok(template) if template.shows_the_answer() => return Some(template),
        Ok(_) => block
            .problem("/prompt", "missing-placeholder", "the prompt does not show the judge the answer")
            .help("put `{{ answer }}` where the answer belongs"),
        Err(error) => block
            .problem("/prompt", "unknown-placeholder", error)
            .help("there are `{{ input }}`, `{{ answer }}`, `{{ contexts }}` and `{{ reference }}`"),
    };
    diagnostics.push(problem);
    None
}
