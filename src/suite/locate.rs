//! [`Node`] → [`Block`]: the plain value beside the map from JSON pointer to place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Block;
use super::block::Written;
use super::node::{Content, Node};
use crate::diagnostic::{Source, Span};
use crate::text::pointer::escape;

/// What a block is called and where.
pub(super) struct Label<'l> {
    pub name: &'l str,
    pub kind: &'l str,
    /// `evaluators.tone`.
    pub path: String,
    /// The place of its key (or of the entry).
    pub span: Span,
    /// The place of the word that says its kind.
    pub kind_span: Span,
}

/// The block that `node` holds.
pub(super) fn block(node: &Node, label: Label<'_>, source: &Arc<Source>) -> Block {
    let mut places = Places::default();
    places.walk(node, "");
    places.spans.insert("#key".to_owned(), label.span);
    places.spans.insert("#kind".to_owned(), label.kind_span);
    Block {
        name: label.name.into(),
        kind: label.kind.into(),
        value: node.value(),
        path: label.path,
        source: Arc::clone(source),
        span: label.span,
        spans: Arc::new(places.spans),
        written: Arc::new(places.written),
    }
}

#[derive(Default)]
struct Places {
    spans: BTreeMap<String, Span>,
    written: Written,
}

impl Places {
    fn walk(&mut self, node: &Node, pointer: &str) {
        self.spans.insert(pointer.to_owned(), node.span);
        if node.from_environment {
            self.written.from_environment.insert(pointer.to_owned());
        }
        match &node.content {
            Content::Number { written, .. } => {
                self.written.numbers.insert(pointer.to_owned(), written.clone());
            }
            Content::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.walk(item, &format!("{pointer}/{index}"));
                }
            }
            Content::Map(entries) => {
                for entry in entries {
                    let pointer = format!("{pointer}/{}", escape(&entry.key));
                    self.spans.insert(format!("#key{pointer}"), entry.key_span);
                    self.walk(&entry.value, &pointer);
                }
            }
            Content::Null | Content::Bool(_) | Content::Text(_) => {}
        }
    }
}

impl Written {
    pub(super) fn none() -> Self {
        Self { numbers: BTreeMap::new(), from_environment: BTreeSet::new() }
    }
}
