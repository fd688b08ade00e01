//! A row → a [`Case`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::field::{
    ANSWER, ANSWER_CONTEXT_IDS, ANSWER_CONTEXTS, CLUSTER, COMPLETION, CONTEXTS, EXPECTED_CONTEXTS, EXPECTED_TEXTS, ID,
    INPUT, LATENCY, Metadata, PROMPT, REFERENCE, SPECS, TAGS,
};
use crate::domain::{Answer, Case, Context, Digest, ExpectedContext, Place};
use crate::rows::{
    AnswerParts, Bound, Fault, Found, ListRule, Lists, Mapping, Row, answer_from, contexts_of, first, id_of, items_of,
    kind_of, shown_name, text_of, texts_of,
};

/// Hexadecimal digits of the content's digest in the id of a case that has none.
const ID_DIGITS: usize = 12;
/// Tags that are shared between cases; beyond it every case has its own.
const SHARED_TAGS: usize = 10_000;

/// How rows become cases.
#[derive(Debug)]
pub(super) struct Recipe {
    pub mapping: Mapping,
    pub lists: Lists,
    pub metadata: Metadata,
    pub tags: Tags,
}

/// Texts that many cases share.
#[derive(Debug, Default)]
pub(super) struct Tags(Mutex<HashMap<String, Arc<str>>>);

impl Tags {
    fn share(&self, text: String) -> Arc<str> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tag) = known.get(&text) {
            return Arc::clone(tag);
        }
        let tag: Arc<str> = Arc::from(text.as_str());
        if known.len() < SHARED_TAGS {
            known.insert(text, Arc::clone(&tag));
        }
        tag
    }
}

/// A case whose position is not known yet, and whether its id was written.
pub(super) struct Built {
    pub case: Case,
    pub named: bool,
    /// An expected context given as an id looks like a passage.
    pub odd_id: bool,
}

impl Recipe {
    /// The fields that say what retrieval should find. Where the suite names one of them, a column that merely has a fitting name does not
    /// add to it.
    fn relevance(&self) -> Vec<usize> {
        let both = [EXPECTED_CONTEXTS, EXPECTED_TEXTS];
        let named: Vec<usize> = both.into_iter().filter(|field| self.mapping.is_explicit(*field)).collect();
        if named.is_empty() { both.to_vec() } else { named }
    }

    /// The case of a row, with index 0.
    ///
    /// # Errors
    /// What is wrong with which field, without the row's texts.
    pub(super) fn build(&self, row: Row, file: &Arc<str>) -> Result<Built, Fault> {
        let bound = self.mapping.bind(&row)?;
        let rule = |field: usize| self.lists.rule(SPECS.get(field).map_or("", |spec| spec.name));
        let input = match text_of("input", bound.get(INPUT)).map_err(Fault::of(INPUT))? {
            Some(input) if !input.trim().is_empty() => input,
            Some(_) => return Err(Fault::of(INPUT)("the input is empty".to_owned())),
            None => return Err(Fault::of(INPUT)(self.no_input(&row))),
        };
        let reference = text_of("reference", bound.get(REFERENCE)).map_err(Fault::of(REFERENCE))?;
        let contexts = contexts_of("contexts", bound.get(CONTEXTS), rule(CONTEXTS)).map_err(Fault::of(CONTEXTS))?;
        let (expected_contexts, odd_id) =
            expected(&bound, &self.relevance(), rule(EXPECTED_CONTEXTS), rule(EXPECTED_TEXTS))?;
        let tags = self.tags_of(&bound, rule(TAGS)).map_err(Fault::of(TAGS))?;
        let cluster =
            text_of("cluster", bound.get(CLUSTER)).map_err(Fault::of(CLUSTER))?.map(|cluster| self.tags.share(cluster));
        let recorded = recorded(&row, &bound, &contexts, rule(ANSWER_CONTEXTS), rule(ANSWER_CONTEXT_IDS))?;
        let content = content(&input, reference.as_deref(), &contexts, &expected_contexts);
        let explicit = id_of(&row, bound.get(ID)).map_err(Fault::of(ID))?;
        let named = explicit.is_some();
        let id = explicit.unwrap_or_else(|| {
            content
                .to_string()
                .chars()
                .take(ID_DIGITS)
                .fold("c-".to_owned(), |id, digit| id + digit.encode_utf8(&mut [0; 4]))
        });
        let line = row.line;
        let used: Vec<String> = bound.used.iter().map(|name| (*name).to_owned()).collect();
        drop(bound);
        let metadata = self.metadata(row, &used)?;
        let case = Case {
            id: Arc::from(id),
            index: 0,
            input,
            reference,
            contexts,
            expected_contexts,
            tags,
            cluster,
            metadata,
            recorded,
            place: Place { file: Arc::clone(file), line },
            content,
        };
        Ok(Built { case, named, odd_id })
    }

    fn no_input(&self, row: &Row) -> String {
        let names: Vec<_> = row.names().take(12).map(shown_name).collect();
        format!("there is no input (the row has {}); name its column with `fields: {{ input: … }}`", names.join(", "))
    }

    fn tags_of(&self, bound: &Bound<'_>, rule: &ListRule) -> Result<Vec<Arc<str>>, String> {
        let mut tags: Vec<Arc<str>> = Vec::new();
        for found in bound.all(TAGS) {
            for tag in texts_of("tags", found, rule)? {
                if tag.trim().is_empty() {
                    return Err("a tag is empty".to_owned());
                }
                let tag = self.tags.share(tag);
                if !tags.contains(&tag) {
                    tags.push(tag);
                }
            }
        }
        Ok(tags)
    }

