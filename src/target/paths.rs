//! Where the parts of an answer stand in a target's JSON.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::diagnostic::Diagnostics;
use crate::domain::{Answer, Context, FailureKind, RetryClass, Usage};
use crate::net::{Rejection, first_words};
use crate::suite::Block;
use crate::text::jsonpath::JsonPath;

/// Where the tokens are counted, as JSONPaths.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UsagePaths {
    /// Such as `$.usage.prompt_tokens`.
    prompt_tokens: Option<String>,
    /// Such as `$.usage.completion_tokens`.
    completion_tokens: Option<String>,
}

/// The paths as the suite writes them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written<'s> {
    pub(super) answer: Option<&'s str>,
    pub(super) contexts: Option<&'s str>,
    pub(super) context_ids: Option<&'s str>,
    pub(super) usage: Option<&'s UsagePaths>,
}

/// The paths, checked.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// `None`: the whole body, as text.
    answer: Option<JsonPath>,
    contexts: Option<JsonPath>,
    context_ids: Option<JsonPath>,
    prompt_tokens: Option<JsonPath>,
    completion_tokens: Option<JsonPath>,
}

impl Paths {
    /// `None` after pushing diagnostics.
    pub(super) fn build(block: &Block, written: Written<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let Written { answer, contexts, context_ids, usage } = written;
        let mut sound = true;
        let mut path = |pointer: &str, text: Option<&str>| {
            let parsed = JsonPath::parse(text?);
            if let Err(error) = &parsed {
                diagnostics.push(block.problem(pointer, "json-path", error.to_string()));
                sound = false;
            }
            parsed.ok()
        };
        let paths = Self {
            answer: path("/answer", answer),
            contexts: path("/contexts", contexts),
            context_ids: path("/context_ids", context_ids),
            prompt_tokens: path("/usage/prompt_tokens", usage.and_then(|usage| usage.prompt_tokens.as_deref())),
            completion_tokens: path(
                "/usage/completion_tokens",
                usage.and_then(|usage| usage.completion_tokens.as_deref()),
            ),
        };
        sound.then_some(paths)
    }

    /// The answer in `body`; `who` answered, for messages.
    ///
    /// # Errors
    /// Everything that is not exactly one text where the answer should be; contexts and tokens of another form.
    pub(super) fn read(&self, body: &[u8], who: &str) -> Result<Answer, Rejection> {
        if !self.any() {
            return whole(body, who);
        }
        let value: Value = serde_json::from_slice(body).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            malformed(format!("{who} did not answer with JSON ({place}): {}", quoted(body)))
        })?;
        let text = match &self.answer {
            Some(path) => answer(path, &value, body, who)?,
            None => whole(body, who)?.text,
        };
        let contexts = self.contexts(&value).map_err(|why| malformed(format!("the answer of {who}: {why}")))?;
        let usage = self.usage(&value).map_err(|why| malformed(format!("the answer of {who}: {why}")))?;
        let (usage, half_counted) = usage;
        Ok(Answer { text, contexts, usage, half_counted, ..Answer::default() })
    }

    fn any(&self) -> bool {
        let Self { answer, contexts, context_ids, prompt_tokens, completion_tokens } = self;
        [answer, contexts, context_ids, prompt_tokens, completion_tokens].into_iter().any(Option::is_some)
    }

    /// Whether passages are looked for.
    pub(super) fn has_contexts(&self) -> bool {
        self.contexts.is_some()
    }

    fn contexts(&self, value: &Value) -> Result<Vec<Context>, String> {
        let mut contexts = match &self.contexts {
            Some(path) => items(path, value).into_iter().map(|item| context(path, item)).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let Some(path) = &self.context_ids else { return Ok(contexts) };
        let ids: Vec<String> = items(path, value).into_iter().map(|item| id(path, item)).collect::<Result<_, _>>()?;
        if self.contexts.is_none() {
            return Ok(ids.into_iter().map(|id| Context { id: Some(id), ..Context::default() }).collect());
        }
        if ids.len() != contexts.len() {
            return Err(format!("there are {} contexts and {} context ids", contexts.len(), ids.len()));
        }
        for (context, id) in contexts.iter_mut().zip(ids) {
            context.id = Some(id);
        }
        Ok(contexts)
    }

    /// The tokens, and whether only one of the two counts is known.
    fn usage(&self, value: &Value) -> Result<(Usage, bool), String> {
        let prompt = tokens(self.prompt_tokens.as_ref(), value)?;
        let completion = tokens(self.completion_tokens.as_ref(), value)?;
        Ok(Usage::counted(prompt, completion))
    }
}

