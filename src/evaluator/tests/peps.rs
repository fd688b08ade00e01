//! The recorded answers of `fixtures/peps-rag` with their reference scores.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

/// One recorded answer.
pub(in crate::evaluator) struct Recorded {
    pub(in crate::evaluator) run: String,
    pub(in crate::evaluator) id: String,
    pub(in crate::evaluator) answer: String,
    pub(in crate::evaluator) reference: String,
    pub(in crate::evaluator) retrieved: Vec<String>,
    pub(in crate::evaluator) relevant: Vec<String>,
    pub(in crate::evaluator) top_k: usize,
    scores: Value,
}

impl Recorded {
    /// The reference score, where the file has one.
    pub(in crate::evaluator) fn expected(&self, metric: &str) -> Option<f64> {
        self.scores.get(metric)?.as_f64()
    }
}

const RUNS: [&str; 7] =
    ["base", "base-again", "base-again-2", "base-fixed-seed", "regressed", "improved", "lost-documents"];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/peps-rag").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn lines(name: &str) -> Vec<Value> {
    read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Every answer of every run.
pub(in crate::evaluator) fn recorded() -> Vec<Recorded> {
    let scores: Value = serde_json::from_str(&read("reference-scores.json")).unwrap();
    let questions = lines("questions.jsonl");
    let questions: HashMap<&str, &Value> =
        questions.iter().map(|question| (question["id"].as_str().unwrap(), question)).collect();
    let mut all = Vec::new();
    for run in RUNS {
        let small = run == "regressed";
        for row in lines(&format!("runs/{run}.jsonl")) {
            let id = row["id"].as_str().unwrap();
            let question = questions[id];
            let relevant = if small { "expected_chunk_ids_c160" } else { "expected_chunk_ids" };
            all.push(Recorded {
                run: run.to_owned(),
                id: id.to_owned(),
                answer: row["answer"].as_str().unwrap().to_owned(),
                reference: question["reference"].as_str().unwrap().to_owned(),
                retrieved: row["contexts"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|context| context["id"].as_str().unwrap().to_owned())
                    .collect(),
                relevant: texts(&question[relevant]),
                top_k: if small { 1 } else { 3 },
                scores: scores["per_question"][run][id].clone(),
            });
        }
    }
    all
}
