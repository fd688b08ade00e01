//! The forms of replies in JSON, as services hold models to them. What is read is what the words of the demand say, whether a service
//! kept it to the form or not.

use serde_json::{Value, json};

use super::reading::Grade;
use crate::provider::ReplyForm;

/// A list of texts.
pub(super) fn list_form() -> ReplyForm {
    ReplyForm { name: "items", schema: items(&json!({"type": "string"})) }
}

/// A verdict on each of several items. The reason comes first, so that the verdict follows from it.
pub(super) fn pack_form(grade: &Grade) -> ReplyForm {
    let (name, verdict) = match grade {
        Grade::Words(words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            ("verdict", json!({"type": "string", "enum": words}))
        }
        Grade::Number { .. } => ("score", json!({"type": "number"})),
    };
    let text = json!({"type": "string"});
    ReplyForm { name: "verdicts", schema: items(&object(&[("id", &text), ("reason", &text), (name, &verdict)])) }
}

fn items(item: &Value) -> Value {
    object(&[("items", &json!({"type": "array", "items": item}))])
}

/// An object with these properties and no others.
fn object(properties: &[(&str, &Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        properties.iter().map(|(name, form)| ((*name).to_owned(), (*form).clone())).collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::super::form::YES_OR_NO;
    use super::super::reading::{read_list, read_pack};
    use super::*;

    /// What keeps the form is read, and what the demand shows keeps it.
    #[test]
    fn the_forms_are_those_of_the_readers() {
        let fits = |form: &ReplyForm, reply: &Value| jsonschema::is_valid(&form.schema, reply);
        let ids = ["a".to_owned()];
        for (grade, verdict) in [
            (Grade::Words(YES_OR_NO), json!({"verdict": "NO"})),
            (Grade::Number { lo: 1.0, hi: 5.0 }, json!({"score": 4.5})),
        ] {
            let mut entry = json!({"id": "a", "reason": "because"});
            entry.as_object_mut().unwrap().extend(verdict.as_object().unwrap().clone());
            let reply = json!({ "items": [entry] });
            assert!(fits(&pack_form(&grade), &reply), "{reply}");
            assert!(read_pack(&grade, &reply.to_string(), &ids).unwrap()[0].is_ok(), "{reply}");
            assert!(!fits(&pack_form(&grade), &json!({"items": [{"id": "a", "reason": "", "verdict": "PERHAPS"}]})));
        }
        let list = json!({"items": ["a claim"]});
        assert!(fits(&list_form(), &list) && read_list(&list.to_string()).is_ok());
    }
}
