//! Judges behind a name that the provider may point at another model: scores would move, and nothing in the repository would say why.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::suite::Suite;

/// Warns of every judge's model that is no dated version. Models of other services (`base_url`) have names of their own.
pub(super) fn warn(suite: &Suite, problems: &mut Diagnostics) {
    // One judge, or the members of a panel.
    let named = |value: &'_ Value| -> Vec<String> {
        match value {
            Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            value => value.as_str().map(str::to_owned).into_iter().collect(),
        }
    };
    let judges: BTreeSet<String> =
        suite.evaluators.iter().filter_map(|block| block.value.get("model")).flat_map(named).collect();
    for block in suite.models.iter().filter(|block| judges.contains(&*block.name)) {
        let Some(model) = block.value.get("model").and_then(Value::as_str) else { continue };
        if block.value.get("base_url").is_some() || !is_floating(model) {
            continue;
        }
        let message = format!(
            "the judge `{model}` is a name that its provider may point at another model: scores can move without any change of yours"
        );
        let help = "name a dated version in `model`; that it was replaced is then a change of the suite, which the gate tells apart";
        let problem = block.problem("/model", "floating-model", message).help(help);
        problems.push(Diagnostic { level: Level::Warning, ..problem });
    }
}

/// Whether a name of OpenAI, Anthropic or Google stands for whatever is newest behind it.
///
/// Dated names end in a day (`gpt-4.1-2025-04-14`, `claude-sonnet-4-5-20250929`), in the old four digits (`gpt-4-0613`) or, of Gemini,
/// in a number (`gemini-2.0-flash-001`).
fn is_floating(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    if model.ends_with("-latest") {
        return true;
    }
    let is_known =
        ["gpt-", "chatgpt-", "claude-", "gemini-"].iter().any(|start| model.starts_with(start)) || is_o_series(model);
    // Open weights do not change behind their name.
    is_known && !model.starts_with("gpt-oss") && !is_dated(model)
}

/// `o3`, `o4-mini`.
fn is_o_series(model: &str) -> bool {
    let mut letters = model.chars();
    letters.next() == Some('o') && letters.next().is_some_and(|digit| digit.is_ascii_digit())
}

fn is_dated(model: &str) -> bool {
    let parts: Vec<&str> = model.rsplit('-').take(3).collect();
    let digits = |part: Option<&&str>, length: usize| {
        part.is_some_and(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let day = digits(parts.first(), 2) && digits(parts.get(1), 2) && digits(parts.get(2), 4);
    let month = digits(parts.first(), 4) && digits(parts.get(1), 2);
    let short = [8, 4, 3].iter().any(|length| digits(parts.first(), *length));
    day || month || short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dated_names_stand_still() {
        for floating in [
            "gpt-4.1",
            "gpt-4o",
            "chatgpt-4o-latest",
            "o3",
            "o4-mini",
            "claude-sonnet-4-5",
            "claude-3-5-haiku-latest",
            "gemini-2.5-pro",
            "openai/gpt-5",
        ] {
            assert!(is_floating(floating), "{floating}");
        }
        for fixed in [
            "gpt-4.1-2025-04-14",
            "gpt-4-0613",
            "claude-sonnet-4-5-20250929",
            "gemini-2.0-flash-001",
            "gpt-oss-20b",
            "m",
            "llama-3.1-8b",
            "o3-2025-04-16",
            "mistral-large-2411",
        ] {
            assert!(!is_floating(fixed), "{fixed}");
        }
    }
}
