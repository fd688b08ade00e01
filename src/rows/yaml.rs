//! A YAML file: a list of mappings, or a mapping that holds one such list. Held in memory.
//!
//! YAML turns `NO` into false and `1.10` into 1.1 where nobody asked for it, so this reads the events of the parser and keeps every
//! plain scalar as written: it is a number only where the number prints as the same text, true or false only in that spelling, and null
//! only as `null` or nothing at all. Other spellings of null, merge keys, and tags other than `!!str` are refused.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value};

use super::encoding::{decode, read_whole};
use super::problem::{at, at_line, count32, shown_name};
use super::reader::checksum;
use super::{DataFile, Layout, Row, RowReader, budget};
use crate::diagnostic::{Diagnostic, Span as Place};

pub(crate) struct Yaml {
    file: Arc<str>,
    records: Vec<Record>,
    checksum: u32,
    next: usize,
}

struct Record {
    line: u32,
    value: Value,
    /// Line and column of the members' values.
    members: Vec<(String, u32, u32)>,
}

impl Yaml {
    pub(crate) fn open(file: &DataFile, layout: &Layout) -> Result<Self, Diagnostic> {
        let text = decode(&file.shown, read_whole(file)?, layout.encoding)?;
        let records = records(&file.shown, &text, layout.rows.as_deref())?;
        Ok(Self { file: Arc::clone(&file.shown), records, checksum: checksum(text.as_bytes()), next: 0 })
    }

    fn current(&self) -> Option<&Record> {
        self.next.checked_sub(1).and_then(|at| self.records.get(at))
    }
}

impl RowReader for Yaml {
    fn advance(&mut self) -> Result<bool, Diagnostic> {
        self.next += 1;
        Ok(self.next <= self.records.len())
    }

    fn row(&self) -> Result<Row, Diagnostic> {
        match self.current() {
            Some(Record { line, value: Value::Object(map), .. }) => {
                let mut row = Row::new(*line, map.clone());
                row.exact = true;
                Ok(row)
            }
            Some(Record { line, .. }) => {
                Err(at_line(&self.file, *line, "not-an-object", "this record is not a mapping with named fields"))
            }
            None => Err(at_line(&self.file, 1, "bad-yaml", "there is no record here")),
        }
    }

    fn line(&self) -> u32 {
        self.current().map_or(1, |record| record.line)
    }

    fn place(&self, column: &str) -> Option<Place> {
        let (_, line, at) = self.current()?.members.iter().find(|(name, ..)| name == column)?;
        Some(Place::new(*line, *at, 1))
    }

    fn checksum(&self) -> u32 {
        // Any change of the file shows in every record: the text is not kept.
        self.checksum
    }
}

/// A value with the place it begins at and the values it is made of.
#[derive(Clone)]
struct Node {
    line: u32,
    column: u32,
    weight: usize,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Leaf(Value),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    fn value(self) -> Value {
        match self.content {
            Content::Leaf(value) => value,
            Content::List(items) => Value::Array(items.into_iter().map(Node::value).collect()),
            Content::Map(members) => {
                Value::Object(members.into_iter().map(|(key, node)| (key, node.value())).collect::<Map<_, _>>())
            }
        }
    }
}

fn records(file: &str, text: &str, key: Option<&str>) -> Result<Vec<Record>, Diagnostic> {
    let Some(root) = Builder::new(file, text).document()? else { return Ok(Vec::new()) };
    let line = root.line;
    let list = match root.content {
        Content::List(items) => items,
        Content::Map(members) => chosen(file, line, members, key)?,
        Content::Leaf(Value::Null) => return Ok(Vec::new()),
        Content::Leaf(_) => {
            return Err(at_line(
                file,
                line,
                "not-a-list",
                "the file is neither a list of mappings nor a mapping that holds one",
            ));
        }
    };
    Ok(list.into_iter().map(record).collect())
}

fn record(node: Node) -> Record {
    let members = match &node.content {
        Content::Map(members) => members.iter().map(|(key, node)| (key.clone(), node.line, node.column)).collect(),
        Content::Leaf(_) | Content::List(_) => Vec::new(),
    };
    Record { line: node.line, value: node.value(), members }
}

fn chosen(file: &str, line: u32, members: Vec<(String, Node)>, key: Option<&str>) -> Result<Vec<Node>, Diagnostic> {
    let wanted = |name: &str, items: &[Node]| match key {
        Some(key) => name == key,
        None => items.first().is_some_and(|first| matches!(first.content, Content::Map(_))),
    };
    let mut lists: Vec<(String, Vec<Node>)> = Vec::new();
    for (name, node) in members {
        if let Content::List(items) = node.content
            && wanted(&name, &items)
        {
            lists.push((name, items));
        }
    }
    let names: Vec<_> = lists.iter().map(|(name, _)| shown_name(name)).collect();
    match (lists.pop(), lists.is_empty()) {
        (Some((_, items)), true) => Ok(items),
        (Some(_), false) => Err(at_line(
            file,
            line,
            "ambiguous-rows",
            format!("the file holds several lists of mappings: {}", names.join(", ")),
        )
        .help("choose one with `rows`")),
        (None, _) => Err(match key {
            Some(key) => {
                at_line(file, line, "not-a-list", format!("the file has no list under `{key}` (set by `rows`)"))
            }
            None => at_line(file, line, "not-a-list", "the file is a mapping without a list of mappings in it"),
        }),
    }
}

