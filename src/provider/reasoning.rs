//! Models that think before they answer, and refuse what steers others.

use serde_json::Value;

use super::service::ServiceSettings;
use crate::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::suite::Block;

/// Warns of settings that OpenAI's reasoning models refuse; every call would end with their error. With no effort at all some take them.
pub(super) fn warn(
    block: &Block,
    service: &ServiceSettings,
    (temperature, top_p): (Option<f64>, Option<f64>),
    diagnostics: &mut Diagnostics,
) {
    let extra = |key: &str| service.extra.as_ref().and_then(|extra| extra.get(key));
    let effort = extra("reasoning_effort").or_else(|| extra("reasoning")?.get("effort"));
    if effort.and_then(Value::as_str) == Some("none") || !reasons(&service.model) {
        return;
    }
    for (name, _) in [("temperature", temperature), ("top_p", top_p)].iter().filter(|(_, given)| given.is_some()) {
        let message = format!("`{}` reasons, and OpenAI refuses `{name}` for models that do", service.model);
        let help =
            format!("leave `{name}` out, or set the effort to `none` in `extra` where the model can answer at once");
        let problem = block.key_problem(&format!("/{name}"), "reasoning-model", message).help(help);
        diagnostics.push(Diagnostic { level: Level::Warning, ..problem });
    }
}

/// The o series and GPT-5 with their sizes. **Source**: OpenAI's guide "Reasoning models", 2026-11.
fn reasons(model: &str) -> bool {
    let o_series = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()));
    o_series || (model.starts_with("gpt-5") && !model.contains("chat"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::support::models;

    fn problems(settings: serde_json::Value) -> Vec<String> {
        models("openai", settings, &[("OPENAI_API_KEY", "sk-test-key-of-env")]).1
    }

    #[test]
    fn a_temperature_for_a_model_that_reasons_is_warned_of() {
        for model in ["o3", "o4-mini-2025-04-16", "gpt-5", "gpt-5-mini"] {
            let found = problems(json!({"model": model, "temperature": 0}));
            assert!(found.len() == 1 && found[0].starts_with("reasoning-model:"), "{model}: {found:?}");
        }
        for settings in [
            json!({"model": "gpt-4.1", "temperature": 0}),
            json!({"model": "gpt-5-chat-latest", "temperature": 0}),
            json!({"model": "omni", "temperature": 0}),
            json!({"model": "gpt-5", "max_tokens": 100}),
            json!({"model": "gpt-5.1", "temperature": 0, "extra": {"reasoning_effort": "none"}}),
            json!({"model": "o3", "temperature": 0, "base_url": "http://h:1/v1"}),
        ] {
            assert_eq!(problems(settings.clone()), Vec::<String>::new(), "{settings}");
        }
    }
}
