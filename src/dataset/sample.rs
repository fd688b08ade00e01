//! `where` and `sample`: which rows are cases.

use std::borrow::Cow;
use std::collections::BinaryHeap;

use serde_json::Value;

use crate::domain::{Case, Digest};
use crate::text::expression::Names;

/// The names a condition may use: the case's fields first, then the row's columns.
pub(super) struct CaseNames<'c> {
    pub case: &'c Case,
    /// The row's own columns, also those that fill a field.
    pub columns: &'c serde_json::Map<String, Value>,
}

impl Names for CaseNames<'_> {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        let text = |text: &str| Some(Cow::Owned(Value::String(text.to_owned())));
        match name {
            "id" => text(&self.case.id),
            "input" => text(&self.case.input),
            "reference" => Some(
                self.case.reference.as_ref().map_or(Cow::Owned(Value::Null), |found| Cow::Owned(found.as_str().into())),
            ),
            "tags" => Some(Cow::Owned(Value::Array(self.case.tags.iter().map(|tag| Value::from(&**tag)).collect()))),
            "cluster" => Some(Cow::Owned(self.case.cluster.as_deref().map_or(Value::Null, Value::from))),
            name => self
                .columns
                .get(name)
                .or_else(|| self.case.metadata.get(name))
                .or_else(|| nested(self.columns, name))
                .map(Cow::Borrowed),
        }
    }
}

/// `user.plan` in `{"user": {"plan": …}}`.
fn nested<'v>(columns: &'v serde_json::Map<String, Value>, name: &str) -> Option<&'v Value> {
    let mut parts = name.split('.');
    let first = columns.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// A row that may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// From seed and id alone: the smallest keys are chosen.
    pub key: [u8; 16],
    pub file: usize,
    pub record: u32,
    pub checksum: u32,
    /// Hashes of id and input, and digest of id and content.
    pub id: u64,
    pub question: u64,
    pub sum: u128,
}

/// The key of a case in a sample: independent of its row's position and of all other rows.
pub(super) fn key(seed: u64, id: &str) -> [u8; 16] {
    *Digest::of([b"sample".as_slice(), &seed.to_le_bytes(), id.as_bytes()]).bytes()
}

/// Keeps the `n` candidates with the smallest keys.
#[derive(Debug)]
pub(super) struct Smallest {
    n: usize,
    heap: BinaryHeap<Candidate>,
}

impl Smallest {
    pub(super) fn new(n: usize) -> Self {
        Self { n, heap: BinaryHeap::new() }
    }

    pub(super) fn offer(&mut self, candidate: Candidate) {
        if self.heap.len() < self.n {
            self.heap.push(candidate);
        } else if self.heap.peek().is_some_and(|largest| candidate < *largest) {
            self.heap.pop();
            self.heap.push(candidate);
        }
    }

    /// The chosen ones in the order of files and records.
    pub(super) fn into_order(self) -> Vec<Candidate> {
        let mut chosen = self.heap.into_vec();
        chosen.sort_unstable_by_key(|candidate| (candidate.file, candidate.record));
        chosen
    }
}
