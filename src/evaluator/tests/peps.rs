//! The recorded runs of `fixtures/peps-rag` with their reference scores.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use serde_json::Value;

pub struct Recorded {
    pub run: &'static str,
    pub id: String,
    pub answer: String,
    pub reference: String,
    pub retrieved: Vec<String>,
    pub relevant: Vec<String>,
    pub top_k: usize,
    scores: Arc<Value>,
}

impl Recorded {
    /// `None` where the file has no such score for the question.
    pub fn expected(&self, metric: &str) -> Option<f64> {
        self.scores["per_question"][self.run][&self.id][metric].as_f64()
    }
}

/// Run, `top_k`, and the field with the relevant chunks of its chunk size.
const RUNS: [(&str, usize, &str); 7] = [
    ("base", 3, "expected_chunk_ids"),
    ("base-again", 3, "expected_chunk_ids"),
    ("base-again-2", 3, "expected_chunk_ids"),
    ("base-fixed-seed", 3, "expected_chunk_ids"),
    ("regressed", 1, "expected_chunk_ids_c160"),
    ("improved", 3, "expected_chunk_ids"),
    ("lost-documents", 3, "expected_chunk_ids"),
];

pub fn recorded() -> Vec<Recorded> {
    let scores: Arc<Value> = Arc::new(serde_json::from_str(&read("reference-scores.json")).unwrap());
    let questions: HashMap<String, Value> =
        lines("questions.jsonl").into_iter().map(|question| (string(&question["id"]), question)).collect();
    let mut recorded = Vec::new();
    for (run, top_k, relevant) in RUNS {
        for line in lines(&format!("runs/{run}.jsonl")) {
            let question = &questions[line["id"].as_str().unwrap()];
            recorded.push(Recorded {
                run,
                id: string(&line["id"]),
                answer: string(&line["answer"]),
                reference: string(&question["reference"]),
                retrieved: strings(&line["contexts"], |context| &context["id"]),
                relevant: strings(&question[relevant], |id| id),
                top_k,
                scores: Arc::clone(&scores),
            });
        }
    }
    recorded
}

fn read(name: &str) -> String {
    fs::read_to_string(format!("{}/fixtures/peps-rag/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn lines(name: &str) -> Vec<Value> {
    read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn strings(list: &Value, item: impl Fn(&Value) -> &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|value| string(item(value))).collect()
}