    fn metadata(&self, row: Row, used: &[String]) -> Result<Map<String, Value>, String> {
        match &self.metadata {
            Metadata::Rest => {
                let mut map = row.into_map();
                map.retain(|name, _| !used.iter().any(|used| used == name));
                Ok(map)
            }
            Metadata::Chosen(chosen) => {
                let mut map = Map::new();
                for (name, selector) in chosen {
                    let value = match selector.select(&row) {
                        Found::Absent => {
                            return Err(format!("there is no `{}` here, which `metadata` asks for", selector.as_str()));
                        }
                        Found::One(value, _) => value.clone(),
                        Found::Many(nodes) => match nodes.as_slice() {
                            [one] => (*one).clone(),
                            many => Value::Array(many.iter().map(|node| (*node).clone()).collect()),
                        },
                    };
                    map.insert(name.clone(), value);
                }
                Ok(map)
            }
        }
    }
}

fn recorded(
    row: &Row,
    bound: &Bound<'_>,
    given: &[Context],
    contexts_rule: &ListRule,
    context_ids_rule: &ListRule,
) -> Result<Option<Answer>, String> {
    let parts = AnswerParts {
        text: bound.get(ANSWER),
        contexts: bound.get(ANSWER_CONTEXTS),
        contexts_rule,
        context_ids: bound.get(ANSWER_CONTEXT_IDS),
        context_ids_rule,
        latency_ms: bound.get(LATENCY),
        prompt_tokens: bound.get(PROMPT),
        completion_tokens: bound.get(COMPLETION),
        usage: row.get("usage"),
    };
    let mut answer = answer_from(&parts)?;
    if let Some(answer) = &mut answer
        && *parts.contexts == Found::Absent
        && answer.contexts.is_empty()
    {
        answer.contexts = given.to_vec();
    }
    Ok(answer)
}

/// What retrieval should find; true where an id looks like a passage.
fn expected(
    bound: &Bound<'_>,
    fields: &[usize],
    ids: &ListRule,
    texts: &ListRule,
) -> Result<(Vec<ExpectedContext>, bool), Fault> {
    let mut all = Vec::new();
    let mut odd = false;
    for (field, name, rule) in
        [(EXPECTED_CONTEXTS, "expected_contexts", ids), (EXPECTED_TEXTS, "expected_texts", texts)]
    {
        if !fields.contains(&field) {
            continue;
        }
        for (at, item) in items_of(name, bound.get(field), rule).map_err(Fault::of(field))?.iter().enumerate() {
            let wrong = |reason: String| Fault::of(field)(format!("item {} of `{name}` {reason}", at + 1));
            match &**item {
                Value::Object(map) => all.extend(graded(map).map_err(wrong)?),
                Value::Array(_) => return Err(wrong(format!("is {}", kind_of(item)))),
                scalar => {
                    let text = scalar.as_str().map_or_else(|| scalar.to_string(), str::to_owned);
                    if text.trim().is_empty() {
                        return Err(wrong("is empty".to_owned()));
                    }
                    odd |= field == EXPECTED_CONTEXTS && text.split_whitespace().nth(3).is_some();
                    let (id, text) = if field == EXPECTED_CONTEXTS { (Some(text), None) } else { (None, Some(text)) };
                    all.push(ExpectedContext { id, text, gain: 1.0 });
                }
            }
        }
    }
    Ok((all, odd))
}

/// An object with id or text, and gain; nothing where the gain is 0: that is not relevant.
fn graded(map: &Map<String, Value>) -> Result<Option<ExpectedContext>, String> {
    let id = first(map, &["id", "id_", "chunk_id", "node_id", "doc_id"])?;
    let text = first(map, &["text", "content"])?;
    if id.is_none() && text.is_none() {
        return Err("has neither an id nor a text".to_owned());
    }
    let gain = match ["gain", "grade", "relevance"].iter().find_map(|key| map.get(*key)) {
        None | Some(Value::Null) => 1.0,
        Some(value) => value.as_f64().filter(|gain| *gain >= 0.0).ok_or("has a gain that is no number from 0 up")?,
    };
    Ok((gain > 0.0).then_some(ExpectedContext { id, text, gain }))
}

/// What the case asks, whatever it is called. Every part says how many follow, so that no two contents read the same.
fn content(input: &str, reference: Option<&str>, contexts: &[Context], expected: &[ExpectedContext]) -> Digest {
    let mut parts: Vec<Vec<u8>> = vec![b"case 1".to_vec(), input.as_bytes().to_vec()];
    let optional = |parts: &mut Vec<Vec<u8>>, text: Option<&str>| match text {
        None => parts.push(vec![0]),
        Some(text) => parts.extend([vec![1], text.as_bytes().to_vec()]),
    };
    optional(&mut parts, reference);
    parts.push((contexts.len() as u64).to_le_bytes().to_vec());
    for context in contexts {
        optional(&mut parts, context.id.as_deref());
        parts.push(context.text.as_bytes().to_vec());
    }
    for context in expected {
        optional(&mut parts, context.id.as_deref());
        optional(&mut parts, context.text.as_deref());
        parts.push(context.gain.to_bits().to_le_bytes().to_vec());
    }
    Digest::of(parts)
}
