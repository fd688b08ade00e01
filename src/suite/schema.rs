//! The JSON Schema of a whole suite file, for editors: the skeleton's types with the owners' forms in their places.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::spec::SuiteSpec;

/// The owners' forms, by kind.
#[derive(Default)]
pub struct SchemaParts {
    pub dataset: Option<Schema>,
    pub targets: Vec<(&'static str, Schema)>,
    pub models: Vec<(&'static str, Schema)>,
    pub evaluators: Vec<(&'static str, Schema)>,
    pub gate: Option<Schema>,
    pub reports: Option<Schema>,
    /// One entry.
    pub alerts: Option<Schema>,
}

/// The form of a suite file (JSON Schema draft 2020-12), from the same types that read it.
pub fn schema(parts: SchemaParts) -> Value {
    let mut root = SchemaGenerator::default().into_root_schema_for::<SuiteSpec>().to_value();
    let mut shared = take_definitions(&mut root);
    let targets = targets(parts.targets, &mut shared);
    let models = models(parts.models, &mut shared);
    let evaluators = evaluators(parts.evaluators, &mut shared);
    let dataset = parts.dataset.map(|schema| embed("dataset", schema, &mut shared));
    let gate = parts.gate.map(|schema| embed("gate", schema, &mut shared));
    let reports = parts.reports.map(|schema| embed("reports", schema, &mut shared));
    let alerts = parts.alerts.map(|schema| embed("alert", schema, &mut shared));
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        replace(
            properties,
            "dataset",
            dataset.map(|entry| json!({"anyOf": [entry, {"type": "array", "items": entry, "minItems": 1}]})),
        );
        replace(properties, "targets", Some(targets));
        replace(properties, "models", Some(models));
        replace(properties, "evaluators", Some(evaluators));
        replace(properties, "gate", gate);
        replace(properties, "reports", reports);
        replace(properties, "alerts", alerts.map(|entry| json!({"type": "array", "items": entry})));
    }
    if let Value::Object(root) = &mut root {
        root.insert("title".to_owned(), json!("scoregate suite"));
        root.insert(
            "patternProperties".to_owned(),
            json!({"^x-": {"description": "For anchors and notes; not read."}}),
        );
        root.insert("$defs".to_owned(), Value::Object(shared));
    }
    root
}

/// Puts `schema` in the place of a property and keeps the property's description.
fn replace(properties: &mut Map<String, Value>, key: &str, schema: Option<Value>) {
    let (Some(mut schema), Some(place)) = (schema, properties.get_mut(key)) else { return };
    if let (Some(description), Value::Object(schema)) = (place.get("description"), &mut schema) {
        schema.insert("description".to_owned(), description.clone());
    }
    *place = schema;
}

fn targets(kinds: Vec<(&'static str, Schema)>, shared: &mut Map<String, Value>) -> Value {
    let properties: Map<String, Value> = kinds
        .into_iter()
        .map(|(kind, schema)| (kind.to_owned(), embed(&format!("target.{kind}"), schema, shared)))
        .collect();
    let entry = json!({
        "type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
    });
    json!({"type": "object", "minProperties": 1, "additionalProperties": entry})
}

fn models(kinds: Vec<(&'static str, Schema)>, shared: &mut Map<String, Value>) -> Value {
    let entries: Vec<Value> = kinds
        .into_iter()
        .map(|(kind, schema)| tagged("model", "provider", kind, schema, Tag::Required, shared))
        .collect();
    json!({"type": "object", "additionalProperties": choice(entries)})
}

/// An evaluator's form is told by `use`, or by its key where that is the word of an evaluator.
fn evaluators(kinds: Vec<(&'static str, Schema)>, shared: &mut Map<String, Value>) -> Value {
    let mut by_key = Map::new();
    let mut by_use = Vec::new();
    for (kind, schema) in kinds {
        by_use.push(tagged("use", "use", kind, schema.clone(), Tag::Required, shared));
        let plain = tagged("evaluator", "use", kind, schema, Tag::Optional, shared);
        let named = json!({
            "if": {"type": "object", "required": ["use"]},
            "then": {"$ref": "#/$defs/evaluator"},
            "else": {"anyOf": [plain, {"type": "null"}]},
        });
        by_key.insert(kind.to_owned(), named);
    }
    shared.insert("evaluator".to_owned(), choice(by_use));
    json!({"type": "object", "minProperties": 1, "properties": by_key, "additionalProperties": {"$ref": "#/$defs/evaluator"}})
}

fn choice(entries: Vec<Value>) -> Value {
    if entries.is_empty() { json!({"type": "object"}) } else { json!({"anyOf": entries}) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    Required,
    Optional,
}

/// The form of a kind with the key that names the kind.
fn tagged(family: &str, key: &str, kind: &str, schema: Schema, tag: Tag, shared: &mut Map<String, Value>) -> Value {
    let name = format!("{family}.{kind}");
    let reference = embed(&name, schema, shared);
    if let Some(Value::Object(form)) = shared.get_mut(&name) {
        let properties = form.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert(key.to_owned(), json!({"const": kind, "description": format!("`{kind}`")}));
        }
        if tag == Tag::Required {
            let required = form.entry("required").or_insert_with(|| json!([]));
            if let Value::Array(required) = required {
                required.push(json!(key));
            }
        }
    }
    reference
}

/// Moves a form and its own definitions to the shared ones, under `name`; returns a reference to it.
fn embed(name: &str, schema: Schema, shared: &mut Map<String, Value>) -> Value {
    let mut value = match schema.to_value() {
        Value::Object(map) => Value::Object(map),
        Value::Bool(true) => json!({}),
        other => json!({"allOf": [other]}),
    };
    if let Value::Object(map) = &mut value {
        map.remove("$schema");
    }
    for (definition, mut inner) in take_definitions(&mut value) {
        rename(&mut inner, name);
        shared.insert(format!("{name}.{definition}"), inner);
    }
    rename(&mut value, name);
    shared.insert(name.to_owned(), value);
    json!({"$ref": format!("#/$defs/{name}")})
}

fn take_definitions(schema: &mut Value) -> Map<String, Value> {
    match schema.as_object_mut().and_then(|map| map.remove("$defs")) {
        Some(Value::Object(definitions)) => definitions,
        Some(_) | None => Map::new(),
    }
}

/// Points references at the moved definitions.
fn rename(schema: &mut Value, name: &str) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(reference) if key == "$ref" => {
                        if let Some(definition) = reference.strip_prefix("#/$defs/") {
                            *reference = format!("#/$defs/{name}.{definition}");
                        }
                    }
                    value => rename(value, name),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
