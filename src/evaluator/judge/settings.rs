//! What all judges share: their settings, and how a judge (or a panel of them) is made of these.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::super::embedding::Space;
use super::super::mark::mark as threshold;
use super::super::{BuildContext, Evaluator, Info, Ready, Way, spec};
use super::ask::{Judge, Scale};
use super::form::Form;
use super::panel::{Combine, Panel};
use super::prompt::Template;
use super::reading::Lenient;
use super::steps::{Stepped, Steps};
use super::talk::Talk;
use crate::diagnostic::Diagnostics;
use crate::domain::{Fingerprint, ScoreKind};
use crate::provider::{Embedder, Model};
use crate::suite::{Block, Draft};
use crate::text::suggest::{did_you_mean, list};

/// One model, or a panel of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Judges {
    One(String),
    Panel(#[schemars(length(min = 2, max = 9))] Vec<String>),
}

/// What every judge has. Flattened into the settings of each, whose schema refuses unknown keys.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(super) struct Common {
    /// The judge: a key of `models`. A list of them is a panel, in which each judges on its own.
    pub model: Judges,
    /// How a panel's scores become one: `majority`, `mean` or `median`. Default: majority for scores of 0 and 1, else mean.
    pub combine: Option<Combine>,
    /// A case passes at this score or better.
    pub threshold: Option<f64>,
}

/// Whose reading of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Compat {
    /// One verdict in the required form, or none.
    #[default]
    Scoregate,
    /// The number that LlamaIndex has for the same reply.
    Llamaindex,
}

/// Asks a model for a verdict.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// What to ask, instead of the built-in text: with `{{ input }}`, `{{ answer }}`, `{{ contexts }}`, `{{ reference }}`, which are
    /// put in as escaped data. How to reply is always added.
    prompt: Option<String>,
    /// Whose way of asking for and reading a reply: `scoregate` (strict, the default) or `llamaindex`, which has the same number for the
    /// same reply as LlamaIndex.
    #[serde(default)]
    compat: Compat,
}

/// What makes one judge with a single verdict different from another.
pub(super) struct Rule {
    pub info: &'static Info,
    pub template: &'static str,
    /// Without contexts the score is the lowest, and nothing is asked.
    pub needs_contexts: bool,
    pub form: Form,
    /// What a judge's number is divided by.
    pub divided: f64,
    /// How LlamaIndex reads it.
    pub lenient: Lenient,
}

impl Rule {
    fn form(&self, compat: Compat) -> Form {
        match compat {
            Compat::Scoregate => self.form.clone(),
            Compat::Llamaindex => Form::Compat(self.lenient),
        }
    }
}

/// A judge with a single verdict, as far as it is the same for all models of a panel.
pub(super) struct Single {
    pub needs_contexts: bool,
    pub kind: ScoreKind,
    pub form: Form,
    pub scale: Scale,
    pub template: Template,
}

/// Checks the shared settings and makes the evaluator of a rule.
pub(super) fn build(
    block: &Block,
    rule: &'static Rule,
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { common, prompt, compat } = settings;
    build_of(block, rule, (common, sound), (prompt.as_deref(), compat), context, diagnostics)
}

/// The same of settings that are read already.
pub(super) fn build_of(
    block: &Block,
    rule: &'static Rule,
    (common, sound): (Common, bool),
    (prompt, compat): (Option<&str>, Compat),
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let template = template(block, rule, prompt, diagnostics);
    let single = template.map(|template| Single {
        needs_contexts: rule.needs_contexts,
        kind: rule.info.score,
        form: rule.form(compat),
        scale: Scale::Divided(rule.divided),
        template,
    });
    judged(block, rule.info, (&common, sound), single, context, diagnostics)
}

/// The evaluator of a judge with a single verdict. `single`: `None` where something is wrong with it, which is told already.
pub(super) fn judged(
    block: &Block,
    info: &'static Info,
    shared: (&Common, bool),
    single: Option<Single>,
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let kind = single.as_ref().map_or(info.score, |single| single.kind);
    let draft = panel(block, info, kind, shared, context, diagnostics);
    let (single, draft) = (single?, draft?);
    let (mark, batch_size) = (draft.mark, if draft.models.len() > 1 { 1 } else { context.batch_size });
    let make = |model: Model| {
        let judge = Judge {
            info,
            needs_contexts: single.needs_contexts,
            kind: single.kind,
            form: single.form.clone(),
            scale: single.scale.clone(),
            pass_mark: mark,
            template: single.template.clone(),
            talk: Talk { metric: block.name.clone(), model, deadlines: context.deadlines },
            batch_size,
        };
        let mut parts = Fingerprint::default().with("prompt", judge.prompt_digest());
        if judge.packing().is_some() {
            // Neighbours in a request may move a verdict: another way of measuring.
            parts = parts.with("batch_size", judge.batch_size).with("pack", judge.pack_digest());
        }
        (Box::new(judge) as Box<dyn Evaluator>, parts)
    };
    Some(draft.ready(block, info, make))
}