/// The body itself. A page for people is no answer.
fn whole(body: &[u8], who: &str) -> Result<Answer, Rejection> {
    let text =
        std::str::from_utf8(body).map_err(|_| malformed(format!("{who} did not answer in UTF-8: {}", quoted(body))))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(Answer { text: text.to_owned(), ..Answer::default() })
}

/// Exactly one text. An empty one is an answer, a bad one; nothing, null, or anything else is none.
fn answer(path: &JsonPath, value: &Value, body: &[u8], who: &str) -> Result<String, Rejection> {
    let place = format!("`{}` in the answer of {who}", path.as_str());
    match path.query(value).as_slice() {
        [Value::String(text)] => Ok(text.clone()),
        [Value::Null] => {
            let why = format!("{place} is null: {}", quoted(body));
            Err(Rejection::new(FailureKind::Empty, RetryClass::Case, why))
        }
        [] => Err(malformed(format!("{place} finds nothing: {}", quoted(body)))),
        [other] => Err(malformed(format!("{place} is {}, not a text: {}", kind_of(other), quoted(body)))),
        many => Err(malformed(format!("{place} finds {} values instead of one text", many.len()))),
    }
}

/// What a path selects; a list that it selects as a whole is taken apart; null and nothing are no items.
fn items<'v>(path: &JsonPath, value: &'v Value) -> Vec<&'v Value> {
    match path.query(value).as_slice() {
        [Value::Array(items)] => items.iter().collect(),
        [Value::Null] => Vec::new(),
        nodes => nodes.to_vec(),
    }
}

/// A text, or a mapping with `text` and perhaps `id` and `score`.
fn context(path: &JsonPath, item: &Value) -> Result<Context, String> {
    let wrong = |what: &str| format!("`{}` finds {what} among the contexts", path.as_str());
    match item {
        Value::String(text) => Ok(Context { text: text.clone(), ..Context::default() }),
        Value::Object(map) => {
            let Some(Value::String(text)) = map.get("text") else { return Err(wrong("a mapping without a `text`")) };
            let id = match map.get("id") {
                None | Some(Value::Null) => None,
                Some(value) => Some(id(path, value)?),
            };
            let score = map.get("score").and_then(Value::as_f64);
            Ok(Context { id, text: text.clone(), score })
        }
        other => Err(wrong(kind_of(other))),
    }
}

fn id(path: &JsonPath, item: &Value) -> Result<String, String> {
    match item {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(format!("`{}` finds {} among the context ids", path.as_str(), kind_of(other))),
    }
}

/// Nothing there: not counted.
fn tokens(path: Option<&JsonPath>, value: &Value) -> Result<Option<u64>, String> {
    let Some(path) = path else { return Ok(None) };
    match path.query(value).as_slice() {
        [] | [Value::Null] => Ok(None),
        [one] => one.as_u64().map(Some).ok_or_else(|| format!("`{}` is no number of tokens", path.as_str())),
        many => Err(format!("`{}` finds {} values instead of one number", path.as_str(), many.len())),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

fn quoted(body: &[u8]) -> String {
    match first_words(body) {
        words if words.is_empty() => "(nothing)".to_owned(),
        words => words,
    }
}

/// The same request would get the same answer: no retry.
pub(super) fn malformed(message: String) -> Rejection {
    Rejection::new(FailureKind::Malformed, RetryClass::Case, message)
}