/// Events → nodes, without recursion on the text.
struct Builder<'t> {
    file: &'t str,
    events: Parser<'t, granit_parser::StrInput<'t>>,
    anchors: HashMap<usize, Node>,
    from_aliases: usize,
}

/// A collection that is still open.
struct Open {
    line: u32,
    column: u32,
    anchor: usize,
    weight: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    /// Members, the places of their keys, and a key that waits for its value.
    Map(Vec<(String, Node)>, HashMap<String, u32>, Option<String>),
}

impl<'t> Builder<'t> {
    fn new(file: &'t str, text: &'t str) -> Self {
        let mut options = Options::default();
        options.set_emit_comments(false);
        Self {
            file,
            events: Parser::new_from_str_with_options(text, options),
            anchors: HashMap::new(),
            from_aliases: 0,
        }
    }

    fn document(mut self) -> Result<Option<Node>, Diagnostic> {
        let mut open: Vec<Open> = Vec::new();
        let mut root = None;
        while let Some(event) = self.events.next_event() {
            let (event, span) = event.map_err(|error| {
                let marker = error.marker();
                at(
                    self.file,
                    count32(marker.line()),
                    count32(marker.col() + 1),
                    "bad-yaml",
                    format!("not YAML: {}", error.info()),
                )
            })?;
            let done = match event {
                Event::Scalar(text, style, anchor, tag) => {
                    if let Some(Open { kind: OpenKind::Map(_, keys, waiting @ None), .. }) = open.last_mut() {
                        *waiting = Some(self.key(&text, span, keys)?);
                        continue;
                    }
                    let value = self.scalar(&text, style, tag.as_deref(), span)?;
                    self.keep(
                        anchor,
                        Node { line: line(span), column: column(span), weight: 1, content: Content::Leaf(value) },
                    )
                }
                Event::SequenceStart(_, anchor, tag) => {
                    self.start(&mut open, OpenKind::List(Vec::new()), anchor, tag.as_deref(), span)?;
                    continue;
                }
                Event::MappingStart(_, anchor, tag) => {
                    self.start(
                        &mut open,
                        OpenKind::Map(Vec::new(), HashMap::new(), None),
                        anchor,
                        tag.as_deref(),
                        span,
                    )?;
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(closed) => self.close(closed),
                    None => continue,
                },
                Event::Alias(anchor) => {
                    if let Some(Open { kind: OpenKind::Map(_, _, None), .. }) = open.last() {
                        return Err(self.wrong(span, "bad-yaml", "an alias cannot be a key here"));
                    }
                    self.alias(anchor, span)?
                }
                Event::DocumentStart(..) if root.is_some() => {
                    return Err(self
                        .wrong(span, "several-documents", "a second document begins here; a data file is one list")
                        .help("write the records as one list, each with `- ` before it"));
                }
                _ => continue,
            };
            match open.last_mut() {
                None => root = Some(done),
                Some(parent) => add(parent, done),
            }
        }
        Ok(root)
    }

    fn wrong(&self, span: Span, code: &'static str, message: impl Into<String>) -> Diagnostic {
        at(self.file, line(span), column(span), code, message)
    }

    fn start(
        &self,
        open: &mut Vec<Open>,
        kind: OpenKind,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<(), Diagnostic> {
        if let Some(tag) = tag {
            return Err(self.wrong(
                span,
                "tag",
                format!("the tag {} is not supported in data files", shown_name(&tag.original())),
            ));
        }
        if let Some(Open { kind: OpenKind::Map(_, _, None), .. }) = open.last() {
            return Err(self.wrong(span, "bad-yaml", "a key must be a text"));
        }
        if open.len() >= budget::DEPTH {
            let message = format!("lists and mappings are nested deeper than {} levels (limit: depth)", budget::DEPTH);
            return Err(self.wrong(span, "too-deep", message));
        }
        open.push(Open { line: line(span), column: column(span), anchor, weight: 1, kind });
        Ok(())
    }

    fn close(&mut self, closed: Open) -> Node {
        let content = match closed.kind {
            OpenKind::List(items) => Content::List(items),
            OpenKind::Map(members, _, _) => Content::Map(members),
        };
        self.keep(closed.anchor, Node { line: closed.line, column: closed.column, weight: closed.weight, content })
    }

    fn keep(&mut self, anchor: usize, node: Node) -> Node {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        node
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, Diagnostic> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(self.wrong(span, "bad-yaml", "this alias refers to itself or to nothing"));
        };
        self.from_aliases = self.from_aliases.saturating_add(node.weight);
        if self.from_aliases > budget::ALIAS_VALUES {
            let message = format!("aliases would add more than {} values (limit: alias values)", budget::ALIAS_VALUES);
            return Err(self.wrong(span, "too-large", message));
        }
        Ok(node.clone())
    }