/// The evaluator of a judge with several questions. `steps` and `space`: `None` where something is wrong, which is told already.
pub(super) fn stepped(
    block: &Block,
    (info, kind): (&'static Info, ScoreKind),
    shared: (&Common, bool),
    (steps, space): (Option<Arc<dyn Steps>>, Option<Option<Space>>),
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let draft = panel(block, info, kind, shared, context, diagnostics);
    let (steps, space, draft) = (steps?, space?, draft?);
    let mark = draft.mark;
    let make = |model: Model| {
        let stepped = Stepped {
            info,
            kind,
            pass_mark: mark,
            talk: Talk { metric: block.name.clone(), model, deadlines: context.deadlines },
            space: space.clone(),
            steps: Arc::clone(&steps),
        };
        let mut parts = Fingerprint::default().with("prompt", stepped.prompt_digest());
        if let Some(space) = &space {
            parts = parts.with("embedding", space.described());
        }
        (Box::new(stepped) as Box<dyn Evaluator>, parts)
    };
    Some(draft.ready(block, info, make))
}

/// Shared settings that are in order.
struct Shared {
    models: Vec<Model>,
    combine: Combine,
    /// Of one judge's scores.
    kind: ScoreKind,
    mark: Option<f64>,
}

/// Checks the shared settings; `None` after pushing every problem.
fn panel(
    block: &Block,
    info: &'static Info,
    kind: ScoreKind,
    (common, sound): (&Common, bool),
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Shared> {
    let binary = kind == ScoreKind::Binary;
    let several = matches!(common.model, Judges::Panel(_));
    let combine = common.combine.unwrap_or(if binary { Combine::Majority } else { Combine::Mean });
    let kind_of_all = if binary && several && combine != Combine::Majority { ScoreKind::UNIT } else { kind };
    let mark = threshold(block, &Info { score: kind_of_all, ..*info }, common.threshold, diagnostics);
    let names: Vec<(String, &String)> = match &common.model {
        Judges::One(name) => vec![("/model".to_owned(), name)],
        Judges::Panel(names) => names.iter().enumerate().map(|(at, name)| (format!("/model/{at}"), name)).collect(),
    };
    let models: Vec<Option<Model>> =
        names.iter().map(|(place, name)| model(block, place, name, context, diagnostics)).collect();
    let mut in_order = sound;
    let mut refuse = |place: &str, code, message: String, help: &str| {
        diagnostics.push(block.problem(place, code, message).help(help));
        in_order = false;
    };
    let twice =
        names.iter().enumerate().find(|(at, (_, name))| names.iter().skip(at + 1).any(|(_, other)| other == name));
    if let Some((_, (place, name))) = twice {
        let why = format!("the model `{name}` stands twice in the panel of `{}`", block.name);
        refuse(place, "conflict", why, "a model counts once: give another one, or leave it out");
    }
    match (several, common.combine) {
        (false, Some(_)) => {
            let why =
                format!("`combine` of `{}` says how several judges become one score, and there is one", block.name);
            refuse("/combine", "conflict", why, "remove it, or give `model` a list of models");
        }
        (true, Some(Combine::Majority)) if !binary => {
            let why = format!("`combine: majority` of `{}` is for scores of 0 and 1", block.name);
            refuse("/combine", "conflict", why, "write `median` or `mean`");
        }
        (true, _) if combine == Combine::Majority && names.len().is_multiple_of(2) => {
            let why = format!("{} judges of `{}` may have no majority", names.len(), block.name);
            refuse("/model", "conflict", why, "give an odd number of models, or write `combine: mean`");
        }
        _ => {}
    }
    let models: Option<Vec<Model>> = models.into_iter().collect();
    let (Some(models), Ok(mark), true) = (models, mark, in_order) else { return None };
    let usual = if kind_of_all == kind { info.pass_mark } else { info.pass_mark.map(|_| more_than_half(models.len())) };
    Some(Shared { models, combine, kind: kind_of_all, mark: mark.or(usual) })
}

/// The least mean of this many zeros and ones that is above a half: a tie is no pass.
fn more_than_half(judges: usize) -> f64 {
    // As the mean is computed, so that they are the same to the last bit.
    (judges / 2 + 1) as f64 / judges as f64
}

impl Shared {
    fn ready(
        self,
        block: &Block,
        info: &'static Info,
        make: impl Fn(Model) -> (Box<dyn Evaluator>, Fingerprint),
    ) -> Ready {
        let mut spec = spec(block, info, self.mark);
        spec.kind = self.kind;
        spec.pass_mark = self.mark;
        let several = self.models.len() > 1;
        let mut known: Vec<Fingerprint> = Vec::new();
        let mut members = Vec::new();
        let mut parts = Fingerprint::default();
        for model in self.models {
            known.push(model.fingerprint.clone());
            let name = Arc::clone(&model.name);
            let (judge, own) = make(model);
            parts = own;
            members.push((name, judge));
        }
        if let Some(fingerprint) = &mut spec.fingerprint {
            fingerprint.0.extend(parts.0);
            fingerprint.0.extend(joined(&known).0);
            if several {
                fingerprint.0.insert("combine".to_owned(), format!("{:?}", self.combine).to_lowercase());
            }
        }
        let evaluator: Box<dyn Evaluator> = match members.pop() {
            Some((_, only)) if members.is_empty() => only,
            last => {
                members.extend(last);
                let (combine, kind, pass_mark) = (self.combine, self.kind, self.mark);
                Box::new(Panel { members, combine, kind, direction: info.direction, pass_mark })
            }
        };
        Ready { spec, info, way: Way::Asking(evaluator) }
    }
}

/// The parts of several models, each as a list; of one, as they are.
fn joined(known: &[Fingerprint]) -> Fingerprint {
    let mut all = Fingerprint::default();
    for part in known.iter().flat_map(|one| one.0.keys()) {
        let values: Vec<&str> = known.iter().map(|one| one.0.get(part).map_or("", String::as_str)).collect();
        let value = match values.as_slice() {
            [only] => (*only).to_owned(),
            _ => Value::from(values).to_string(),
        };
        all = all.with(part, value);
    }
    all
}

fn model(
    block: &Block,
    place: &str,
    name: &str,
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Model> {
    if let Some(model) = context.models.get(name) {
        return Some(model.clone());
    }
    let names = || context.models.keys().map(String::as_str);
    let help = match did_you_mean(name, names()) {
        _ if context.embedders.contains_key(name) => {
            format!("`{name}` embeds texts and cannot judge: name a model of another provider")
        }
        Some(help) => help,
        None if context.models.is_empty() => {
            format!("add it: `models: {{ {name}: {{ provider: openai, model: … }} }}`")
        }
        None => format!("there are {}", list(names(), "and")),
    };
    let message = format!("evaluator `{}` asks the model `{name}`, which is not under `models`", block.name);
    diagnostics.push(block.problem(place, "unknown-model", message).help(help));
    None
}

/// The embedding model that `name` (written at `place`) means; `None` after pushing a problem.
pub(in crate::evaluator) fn embedder(
    block: &Block,
    place: &str,
    name: &str,
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Embedder> {
    if let Some(embedder) = context.embedders.get(name) {
        return Some(embedder.clone());
    }
    let names = || context.embedders.keys().map(String::as_str);
    let help = match did_you_mean(name, names()) {
        _ if context.models.contains_key(name) => {
            format!("`{name}` is a chat model; texts are embedded by one with `provider: openai_embeddings`")
        }
        Some(help) => help,
        None if context.embedders.is_empty() => {
            format!("add it: `models: {{ {name}: {{ provider: openai_embeddings, model: … }} }}`")
        }
        None => format!("there are {}", list(names(), "and")),
    };
    let message =
        format!("evaluator `{}` embeds texts with the model `{name}`, which is not under `models`", block.name);
    diagnostics.push(block.problem(place, "unknown-model", message).help(help));
    None
}

fn template(block: &Block, rule: &Rule, own: Option<&str>, diagnostics: &mut Diagnostics) -> Option<Template> {
    let text = own.unwrap_or(rule.template);
    let judges_contexts = !rule.info.needs.contains(&super::super::Needs::Answer);
    let problem = match Template::parse(text) {
        Ok(template) if judges_contexts && template.shows_contexts() => return Some(template),
        Ok(template) if !judges_contexts && template.shows_the_answer() => return Some(template),
        Ok(_) if judges_contexts => block
            .problem("/prompt", "missing-placeholder", "the prompt does not show the judge the contexts")
            .help("put `{{ contexts }}` where the contexts belong"),
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

/// A text of the suite that must say something; `None` after pushing a problem.
pub(super) fn words<'t>(block: &Block, key: &str, text: &'t str, diagnostics: &mut Diagnostics) -> Option<&'t str> {
    let text = text.trim();
    if text.is_empty() {
        let message = format!("`{key}` of `{}` is empty, so there is nothing to judge by", block.name);
        diagnostics
            .push(block.problem(&format!("/{key}"), "empty-text", message).help("write what the answer must keep"));
        return None;
    }
    Some(text)
}
