//! What is measured, and what is wanted.

use serde_json::{Value, json};

use crate::reference::Measured;
use crate::table::Line;
use crate::texts::Pair;

/// One metric on one set of texts.
pub struct Row {
    /// As `reference.py` calls it.
    pub name: &'static str,
    pub evaluator: &'static str,
    pub settings: fn() -> Value,
    pub texts: &'static str,
    pub package: &'static str,
    /// Least quotient of Python's time and ours.
    pub target: f64,
    /// Python's scores divided by this are ours; `None`: another definition, of which only the time is compared.
    pub scale: Option<f64>,
}

const PLAIN: fn() -> Value = || json!({});

pub const ROWS: &[Row] = &[
    row("rouge_1", "rouge_1", PLAIN, "answers", "rouge-score", 20.0),
    row("rouge_2", "rouge_2", PLAIN, "answers", "rouge-score", 20.0),
    row("rouge_l", "rouge_l", PLAIN, "answers", "rouge-score", 20.0),
    row("rouge_l_stem", "rouge_l", || json!({"stem": true}), "answers", "rouge-score", 20.0),
    row("rouge_l_long", "rouge_l", PLAIN, "400 words", "rouge-score", 100.0),
    Row { scale: Some(100.0), ..row("bleu", "bleu", || json!({"tokens": "13a"}), "answers", "sacrebleu", 20.0) },
    Row { scale: Some(100.0), ..row("chrf", "chrf", PLAIN, "answers", "sacrebleu", 10.0) },
    row("levenshtein", "levenshtein", PLAIN, "answers", "rapidfuzz (C++)", 0.5),
    row("levenshtein_long", "levenshtein", PLAIN, "400 words", "rapidfuzz (C++)", 0.5),
    row("jaro_winkler", "jaro_winkler", PLAIN, "answers", "rapidfuzz (C++)", 0.5),
    Row { scale: None, ..row("ratio", "ratio", PLAIN, "answers", "difflib", 10.0) },
];

const fn row(
    name: &'static str,
    evaluator: &'static str,
    settings: fn() -> Value,
    texts: &'static str,
    package: &'static str,
    target: f64,
) -> Row {
    Row { name, evaluator, settings, texts, package, target, scale: Some(1.0) }
}

impl Row {
    pub fn line(&self, mine: &Measured, theirs: &Measured, texts: &[Pair]) -> Line {
        let times = theirs.seconds / mine.seconds;
        let apart = self.scale.map(|scale| {
            let pairs = mine.scores.iter().zip(&theirs.scores);
            pairs.map(|(mine, theirs)| (mine - theirs / scale).abs()).fold(0.0, f64::max)
        });
        let same = apart.is_none_or(|apart| apart <= 1e-6) && mine.scores.len() == theirs.scores.len();
        Line {
            what: format!("{} on {}", self.name.trim_end_matches("_long"), self.texts),
            pairs: texts.len(),
            package: self.package,
            theirs: micros(theirs.seconds),
            mine: micros(mine.seconds),
            times: format!("{times:.1} ×"),
            target: format!("≥ {} ×", self.target),
            apart: apart.map_or_else(|| "–".to_owned(), |apart| format!("{apart:.0e}")),
            pass: times >= self.target && same,
        }
    }
}

fn micros(seconds: f64) -> String {
    format!("{:.1} µs", seconds * 1e6)
}
