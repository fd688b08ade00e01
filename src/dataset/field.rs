//! The fields of a case: names, columns that fill them by default, and the suite's own choice.

use crate::diagnostic::Diagnostics;
use crate::rows::{FieldSpec, Mapping, Selector};
use crate::suite::Block;

use super::{FieldSettings, MetadataSettings};

pub(super) const ID: usize = 0;
pub(super) const INPUT: usize = 1;
pub(super) const REFERENCE: usize = 2;
pub(super) const CONTEXTS: usize = 3;
pub(super) const EXPECTED_CONTEXTS: usize = 4;
pub(super) const EXPECTED_TEXTS: usize = 5;
pub(super) const TAGS: usize = 6;
pub(super) const CLUSTER: usize = 7;
pub(super) const ANSWER: usize = 8;
pub(super) const ANSWER_CONTEXTS: usize = 9;
pub(super) const ANSWER_CONTEXT_IDS: usize = 10;
pub(super) const LATENCY: usize = 11;
pub(super) const PROMPT: usize = 12;
pub(super) const COMPLETION: usize = 13;

/// In the order of the constants above.
pub(super) const SPECS: &[FieldSpec] = &[
    FieldSpec { name: "id", aliases: &["id", "case_id", "qid"], list: false, shares: true },
    FieldSpec { name: "input", aliases: &["input", "question", "query"], list: false, shares: true },
    FieldSpec {
        name: "reference",
        aliases: &[
            "reference",
            "expected",
            "ground_truth",
            "reference_answer",
            "answer_reference",
            "expected_output",
            "expected_answer",
            "gold",
        ],
        list: false,
        shares: false,
    },
    FieldSpec { name: "contexts", aliases: &["contexts", "context"], list: true, shares: false },
    FieldSpec {
        name: "expected_contexts",
        aliases: &["expected_contexts", "expected_ids", "expected_chunk_ids", "expected_context_ids", "relevant_ids"],
        list: true,
        shares: false,
    },
    FieldSpec { name: "expected_texts", aliases: &["expected_texts", "reference_contexts"], list: true, shares: false },
    FieldSpec { name: "tags", aliases: &["tags"], list: true, shares: true },
    FieldSpec { name: "cluster", aliases: &["cluster"], list: false, shares: true },
    FieldSpec {
        name: "answer",
        aliases: &["answer", "output", "response", "prediction", "actual_output"],
        list: false,
        shares: false,
    },
    FieldSpec {
        name: "answer_contexts",
        aliases: &["answer_contexts", "retrieved_contexts", "retrieval_context"],
        list: true,
        shares: false,
    },
    FieldSpec {
        name: "answer_context_ids",
        aliases: &["answer_context_ids", "retrieved_ids"],
        list: true,
        shares: false,
    },
    FieldSpec { name: "latency_ms", aliases: &["latency_ms"], list: false, shares: false },
    FieldSpec { name: "prompt_tokens", aliases: &["prompt_tokens"], list: false, shares: false },
    FieldSpec { name: "completion_tokens", aliases: &["completion_tokens"], list: false, shares: false },
];

/// Fields whose texts may be cut into lists.
pub(super) const LISTS: [&str; 6] =
    ["contexts", "expected_contexts", "expected_texts", "tags", "answer_contexts", "answer_context_ids"];

/// What is kept with a case beside its fields.
#[derive(Debug)]
pub(super) enum Metadata {
    /// Every column that no field uses.
    Rest,
    Chosen(Vec<(String, Selector)>),
}

/// The mapping that the suite asks for; every selector that is none is a problem.
pub(super) fn mapping(settings: &FieldSettings, block: &Block, problems: &mut Diagnostics) -> (Mapping, Metadata) {
    let FieldSettings {
        id,
        input,
        reference,
        contexts,
        expected_contexts,
        expected_texts,
        tags,
        cluster,
        answer,
        answer_contexts,
        answer_context_ids,
        latency_ms,
        prompt_tokens,
        completion_tokens,
        metadata,
    } = settings;
    let one = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
    let written = [
        one(id),
        one(input),
        one(reference),
        one(contexts),
        one(expected_contexts),
        one(expected_texts),
        tags.as_ref().map(|tags| tags.as_slice().to_vec()).unwrap_or_default(),
        one(cluster),
        one(answer),
        one(answer_contexts),
        one(answer_context_ids),
        one(latency_ms),
        one(prompt_tokens),
        one(completion_tokens),
    ];
    let mut parse = |text: &str, name: &str| {
        Selector::parse(text)
            .map_err(|reason| problems.push(block.problem(&format!("/fields/{name}"), "selector", reason)))
            .ok()
    };
    let mut explicit = Vec::new();
    for (field, (texts, spec)) in written.iter().zip(SPECS).enumerate() {
        let selectors: Vec<_> = texts.iter().filter_map(|text| parse(text, spec.name)).collect();
        if !selectors.is_empty() {
            explicit.push((field, selectors));
        }
    }
    let metadata = match metadata {
        None => Metadata::Rest,
        Some(MetadataSettings::Names(names)) => {
            Metadata::Chosen(names.iter().filter_map(|name| Some((name.clone(), parse(name, "metadata")?))).collect())
        }
        Some(MetadataSettings::Selectors(selectors)) => Metadata::Chosen(
            selectors.iter().filter_map(|(name, text)| Some((name.clone(), parse(text, "metadata")?))).collect(),
        ),
    };
    (Mapping::build(SPECS, explicit), metadata)
}
