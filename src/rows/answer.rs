//! A recorded answer: text, contexts, latency and tokens as a row holds them.

use std::time::Duration;

use serde_json::Value;

use super::value::texts_of;
use super::{Found, ListRule, contexts_of, number_of, text_of};
use crate::domain::{Answer, Context, Usage};

/// The parts as they were found.
pub(crate) struct AnswerParts<'r> {
    pub text: &'r Found<'r>,
    pub contexts: &'r Found<'r>,
    pub contexts_rule: &'r ListRule,
    pub context_ids: &'r Found<'r>,
    pub context_ids_rule: &'r ListRule,
    pub latency_ms: &'r Found<'r>,
    pub prompt_tokens: &'r Found<'r>,
    pub completion_tokens: &'r Found<'r>,
    /// The row's `usage`, where the tokens have no columns of their own.
    pub usage: Option<&'r Value>,
}

/// The answer; `None` where its text is null or not there. An empty text is an answer: a bad one.
///
/// # Errors
/// What is wrong with which part.
pub(crate) fn answer_from(parts: &AnswerParts<'_>) -> Result<Option<Answer>, String> {
    let Some(text) = text_of("answer", parts.text)? else { return Ok(None) };
    let latency = match number_of("latency_ms", parts.latency_ms)? {
        None => None,
        Some(milliseconds) => Some(
            Duration::try_from_secs_f64(milliseconds / 1_000.0)
                .map_err(|_| "`latency_ms` is no time: it must be 0 or more milliseconds".to_owned())?,
        ),
    };
    let contexts = contexts(parts)?;
    let (usage, half_counted) = usage(parts)?;
    Ok(Some(Answer { text, contexts, latency, usage, half_counted, ..Answer::default() }))
}

fn contexts(parts: &AnswerParts<'_>) -> Result<Vec<Context>, String> {
    let mut contexts = contexts_of("contexts", parts.contexts, parts.contexts_rule)?;
    let ids = texts_of("context_ids", parts.context_ids, parts.context_ids_rule)?;
    if contexts.is_empty() {
        return Ok(ids.into_iter().map(|id| Context { id: Some(id), ..Context::default() }).collect());
    }
    if !ids.is_empty() && ids.len() != contexts.len() {
        return Err(format!("there are {} contexts and {} context ids", contexts.len(), ids.len()));
    }
    for (context, id) in contexts.iter_mut().zip(ids) {
        context.id = Some(id);
    }
    Ok(contexts)
}

/// The tokens, and whether only one of the two counts is known.
fn usage(parts: &AnswerParts<'_>) -> Result<(Usage, bool), String> {
    let from_usage = |names: [&str; 2]| {
        names.into_iter().find_map(|name| parts.usage?.get(name)).map_or(Found::Absent, |value| Found::One(value, None))
    };
    let count = |field: &str, found: &Found<'_>, names: [&str; 2]| {
        let number = match found {
            Found::Absent => number_of(field, &from_usage(names))?,
            found => number_of(field, found)?,
        };
        match number {
            None => Ok(None),
            Some(number) if number >= 0.0 && number.fract() == 0.0 && number < 9e15 => Ok(Some(number as u64)),
            Some(_) => Err(format!("`{field}` is no number of tokens")),
        }
    };
    let prompt = count("prompt_tokens", parts.prompt_tokens, ["prompt_tokens", "input_tokens"])?;
    let completion = count("completion_tokens", parts.completion_tokens, ["completion_tokens", "output_tokens"])?;
    Ok(Usage::counted(prompt, completion))
}
