//! Text → [`Node`], by `serde-saphyr`: budgets before work, every duplicate key, no value changed by its type.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Location, Options, Spanned};

use super::node::{Content, Entry, Node};
use super::read_error;
use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span};

/// Levels of nesting at most. A request's body in a suite has a handful.
pub(super) const MOST_LEVELS: usize = 64;
/// Values at most, after aliases are expanded: a data set of 50,000 cases written into the suite has well below a million.
pub(super) const MOST_NODES: usize = 4_000_000;
/// Values that aliases may add in all.
pub(super) const MOST_ALIASED: usize = 500_000;
/// Copies of values that the reader keeps for aliases.
const MOST_KEPT: usize = 250_000;
/// Bytes of stack for reading [`MOST_LEVELS`] levels, with room to spare.
const STACK: usize = 16 * 1024 * 1024;

/// Reads the text of a YAML (or JSON) file. Problems that leave the tree readable (duplicate keys, odd spaces) are pushed; `None` after
/// one that does not.
pub(super) fn read(source: &Arc<Source>, diagnostics: &mut Diagnostics) -> Option<Node> {
    match parse(source) {
        Ok(raw) => Some(Reader { text: &source.text, source, diagnostics }.node(raw)),
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    }
}

/// Parses on a stack of its own, so that nesting up to the limit is read wherever this is called from.
fn parse(source: &Arc<Source>) -> Result<Spanned<Raw>, Box<Diagnostic>> {
    let parse = || {
        serde_saphyr::from_str_with_options(&source.text, options())
            .map_err(|error| Box::new(read_error::diagnostic(&error, source)))
    };
    let failed = || Box::new(Diagnostic::error("internal", format!("`{}` could not be read by a thread", source.path)));
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("suite".to_owned()).stack_size(STACK).spawn_scoped(scope, parse);
        thread.map_err(|_| failed())?.join().unwrap_or_else(|_| Err(failed()))
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MOST_LEVELS,
            flow_nesting_limit: MOST_LEVELS,
            max_nodes: MOST_NODES,
            max_events: MOST_NODES.saturating_mul(2),
            max_aliases: 100_000,
            max_anchors: 10_000,
            max_recorded_anchor_events: MOST_KEPT,
            max_merge_keys: 100_000,
            enforce_alias_anchor_ratio: false,
            max_documents: 8,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_ALIASED },
        // Seen by the reader below, which reports all of them with both places.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        null_as_string: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

/// What the parser hands over.
enum Raw {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Raw, E> {
        Ok(Raw::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Raw, E> {
        Ok(Raw::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Raw, E> {
        Ok(Number::from_f64(number).map_or_else(|| Raw::Text(number.to_string()), Raw::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct Reader<'r> {
    text: &'r str,
    source: &'r Arc<Source>,
    diagnostics: &'r mut Diagnostics,
}

impl<'r> Reader<'r> {
    fn node(&mut self, raw: Spanned<Raw>) -> Node {
        let place = raw.defined;
        let written = self.written(&place);
        let content = match raw.value {
            Raw::Null => Content::Null,
            Raw::Bool(truth) => Content::Bool(truth),
            Raw::Text(text) => Content::Text(text),
            Raw::Number(number) => number_as_written(number, written),
            Raw::List(items) => Content::List(items.into_iter().map(|item| self.node(item)).collect()),
            Raw::Map(entries) => Content::Map(self.entries(entries)),
        };
        let simple = !matches!(content, Content::List(_) | Content::Map(_));
        let span = span(&place, if simple { written } else { None });
        Node { content, span, offset: offset(&place), from_environment: false }
    }

    /// The entries of a mapping, each key once.
    fn entries(&mut self, raw: Vec<(Spanned<String>, Spanned<Raw>)>) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(raw.len());
        let mut first: HashMap<String, Span> = HashMap::with_capacity(raw.len());
        for (key, value) in raw {
            let key_span = span(&key.defined, self.written(&key.defined));
            if let Some(earlier) = first.get(&key.value) {
                self.duplicate(&key.value, key_span, *earlier);
                continue;
            }
            if key.value.starts_with(is_odd_space) || key.value.ends_with(is_odd_space) {
                self.odd_space(key_span);
            }
            first.insert(key.value.clone(), key_span);
            entries.push(Entry { key: key.value, key_span, value: self.node(value) });
        }
        entries
    }

    fn duplicate(&mut self, key: &str, span: Span, earlier: Span) {
        let message = format!("the key `{key}` is given twice, on lines {} and {}", earlier.line, span.line);
        self.diagnostics.push(
            Diagnostic::error("duplicate-key", message)
                .at(self.source, span)
                .related(earlier, "first given here")
                .help("keep one of them; neither value is used"),
        );
    }

    fn odd_space(&mut self, span: Span) {
        let message = "a key begins or ends with a special space, such as a non-breaking one, that YAML does not read as indentation";
        self.diagnostics.push(
            Diagnostic::error("odd-space", message).at(self.source, span).help("replace it with ordinary spaces"),
        );
    }

    /// What stands at a place.
    fn written(&self, place: &Location) -> Option<&'r str> {
        let begin = offset(place);
        let length = usize::try_from(place.span().byte_len()?).ok()?;
        self.text.get(begin..begin.checked_add(length)?)
    }
}

fn is_odd_space(letter: char) -> bool {
    letter != ' ' && (letter.is_whitespace() || matches!(letter, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'))
}

/// A number keeps its written form; one too large to be exact is the text that stands there.
fn number_as_written(number: Number, written: Option<&str>) -> Content {
    let written = match written {
        Some(written) if !written.starts_with(['"', '\'', '!', '|', '>']) => written.to_owned(),
        Some(_) | None => number.to_string(),
    };
    let whole = !written.is_empty() && written.trim_start_matches(['-', '+']).bytes().all(|byte| byte.is_ascii_digit());
    if whole && number.is_f64() { Content::Text(written) } else { Content::Number { number, written } }
}

fn offset(place: &Location) -> usize {
    place.span().byte_offset().and_then(|offset| usize::try_from(offset).ok()).unwrap_or(0)
}

/// The place of a scalar with its length on the first line; of anything longer, its beginning.
fn span(place: &Location, written: Option<&str>) -> Span {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let length = written.map_or(0, |written| written.lines().next().unwrap_or_default().trim_end().chars().count());
    Span::new(number(place.line()), number(place.column()), u32::try_from(length).unwrap_or(u32::MAX))
}
