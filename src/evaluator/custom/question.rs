//! What an evaluator of one's own is given.

use serde_json::{Map, Value, json};

use super::super::Subject;
use crate::domain::{Context, Digest, MetricName};

/// Version of the form.
const FORM: u32 = 1;

/// One line of JSON, without its end: the same for the same case and answer, so that a kept score can be found again.
pub(super) fn question(metric: &MetricName, subject: Subject<'_>, settings: &Map<String, Value>) -> (String, Value) {
    let Subject { case, answer, trial } = subject;
    let expected: Vec<Value> = case
        .expected_contexts
        .iter()
        .map(|expected| json!({"id": expected.id, "text": expected.text, "gain": expected.gain}))
        .collect();
    let mut question = json!({
        "form": FORM,
        "metric": &**metric,
        "case": {
            "id": &*case.id, "input": case.input, "reference": case.reference, "contexts": contexts(&case.contexts),
            "expected_contexts": expected, "tags": case.tags, "metadata": case.metadata,
        },
        "answer": {"text": answer.text, "contexts": contexts(&answer.contexts)},
        "trial": trial,
        "settings": settings,
    });
    // Which question a line answers: a worker says it again.
    let id = Digest::of([question.to_string()]).to_string();
    if let Some(question) = question.as_object_mut() {
        question.insert("id".to_owned(), Value::from(id.as_str()));
    }
    (id, question)
}

fn contexts(contexts: &[Context]) -> Vec<Value> {
    let one = |context: &Context| json!({"id": context.id, "text": context.text, "score": context.score});
    contexts.iter().map(one).collect()
}
