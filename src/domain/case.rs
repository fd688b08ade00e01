//! One question of the data set.

use std::sync::Arc;

use super::{Answer, Context, Digest};

/// A case's stable name: the explicit `id`, or one made from the content. Unique within a data set.
pub type CaseId = Arc<str>;

/// Where a case stands, so that a message or an annotation can point at it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// Path as the user wrote it, relative to the project root, with forward slashes.
    pub file: Arc<str>,
    /// First line of the record, from 1.
    pub line: u32,
}

/// What retrieval should have found for a case.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedContext {
    /// Id of the document or chunk, where relevance is by id.
    pub id: Option<String>,
    /// Its text, where relevance is by text.
    pub text: Option<String>,
    /// Graded relevance, > 0; 1 where the data set does not grade.
    pub gain: f64,
}

/// One test input.
#[derive(Clone, Debug)]
pub struct Case {
    pub id: CaseId,
    /// Position in the data set after `where` and `sample`, from 0: the order of every report.
    pub index: usize,
    pub input: String,
    pub reference: Option<String>,
    /// Contexts that the data set itself provides (for recorded answers or for context-only evaluators).
    pub contexts: Vec<Context>,
    pub expected_contexts: Vec<ExpectedContext>,
    pub tags: Vec<Arc<str>>,
    /// Cases that share a document, conversation or template share a cluster (statistics §4.2).
    pub cluster: Option<Arc<str>>,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// An answer recorded in the row itself.
    pub recorded: Option<Answer>,
    pub place: Place,
    /// Digest of input, reference, expected contexts and given contexts: what the case asks, whatever it is called.
    pub content: Digest,
}
