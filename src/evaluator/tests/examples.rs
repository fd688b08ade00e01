//! Every example of every evaluator, run against a scripted judge, vectors and outputs of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::super::manual::{book, example, list, page};
use super::super::*;
use super::support::{Loopback, Script, answer, block, case, context_of, embedder, judge_model};
use crate::domain::{ExpectedContext, Score, SkipReason};

fn yaml(text: &str, name: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("the example of {name}: {error}\n{text}"))
}

/// Replies one after another; a list of words is one verdict for each item of the question.
fn script(replies: Vec<Value>) -> Script {
    let left = Mutex::new(replies.into_iter());
    Arc::new(move |messages| {
        let reply = left.lock().unwrap().next().expect("another reply");
        let Value::Array(words) = reply else { return Ok(reply.as_str().expect("a text").to_owned()) };
        let user = &messages[1].1;
        let codes: Vec<&str> = user.lines().filter_map(|line| line.strip_prefix("Item ")).collect();
        assert_eq!(codes.len(), words.len(), "one verdict an item: {user}");
        let items: Vec<Value> =
            codes.iter().zip(&words).map(|(code, word)| json!({"id": code, "reason": "r", "verdict": word})).collect();
        Ok(json!({ "items": items }).to_string())
    })
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_evaluator_has_an_example_that_comes_to_what_it_says() {
    for kind in kinds() {
        let name = kind.info.name;
        let (suite, outcome) = example(name).unwrap_or_else(|| panic!("{name} has no example: examples/{name}.yaml"));
        let (suite, outcome) = (yaml(suite, name), yaml(outcome, name));
        let evaluators = suite["evaluators"].as_object().unwrap();
        let blocks: Vec<Block> = evaluators
            .iter()
            .map(|(metric, settings)| {
                let mut settings = settings.clone();
                let used = settings.as_object_mut().and_then(|settings| settings.shift_remove("use"));
                let kind = used.as_ref().and_then(Value::as_str).unwrap_or(metric).into();
                Block { kind, ..block(metric, settings) }
            })
            .collect();
        assert_eq!(&*blocks.last().unwrap().kind, name, "the example is one of {name}");
        let replies = outcome["replies"].as_array().cloned().unwrap_or_default();
        let outputs: Vec<&str> = replies.iter().filter_map(Value::as_str).collect();
        let transport = Loopback::answering(&outputs);
        let models: BTreeMap<String, Model> = [("judge".to_owned(), judge_model(script(replies.clone())))].into();
        let vectors: BTreeMap<String, Vec<f64>> =
            serde_json::from_value(outcome.get("vectors").cloned().unwrap_or_else(|| json!({}))).unwrap();
        let embedders: BTreeMap<String, Embedder> =
            [("embed".to_owned(), embedder(8, move |text| vectors.get(text).expect("a vector").clone()))].into();
        let context = BuildContext { embedders: &embedders, ..context_of(&models) };
        let mut diagnostics = Diagnostics::default();
        let built: Vec<Ready> = blocks
            .iter()
            .filter_map(|block| {
                let kind = kinds().find(|kind| kind.info.name == &*block.kind).unwrap();
                kind.build(block, &context, &mut diagnostics)
            })
            .collect();
        let all = connect(built, &blocks, &mut diagnostics);
        assert_eq!(all.len(), blocks.len(), "{name}: {}", crate::diagnostic::render(&diagnostics));
        let told = &outcome["case"];
        let mut case = case(told["input"].as_str().unwrap(), told["reference"].as_str());
        case.expected_contexts = texts(&told["expected_contexts"])
            .into_iter()
            .map(|id| ExpectedContext { id: Some(id), text: None, gain: 1.0 })
            .collect();
        let contexts = texts(&outcome["answer"]["contexts"]);
        let contexts: Vec<&str> = contexts.iter().map(String::as_str).collect();
        let answer = answer(outcome["answer"]["text"].as_str().unwrap(), &contexts);
        let subject = Subject { case: &case, answer: &answer, trial: 0 };
        let mut scores = Vec::new();
        for ready in &all {
            let measurement = match &ready.way {
                Way::Pure(scorer) => scorer.score(subject),
                Way::Asking(asking) => asking.evaluate(subject, &transport).await.measurement,
                Way::Composite(_) => Measurement::Skipped(SkipReason::NotApplicable, "made of the others".to_owned()),
            };
            scores.push(Score { metric: ready.spec.name.clone(), measurement });
        }
        compose(&all, &mut scores);
        let (ready, score) = (all.last().unwrap(), scores.last().unwrap());
        let Measurement::Value(reading) = &score.measurement else { panic!("{name}: {score:?}") };
        let expected = outcome["score"].as_f64().unwrap();
        assert!((reading.value() - expected).abs() < 1e-9, "{name}: {} is not {expected}", reading.value());
        assert!(ready.spec.kind.admits(reading.value()), "{name}: {reading:?}");
    }
}

#[test]
fn the_list_and_the_pages_say_what_the_kinds_say() {
    let (list, book) = (list(), book());
    for kind in kinds() {
        let name = kind.info.name;
        assert!(list.lines().any(|line| line.starts_with(&format!("{name} ")) && line.ends_with(kind.info.summary)));
        let page = page(name).unwrap();
        assert!(book.contains(&page), "{name}");
        let schema = kind.schema().to_value();
        for key in schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key) {
            assert!(page.contains(&format!("| `{key}` | ")), "{name}: {key}\n{page}");
        }
        assert!(page.contains("```yaml") && page.contains("score: "), "{page}");
    }
    assert_eq!(page("faithfullness"), None);
}