    fn key(&self, text: &str, span: Span, keys: &mut HashMap<String, u32>) -> Result<String, Diagnostic> {
        if text == "<<" {
            return Err(self.wrong(
                span,
                "merge-key",
                "merge keys (`<<`) are not supported in data files; write the fields out",
            ));
        }
        if let Some(first) = keys.insert(text.to_owned(), line(span)) {
            let message = format!("the key {} stands twice in one mapping (first on line {first})", shown_name(text));
            return Err(self.wrong(span, "duplicate-key", message));
        }
        Ok(text.to_owned())
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Value, Diagnostic> {
        match tag {
            Some(tag) if tag.core_suffix() == Some("str") => return Ok(Value::String(text.to_owned())),
            Some(tag) => {
                return Err(self.wrong(
                    span,
                    "tag",
                    format!("the tag {} is not supported in data files", shown_name(&tag.original())),
                ));
            }
            None => {}
        }
        if !matches!(style, ScalarStyle::Plain) {
            return Ok(Value::String(text.to_owned()));
        }
        match text {
            "" | "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "~" | "Null" | "NULL" => Err(self
                .wrong(span, "implicit-type", format!("`{text}` is nothing to YAML, and text to most people"))
                .help(format!("write `null` for nothing, or \"{text}\" in quotes for the text"))),
            _ => Ok(number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)),
        }
    }
}

/// A number, where nothing of the text is lost by it.
fn number(text: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(text).ok()?;
    (number.to_string() == text).then_some(number)
}

fn line(span: Span) -> u32 {
    count32(span.start.line())
}

fn column(span: Span) -> u32 {
    count32(span.start.col().saturating_add(1))
}

fn add(parent: &mut Open, node: Node) {
    parent.weight = parent.weight.saturating_add(node.weight);
    match &mut parent.kind {
        OpenKind::List(items) => items.push(node),
        OpenKind::Map(members, _, waiting) => members.push((waiting.take().unwrap_or_default(), node)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(u32, Value)>, Diagnostic> {
        let records = records("f.yaml", text, None)?;
        Ok(records.into_iter().map(|record| (record.line, record.value)).collect())
    }

    #[test]
    fn yaml_implicit_types() {
        let fixture = include_str!("../../fixtures/cases/yaml/implicit-types.yaml");
        let values: Vec<&str> = fixture.lines().filter_map(|line| line.trim().strip_prefix("- ")).collect();
        assert!(values.len() > 10);
        for (at, text) in values.iter().enumerate() {
            match read(&format!("- id: a\n  input: {text}\n")) {
                Ok(rows) => {
                    let found = &rows[0].1["input"];
                    assert_eq!(found.as_str().map_or_else(|| found.to_string(), str::to_owned), *text);
                }
                Err(error) => assert_eq!(error.span.map(|span| span.line), Some(2), "{at}: {text}"),
            }
        }
        let refused = read(fixture).unwrap_err();
        assert_eq!(refused.span.map(|span| span.line), Some(6), "`~` by its line: {}", refused.message);
    }

    #[test]
    fn quoted_and_block_text_is_text() {
        let rows = read("- a: \"1\"\n  b: |\n    two\n    lines\n  c: !!str 5\n  d: 5\n").unwrap();
        assert_eq!(rows[0].1, serde_json::json!({"a": "1", "b": "two\nlines\n", "c": "5", "d": 5}));
    }

    #[test]
    fn records_know_their_lines_and_may_be_in_a_mapping() {
        let rows = read("name: x\nrows:\n  - {a: 1}\n\n  - a: 2\n    b: &x [1]\n    c: *x\n").unwrap();
        assert_eq!(rows.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(rows[1].1["c"], serde_json::json!([1]));
    }

    #[test]
    fn what_yaml_hides_is_refused_with_its_line() {
        for (text, line, word) in [
            ("- a: 1\n  a: 2\n", 2, "stands twice"),
            ("- &d {a: 1}\n- <<: *d\n", 2, "merge"),
            ("- a: 1\n---\n- a: 2\n", 2, "second document"),
            ("- a: !!int 1\n", 1, "tag"),
            ("- a: [1\n", 1, "not YAML"),
            ("- a: b\n\t- c\n", 1, "found a tab"),
            ("just text\n", 1, "neither"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.message.contains(word), "{text:?}: {}", error.message);
            assert_eq!(error.span.map(|span| span.line), Some(line), "{text:?}: {}", error.message);
        }
        assert!(read("").unwrap().is_empty());
        assert!(read("# only a comment\n").unwrap().is_empty());
    }

    #[test]
    fn bombs_are_refused_by_the_name_of_the_limit() {
        let error = read(include_str!("../../fixtures/cases/yaml/alias-bomb.yaml")).unwrap_err();
        assert!(error.message.contains("alias values"), "{}", error.message);
        let error = read(&"[".repeat(100_000)).unwrap_err();
        assert!(error.message.contains("limit") || error.message.contains("not YAML"), "{}", error.message);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-c:\\-\\[\\]{}&*#'\"|>!~,\n\t ]{0,40}") {
            let _ = read(&text);
        }
    }
}
