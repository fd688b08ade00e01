//! Is the answer JSON, and of the expected form?

use jsonschema::{PatternOptions, Validator};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::pure::{Found, Measure, ready};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::normalize::excerpt;

/// Most bytes of a compiled pattern of a schema.
const PATTERN_BYTES: usize = 4 << 20;

pub const INFO: Info = Info {
    name: "is_json",
    summary: "1 if the answer is JSON (and fits `schema`), else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer],
    version: 1,
    source: "RFC 8259, at most 128 levels deep; JSON Schema of the draft that `$schema` names, else 2020-12, with formats, without references to other documents",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Is the answer JSON, and of the expected form?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// A JSON Schema that the value must fit. Default: any JSON.
    schema: Option<Map<String, Value>>,
    /// Look for an object or a list within the answer instead (between sentences, in a code block): one that fits is enough.
    /// Default: false.
    #[serde(default)]
    embedded: bool,
}

struct Json {
    validator: Option<Validator>,
    embedded: bool,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let validator =
        match settings.schema.map(|schema| compile(&Value::Object(schema))).transpose() {
            Ok(validator) => validator,
            Err(why) => {
                let problem = block.problem("/schema", "bad-schema", format!("the schema cannot be used: {why}"));
                diagnostics.push(problem.help(
                    "it must be a JSON Schema whose references stay within it; patterns are those of docs.rs/regex",
                ));
                return None;
            }
        };
    sound.then(|| ready(block, &INFO, None, Json { validator, embedded: settings.embedded }))
}

fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES))
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| excerpt(&error.to_string(), 200))
}

impl Measure for Json {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let text = &subject.answer.text;
        let found = if self.embedded { self.within(text) } else { self.whole(text) };
        Ok(match found {
            Ok(()) if self.validator.is_some() => Found::check(true, "the answer is JSON that fits the schema"),
            Ok(()) => Found::check(true, "the answer is JSON"),
            Err(why) => Found::check(false, why),
        })
    }
}

impl Json {
    fn whole(&self, text: &str) -> Result<(), String> {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => self.fits(&value),
            Err(error) => Err(format!("the answer is no JSON: {error}")),
        }
    }

    /// Any object or list in the text that fits.
    fn within(&self, text: &str) -> Result<(), String> {
        let mut why = "there is no JSON object or list in the answer".to_owned();
        let mut rest = text;
        while let Some(begun) = rest.find(['{', '[']).and_then(|at| rest.get(at..)) {
            let mut values = serde_json::Deserializer::from_str(begun).into_iter::<Value>();
            let used = match values.next() {
                Some(Ok(value)) => match self.fits(&value) {
                    Ok(()) => return Ok(()),
                    Err(unfit) => {
                        why = unfit;
                        values.byte_offset()
                    }
                },
                Some(Err(_)) | None => 1,
            };
            rest = begun.get(used..).unwrap_or_default();
        }
        Err(why)
    }

    fn fits(&self, value: &Value) -> Result<(), String> {
        let Some(error) = self.validator.as_ref().and_then(|validator| validator.iter_errors(value).next()) else {
            return Ok(());
        };
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "the whole" } else { &place };
        Err(format!("the JSON does not fit the schema: {place}: {}", excerpt(&error.to_string(), 160)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn json(schema: Option<Value>, embedded: bool) -> Json {
        Json { validator: schema.map(|schema| compile(&schema).unwrap()), embedded }
    }

    #[test]
    fn the_whole_answer_or_a_part_of_it() {
        let whole = json(None, false);
        assert!(whole.whole(" {\"a\": [1, null]}\n").is_ok() && whole.whole("\"text\"").is_ok());
        for text in ["", "{a: 1}", "{\"a\": 1} text", "[1,]", "NaN"] {
            assert!(whole.whole(text).is_err(), "{text}");
        }
        let within = json(None, true);
        assert!(within.within("Sure! ```json\n{\"a\": 1}\n``` Bye.").is_ok());
        assert!(within.within("[no] JSON {here}, 7").is_err());
    }

    #[test]
    fn a_schema_is_kept_and_the_place_named() {
        let schema =
            json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "minLength": 2}}});
        let whole = json(Some(schema.clone()), false);
        assert!(whole.whole("{\"city\": \"Paris\"}").is_ok());
        assert!(whole.whole("{\"city\": 7}").unwrap_err().contains("/city"));
        assert!(whole.whole("{}").is_err());
        assert!(json(Some(schema), true).within("{\"a\": 1} and then {\"city\": \"Rome\"}").is_ok());
    }

    #[test]
    fn what_would_leave_the_schema_or_take_long_is_refused() {
        assert!(compile(&json!({"$ref": "https://example.org/other.json"})).is_err());
        assert!(compile(&json!({"type": "strnig"})).is_err());
        assert!(compile(&json!({"pattern": "(?=x)"})).is_err());
        let nested = json(Some(json!({"pattern": "^(a+)+$"})), false);
        assert!(nested.whole(&format!("\"{}b\"", "a".repeat(50_000))).is_err());
        assert!(json(None, true).within(&"[".repeat(100_000)).is_err());
    }
}
