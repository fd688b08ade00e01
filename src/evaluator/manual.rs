//! What every evaluator is, needs and reads, in words: the list and the pages of `scoregate evaluators`, and `docs/evaluators.md`.
//!
//! Everything is taken from the kinds themselves: their `INFO`, the schema of their settings, and an example that the tests run.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Info, Kind, Needs, kinds};
use crate::domain::{Direction, ScoreKind};
use crate::text::suggest::list as joined;

/// A suite with the evaluator, and what it comes to: two YAML documents. The tests run each of them.
macro_rules! examples {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("examples/", $name, ".yaml")))),*]
    };
}

const EXAMPLES: &[(&str, &str)] = examples![
    "all_of",
    "answer_correctness",
    "answer_relevancy",
    "answer_similarity",
    "any_of",
    "average_precision",
    "bleu",
    "chrf",
    "citations",
    "closed_qa",
    "command",
    "contains",
    "context_entity_recall",
    "context_precision",
    "context_recall",
    "context_relevancy",
    "correctness",
    "edit_distance",
    "ends_with",
    "equals",
    "exact_match",
    "factual_correctness",
    "factuality",
    "faithfulness",
    "g_eval",
    "guideline",
    "hit_rate",
    "http",
    "is_json",
    "is_xml",
    "jaro_winkler",
    "length",
    "levenshtein",
    "mrr",
    "ndcg",
    "noise_sensitivity",
    "numeric",
    "pairwise",
    "precision",
    "ratio",
    "recall",
    "regex",
    "relevancy",
    "response_relevancy",
    "rouge_1",
    "rouge_2",
    "rouge_l",
    "rubric",
    "semantic_similarity",
    "set_f1",
    "starts_with",
    "token_f1",
    "weighted_mean",
];

/// Suite and expectation of a kind's example.
pub(crate) fn example(name: &str) -> Option<(&'static str, &'static str)> {
    EXAMPLES.iter().find(|(known, _)| *known == name)?.1.split_once("\n---\n")
}

/// One line an evaluator: name, score, what it needs, what it measures.
pub fn list() -> String {
    let rows: Vec<[String; 3]> =
        kinds().map(|kind| [kind.info.name.to_owned(), range(kind.info), needs(kind.info)]).collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let (first, second, third) = (width(0), width(1), width(2));
    let mut text = String::new();
    for ([name, score, needs], kind) in rows.iter().zip(kinds()) {
        let _ = writeln!(text, "{name:first$}  {score:second$}  {needs:third$}  {}", kind.info.summary);
    }
    text
}

/// All of an evaluator, as Markdown; `None`: there is none of this name.
pub fn page(name: &str) -> Option<String> {
    kinds().find(|kind| kind.info.name == name).map(written)
}

/// `docs/evaluators.md`.
pub fn book() -> String {
    let mut text = String::from(
        "# Evaluators\n\nWritten by `scoregate evaluators --format markdown`, from what the program itself says; a test keeps the two \
         equal. How evaluators stand in a suite is in [suite.md](suite.md#evaluators).\n\n| evaluator | score | needs | what it \
         measures |\n| --- | --- | --- | --- |\n",
    );
    for kind in kinds() {
        let info = kind.info;
        let _ = writeln!(
            text,
            "| [`{0}`](#{0}) | {1} | {2} | {3} |",
            info.name,
            range(info),
            needs(info),
            cell(info.summary)
        );
    }
    for kind in kinds() {
        text.push('\n');
        text.push_str(&written(kind));
    }
    text
}

fn written(kind: &Kind) -> String {
    let info = kind.info;
    let mut text = format!("## {}\n\n{}\n\n", info.name, sentence(info.summary));
    let better = match info.direction {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
    };
    let passing = match (info.pass_mark, info.direction) {
        (Some(mark), Direction::Higher) => format!("a case passes at {mark} or above"),
        (Some(mark), Direction::Lower) => format!("a case passes at {mark} or below"),
        (None, _) => "a case passes at the `threshold`, if one is given".to_owned(),
    };
    let _ = writeln!(text, "- Score: {}; {better}; {passing}.", range(info));
    let _ = writeln!(text, "- Needs: {}.", needs(info));
    let _ = writeln!(text, "- Definition: {}.\n", info.source);
    let schema = kind.schema().to_value();
    let rows = rows(&schema, &schema, "");
    if rows.is_empty() {
        text.push_str("It has no settings.\n");
    } else {
        let _ = writeln!(text, "| setting | meaning |\n| --- | --- |");
        text.push_str(&rows);
    }
    if let Some((suite, outcome)) = example(info.name) {
        let _ = write!(text, "\n```yaml\n{}\n```\n\nwith\n\n```yml\n{}\n```\n", suite.trim_end(), outcome.trim_end());
    }
    text
}

/// `0 or 1`, `1 to 5`, `0 to 1`.
fn range(info: &Info) -> String {
    let (lo, hi) = info.score.range();
    match info.score {
        ScoreKind::Binary => "0 or 1".to_owned(),
        ScoreKind::Ordinal { .. } | ScoreKind::Continuous { .. } => format!("{lo} to {hi}"),
    }
}

fn needs(info: &Info) -> String {
    let words = info.needs.iter().map(|need| match need {
        Needs::Input => "input",
        Needs::Answer => "answer",
        Needs::Reference => "reference",
        Needs::Contexts => "contexts",
        Needs::ExpectedContexts => "expected contexts",
        Needs::Judge => "a judge",
        Needs::Embedding => "an embedding model",
    });
    joined(words, "and").replace('`', "")
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A row a setting, and of settings that are mappings a row for each of their keys.
fn rows(root: &Value, schema: &Value, prefix: &str) -> String {
    let required = |key: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|keys| keys.iter().any(|known| known == key))
    };
    let mut text = String::new();
    for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        let must = if required(key) { "Required. " } else { "" };
        let _ = writeln!(text, "| `{prefix}{key}` | {must}{} |", cell(description));
        if let Some(inner) = mapping(root, property) {
            text.push_str(&rows(root, inner, &format!("{prefix}{key}.")));
        }
    }
    text
}

/// The mapping that a setting, or each entry of its list, is.
fn mapping<'s>(root: &'s Value, property: &'s Value) -> Option<&'s Value> {
    let reference = |schema: &'s Value| {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        root.get("$defs")?.get(name)
    };
    let branches = property.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let candidates = [Some(property), property.get("items")].into_iter().flatten().chain(branches);
    candidates.filter_map(reference).find(|inner| inner.get("properties").is_some())
}
