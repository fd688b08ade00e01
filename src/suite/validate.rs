//! A block's value against the JSON Schema of its settings: all findings at once; then the settings themselves.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::explain::{At, Finding, explain};
use super::{Block, block::Written};
use crate::text::duration;
use crate::text::pointer::{escape, unescape};

/// Rounds of leaving out what is wrong: each takes away one level of nesting at least, and settings have a handful.
const MOST_ROUNDS: usize = 8;

/// The settings that `block` holds, as far as they can be read, and every finding. Without findings they are whole; with findings what
/// is wrong is left out of them, with what cannot stand without it.
pub(super) fn settings<T: DeserializeOwned + schemars::JsonSchema>(block: &Block) -> (Option<T>, Vec<Finding>) {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    let mut value = match &block.value {
        Value::Null => Value::Object(Map::new()),
        value => value.clone(),
    };
    let mut all: Vec<Finding> = Vec::new();
    for _ in 0..MOST_ROUNDS {
        // What a round finds beyond the first reading follows from what was left out.
        let wrong = match examine(&mut value, &schema, block) {
            Err(findings) => return (None, or(all, findings)),
            Ok(findings) if findings.is_empty() => match read(value.clone(), block) {
                Ok(settings) => return (Some(settings), all),
                Err(findings) => {
                    let new = |finding: &Finding| all.iter().all(|known| !known.pointer.starts_with(&finding.pointer));
                    let told: Vec<Finding> = findings.iter().filter(|finding| new(finding)).cloned().collect();
                    all.extend(told);
                    findings
                }
            },
            Ok(findings) => {
                all = or(all, findings.clone());
                findings
            }
        };
        if !leave_out(&mut value, &wrong) {
            break;
        }
    }
    (None, all)
}

fn or(first: Vec<Finding>, second: Vec<Finding>) -> Vec<Finding> {
    if first.is_empty() { second } else { first }
}

/// Takes what is wrong out of the mappings around it; false where the whole is wrong. Lists are left out whole, so that the places of
/// their entries stay true.
fn leave_out(value: &mut Value, findings: &[Finding]) -> bool {
    findings.iter().all(|finding| {
        let mut pointer = finding.pointer.as_str();
        while let Some((parent, key)) = pointer.rsplit_once('/') {
            match value.pointer_mut(parent) {
                Some(Value::Object(map)) => {
                    map.remove(&*unescape(key));
                    return true;
                }
                _ => pointer = parent,
            }
        }
        false
    })
}

/// Checks `value`; numbers where a text is asked for become the text that stands in the file.
fn examine(value: &mut Value, schema: &Value, block: &Block) -> Result<Vec<Finding>, Vec<Finding>> {
    let options = jsonschema::draft202012::options()
        .should_validate_formats(true)
        .with_format(duration::FORMAT, |text: &str| duration::parse(text).is_ok());
    let validator = options.build(schema).map_err(|error| {
        let message = format!("the form of `{}` cannot be checked: {}", block.kind, error.masked());
        vec![Finding::new("", At::Key, "internal", message)]
    })?;
    let findings = explain(validator.iter_errors(value), schema, block);
    let mut changed = false;
    for finding in findings.iter().filter(|finding| finding.wants_text) {
        if let (Some(written), Some(place)) =
            (block.written.numbers.get(&finding.pointer), value.pointer_mut(&finding.pointer))
        {
            *place = Value::String(written.clone());
            changed = true;
        }
    }
    Ok(if changed { explain(validator.iter_errors(value), schema, block) } else { findings })
}

/// Reads the checked value. What is left to find here is what a schema cannot say: a duration without its unit, for instance.
fn read<T: DeserializeOwned>(value: Value, block: &Block) -> Result<T, Vec<Finding>> {
    let shown = hidden_texts(&value, &block.written);
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut pointer = String::new();
        for segment in error.path() {
            match segment {
                serde_path_to_error::Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
                serde_path_to_error::Segment::Map { key } => pointer.push_str(&format!("/{}", escape(key))),
                serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => break,
            }
        }
        let mut message = error.inner().to_string();
        for text in shown {
            message = message.replace(&text, crate::domain::MASK);
        }
        if let Some(key) = pointer.rsplit('/').next().filter(|key| !key.is_empty()) {
            message = format!("`{}`: {message}", unescape(key));
        }
        vec![Finding::new(&pointer, At::Value, "invalid-value", message)]
    })
}

/// The texts that came from the environment, for masking them in other people's messages.
fn hidden_texts(value: &Value, written: &Written) -> Vec<String> {
    let text = |pointer: &String| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    written.from_environment.iter().filter_map(text).filter(|text| !text.is_empty()).collect()
}
