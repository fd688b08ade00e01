//! One entry of the suite's `dataset`, as written.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::rows::{LayoutSettings, OneOrMany};

/// A file of questions, or several, and how their rows become cases.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DatasetSettings {
    /// Path or glob of the files, relative to the suite, or a list of them: .jsonl, .json, .yaml, .csv, .tsv.
    pub path: OneOrMany,
    #[serde(flatten)]
    pub layout: LayoutSettings,
    /// Which column (or JSONPath, `$.…`) holds what.
    #[serde(default)]
    pub fields: FieldSettings,
    /// Only rows for which this holds: `lang == 'zh' and not (tags contains 'slow')`.
    #[serde(default, rename = "where")]
    pub condition: Option<String>,
    /// Only so many of the rows, chosen by their ids.
    #[serde(default)]
    pub sample: Option<SampleSettings>,
}

/// A column's name, or a JSONPath (RFC 9535, begins with `$`), for each part of a case.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FieldSettings {
    /// The case's name; default `id`, `case_id` or `qid`; without one, a name made from the content.
    pub id: Option<String>,
    /// What is asked; default `input`, `question` or `query`.
    pub input: Option<String>,
    /// The expected answer; default `reference`, `expected`, `ground_truth`, `reference_answer`, `answer_reference`, `expected_output`, `expected_answer` or `gold`.
    pub reference: Option<String>,
    /// Passages given with the question; default `contexts` or `context`.
    pub contexts: Option<String>,
    /// Ids of what retrieval should find, or objects with `id` or `text`, and `gain`; default `expected_contexts`, `expected_ids`, `expected_chunk_ids`, `expected_context_ids` or `relevant_ids`.
    pub expected_contexts: Option<String>,
    /// Texts of what retrieval should find; default `expected_texts` or `reference_contexts`.
    pub expected_texts: Option<String>,
    /// Labels for slices; one column or several; default `tags`.
    pub tags: Option<OneOrMany>,
    /// What cases have in common that makes them alike (document, conversation); default `cluster`.
    pub cluster: Option<String>,
    /// An answer recorded in the row; default `answer`, `output`, `response`, `prediction` or `actual_output`.
    pub answer: Option<String>,
    /// Passages retrieved for that answer; default `answer_contexts`, `retrieved_contexts` or `retrieval_context`; else those given with the question.
    pub answer_contexts: Option<String>,
    /// Their ids, where the passages are plain texts; default `answer_context_ids` or `retrieved_ids`.
    pub answer_context_ids: Option<String>,
    /// Milliseconds that answer took; default `latency_ms`.
    pub latency_ms: Option<String>,
    /// Tokens of its prompt; default `prompt_tokens`, or the same in `usage`.
    pub prompt_tokens: Option<String>,
    /// Tokens of the answer; default `completion_tokens`, or the same in `usage`.
    pub completion_tokens: Option<String>,
    /// What else is kept with the case; default: every column that no other field uses.
    pub metadata: Option<MetadataSettings>,
}

/// Columns to keep, or names with the column or JSONPath that gives their value.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MetadataSettings {
    Names(Vec<String>),
    Selectors(BTreeMap<String, String>),
}

/// A deterministic choice: the same ids are chosen whatever the order of the rows, and adding rows replaces few of them.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleSettings {
    /// How many cases.
    pub n: NonZeroUsize,
    /// Another seed, another choice.
    #[serde(default)]
    pub seed: u64,
}
