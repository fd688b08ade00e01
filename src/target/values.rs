//! What a template may take from a case. References and expected contexts are not among it: the target must not see the solution.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::domain::{Case, Failure, FailureKind};
use crate::suite::Block;
use crate::text::template::{FillError, JsonTemplate, Template, TemplateError};

/// The names that exist in a target's templates.
pub(super) const NAMES: [&str; 6] = ["input", "id", "contexts", "tags", "trial", "metadata.*"];

/// How contexts are put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContextForm {
    /// A list of texts.
    List,
    /// One text, with a blank line between passages: for prompts.
    Text,
}

/// The value behind a name, for one case and trial.
pub(super) fn lookup<'c>(
    case: &'c Case,
    trial: u32,
    form: ContextForm,
) -> impl Fn(&str) -> Option<Cow<'c, Value>> + use<'c> {
    move |name| match name {
        "input" => Some(Cow::Owned(Value::from(case.input.as_str()))),
        "id" => Some(Cow::Owned(Value::from(&*case.id))),
        "trial" => Some(Cow::Owned(Value::from(trial))),
        "tags" => Some(Cow::Owned(json!(case.tags))),
        "contexts" => {
            let texts: Vec<&str> = case.contexts.iter().map(|context| context.text.as_str()).collect();
            Some(Cow::Owned(match form {
                ContextForm::List => json!(texts),
                ContextForm::Text => Value::from(texts.join("\n\n")),
            }))
        }
        other => metadata(case, other.strip_prefix("metadata.")?).map(Cow::Borrowed),
    }
}

/// `topic`, or `a.b` for a value inside a mapping.
fn metadata<'c>(case: &'c Case, path: &str) -> Option<&'c Value> {
    if let Some(value) = case.metadata.get(path) {
        return Some(value);
    }
    let mut steps = path.split('.');
    let first = case.metadata.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.get(step))
}

/// The template that stands at `pointer`; `None` after pushing a diagnostic.
pub(super) fn template(block: &Block, pointer: &str, text: &str, diagnostics: &mut Diagnostics) -> Option<Template> {
    Template::parse(text, &NAMES).map_err(|error| diagnostics.push(problem(block, pointer, text, &error))).ok()
}

/// The templates inside the value at `pointer`; `None` after pushing diagnostics.
pub(super) fn json_template(
    block: &Block,
    pointer: &str,
    value: &Value,
    diagnostics: &mut Diagnostics,
) -> Option<JsonTemplate> {
    match JsonTemplate::parse(value, &NAMES) {
        Ok(template) => Some(template),
        Err(errors) => {
            for found in errors {
                let text = value.pointer(&found.pointer).and_then(Value::as_str).unwrap_or_default();
                diagnostics.push(problem(block, &format!("{pointer}{}", found.pointer), text, &found.error));
            }
            None
        }
    }
}

/// At the placeholder itself where the text stands in the file as it is.
fn problem(block: &Block, pointer: &str, text: &str, error: &TemplateError) -> Diagnostic {
    let diagnostic = block.problem(pointer, "template", error.message.clone());
    let diagnostic = match &error.help {
        Some(help) => diagnostic.help(help.clone()),
        None => diagnostic,
    };
    match placeholder(block, pointer, text, error.column) {
        Some(span) => diagnostic.at(&block.source, span),
        None => diagnostic,
    }
}

fn placeholder(block: &Block, pointer: &str, text: &str, column: usize) -> Option<Span> {
    let span = *block.spans.get(pointer)?;
    let skip = usize::try_from(span.line.checked_sub(block.source.first_line)?).ok()?;
    let line = block.source.text.lines().nth(skip)?;
    let start = usize::try_from(span.column.checked_sub(1)?).ok()?;
    let written: String = line.chars().skip(start).collect();
    // Plain or quoted, on one line, without escapes.
    let offset = ["", "\"", "'"].iter().position(|quote| written.starts_with(&format!("{quote}{text}")))?.min(1);
    let length =
        text.chars().skip(column).collect::<String>().find("}}").and_then(|end| end.checked_add(2)).unwrap_or(2);
    let column = u32::try_from(column.checked_add(offset)?).ok()?;
    Some(Span::new(span.line, span.column.checked_add(column)?, u32::try_from(length).ok()?))
}

/// A case does not have what the suite's template wants: nobody was asked.
pub(super) fn unfilled(error: &FillError) -> Failure {
    Failure::infra(FailureKind::Missing, format!("the request could not be made: {error}"))
}
