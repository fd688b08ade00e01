//! A file of recorded answers, by id: what the `recorded` target asks.
//!
//! [`Recorded::open`] reads and checks everything once. Of a UTF-8 JSONL file it keeps sixteen bytes a row and reads an answer again
//! when it is asked for; of other formats it keeps the answers.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::selector::{FieldSpec, Mapping};
use super::{
    AnswerParts, DataFile, Fault, Layout, LayoutSettings, Lists, Problems, Row, Selector, answer_from, at_line, jsonl,
    missing_column, open, resolve, show, value,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::domain::{Answer, Digest, Failure, FailureKind};
use crate::suite::{Block, Suite};

/// Settings of a `recorded` target that names a file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RecordedSettings {
    /// The file, relative to the suite: .jsonl, .json, .yaml, .csv or .tsv.
    pub path: String,
    #[serde(flatten)]
    pub layout: LayoutSettings,
    /// Which column or JSONPath holds what.
    #[serde(default)]
    pub fields: RecordedFields,
}

/// A column's name, or a JSONPath (`$.…`), for each part of an answer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecordedFields {
    /// The case's id; default `id`, `case` or `case_id`.
    pub id: Option<String>,
    /// The answer's text; default `answer`, `output`, `response`, `prediction` or `actual_output`.
    pub answer: Option<String>,
    /// The retrieved passages, best first: texts, or objects with text, id and score; default `contexts`, `retrieved_contexts` or `retrieval_context`.
    pub contexts: Option<String>,
    /// Their ids, where the passages are plain texts; default `context_ids` or `retrieved_ids`.
    pub context_ids: Option<String>,
    /// Milliseconds the answer took; default `latency_ms`.
    pub latency_ms: Option<String>,
    /// Tokens of the prompt; default `prompt_tokens`, or the same in `usage`.
    pub prompt_tokens: Option<String>,
    /// Tokens of the answer; default `completion_tokens`, or the same in `usage`.
    pub completion_tokens: Option<String>,
}

const ID: usize = 0;
const ANSWER: usize = 1;
const CONTEXTS: usize = 2;
const CONTEXT_IDS: usize = 3;
const LATENCY: usize = 4;
const PROMPT: usize = 5;
const COMPLETION: usize = 6;

const SPECS: &[FieldSpec] = &[
    FieldSpec { name: "id", aliases: &["id", "case", "case_id"], list: false, shares: true },
    FieldSpec {
        name: "answer",
        aliases: &["answer", "output", "response", "prediction", "actual_output"],
        list: false,
        shares: false,
    },
    FieldSpec {
        name: "contexts",
        aliases: &["contexts", "retrieved_contexts", "retrieval_context"],
        list: true,
        shares: false,
    },
    FieldSpec { name: "context_ids", aliases: &["context_ids", "retrieved_ids"], list: true, shares: false },
    FieldSpec { name: "latency_ms", aliases: &["latency_ms"], list: false, shares: false },
    FieldSpec { name: "prompt_tokens", aliases: &["prompt_tokens"], list: false, shares: false },
    FieldSpec { name: "completion_tokens", aliases: &["completion_tokens"], list: false, shares: false },
];

/// Recorded answers, ready to be asked.
pub struct Recorded {
    /// Answers in the file.
    pub len: usize,
    /// The file, as messages show it.
    pub file: Arc<str>,
    decoder: Decoder,
    store: Store,
}

struct Decoder {
    mapping: Mapping,
    lists: Lists,
}

enum Store {
    /// (hash of the id, where its row begins), sorted; equal hashes are told apart by reading.
    Offsets(Vec<(u64, u64)>, Mutex<File>),
    Answers(HashMap<String, Result<Answer, Failure>>),
}

impl Recorded {
    /// Reads and checks the whole file. Problems of the settings are placed in `block`, whose value they are.
    ///
    /// # Errors
    /// Every problem of the file: what cannot be read, rows without id, ids that stand twice, no answers at all.
    pub fn open(settings: &RecordedSettings, suite: &Suite, block: &Block) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::default();
        let Some((decoder, layout, file)) = Self::checked(settings, suite, block, &mut problems) else {
            return Err(problems);
        };
        let mut scan = Scan::default();
        if let Err(problem) = scan.read(&file, &layout, &decoder) {
            scan.problems.push(problem);
        }
        scan.finish(&file, &decoder).map_err(|mut problems| {
            show(&mut problems, &file, &layout);
            problems
        })?;
        let len = scan.places.len();
        let store = if scan.rereadable {
            let handle = File::open(&file.path)
                .map_err(|error| Diagnostic::error("unreadable", format!("cannot read {}: {error}", file.shown)))?;
            Store::Offsets(scan.places, Mutex::new(handle))
        } else {
            Store::Answers(scan.answers)
        };
        Ok(Self { len, file: file.shown, decoder, store })
    }

    /// Checks the settings and that the file is there, without reading it; `None` after pushing every problem.
    fn checked(
        settings: &RecordedSettings,
        suite: &Suite,
        block: &Block,
        problems: &mut Diagnostics,
    ) -> Option<(Decoder, Layout, DataFile)> {
        let decoder = Decoder::build(settings, block).map_err(|more| problems.extend(more));
        let layout = layout(settings, block).map_err(|more| problems.extend(more));
        let file = resolve(suite, &settings.path).map_err(|error| problems.push(error.at(block, "/path")));
        Some((decoder.ok()?, layout.ok()?, file.ok()?))
    }

    /// Every problem of the settings, and of the file's being there, without reading it.
    pub fn check(settings: &RecordedSettings, suite: &Suite, block: &Block, problems: &mut Diagnostics) {
        let _unused = Self::checked(settings, suite, block, problems);
    }

    /// The answer recorded for a case; `None` where the file has none.
    ///
    /// A null or absent answer is a failure of the target, as is a row with an `error`; an empty text is an answer.
    pub fn answer(&self, id: &str) -> Option<Result<Answer, Failure>> {
        let (index, handle) = match &self.store {
            Store::Answers(answers) => return answers.get(id).cloned(),
            Store::Offsets(index, handle) => (index, handle),
        };
        let hash = hash(id);
        let from = index.partition_point(|(other, _)| *other < hash);
        for (_, offset) in index.iter().skip(from).take_while(|(other, _)| *other == hash) {
            match self.read_again(handle, *offset, id) {
                Ok(None) => {}
                Ok(Some(answer)) => return Some(answer),
                Err(reason) => return Some(Err(Failure::infra(FailureKind::Recorded, reason))),
            }
        }
        None
    }

    /// The row at `offset`, if it is still the one of `id`.
    fn read_again(
        &self,
        handle: &Mutex<File>,
        offset: u64,
        id: &str,
    ) -> Result<Option<Result<Answer, Failure>>, String> {
        let mut handle = handle.lock().unwrap_or_else(PoisonError::into_inner);
        let row = jsonl::read_at(&mut handle, offset, &self.file)?;
        drop(handle);
        let changed = |_| format!("{} changed while it was in use", self.file);
        let (found, answer) = self.decoder.decode(&row).map_err(|fault| changed(fault.reason))?;
        match (found == id, hash(&found) == hash(id)) {
            (true, _) => Ok(Some(answer)),
            (false, true) => Ok(None),
            (false, false) => Err(changed(String::new())),
        }
    }
}

/// A key for the index: the first eight bytes of the id's digest.
pub(crate) fn hash(id: &str) -> u64 {
    Digest::of([id]).bytes().first_chunk::<8>().map_or(0, |start| u64::from_le_bytes(*start))
}

fn layout(settings: &RecordedSettings, block: &Block) -> Result<Layout, Diagnostics> {
    Layout::build(&settings.layout).map_err(|wrong| {
        let mut problems = Diagnostics::default();
        for (pointer, reason) in wrong {
            problems.push(block.problem(pointer, "invalid-settings", reason));
        }
        problems
    })
}

impl Decoder {
    fn build(settings: &RecordedSettings, block: &Block) -> Result<Self, Diagnostics> {
        let RecordedFields { id, answer, contexts, context_ids, latency_ms, prompt_tokens, completion_tokens } =
            &settings.fields;
        let written = [id, answer, contexts, context_ids, latency_ms, prompt_tokens, completion_tokens];
        let mut explicit = Vec::new();
        let mut problems = Diagnostics::default();
        for (field, (text, spec)) in written.into_iter().zip(SPECS).enumerate() {
            let Some(text) = text else { continue };
            match Selector::parse(text) {
                Ok(selector) => explicit.push((field, vec![selector])),
                Err(reason) => problems.push(block.problem(&format!("/fields/{}", spec.name), "selector", reason)),
            }
        }
        let lists =
            Lists::build(settings.layout.lists.as_ref(), &["contexts", "context_ids"]).unwrap_or_else(|wrong| {
                for (pointer, reason) in wrong {
                    problems.push(block.problem(&format!("/lists{pointer}"), "invalid-settings", reason));
                }
                Lists::default()
            });
        if problems.has_errors() { Err(problems) } else { Ok(Self { mapping: Mapping::build(SPECS, explicit), lists }) }
    }

    fn decode(&self, row: &Row) -> Result<(String, Result<Answer, Failure>), Fault> {
        if let Some(failure) = recorded_error(row) {
            // The mapped columns of an answer may be missing where there is an error instead.
            return Ok((id_text(row, &self.mapping.one(ID, row)?).map_err(Fault::of(ID))?, Err(failure)));
        }
        let bound = self.mapping.bind(row)?;
        let id = id_text(row, bound.get(ID)).map_err(Fault::of(ID))?;
        let parts = AnswerParts {
            text: bound.get(ANSWER),
            contexts: bound.get(CONTEXTS),
            contexts_rule: self.lists.rule("contexts"),
            context_ids: bound.get(CONTEXT_IDS),
            context_ids_rule: self.lists.rule("context_ids"),
            latency_ms: bound.get(LATENCY),
            prompt_tokens: bound.get(PROMPT),
            completion_tokens: bound.get(COMPLETION),
            usage: row.get("usage"),
        };
        let answer =
            answer_from(&parts)?.ok_or_else(|| Failure::target(FailureKind::Empty, "the recorded answer is null"));
        Ok((id, answer))
    }
}

fn id_text(row: &Row, found: &super::Found<'_>) -> Result<String, String> {
    value::id_of(row, found)?.ok_or_else(|| "the row has no id; map it with `fields: { id: … }`".to_owned())
}

/// What a row says in place of an answer.
fn recorded_error(row: &Row) -> Option<Failure> {
    let words = match row.get("error")? {
        Value::Null | Value::Bool(false) => return None,
        Value::String(text) if text.trim().is_empty() => return None,
        Value::String(text) => text.clone(),
        Value::Object(map) => match map.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => "an error without a message".to_owned(),
        },
        _ => "an error without a message".to_owned(),
    };
    let short: String = words.chars().take(2_000).collect();
    Some(Failure::target(FailureKind::Recorded, format!("recorded error: {short}")))
}

/// The first reading.
#[derive(Default)]
struct Scan {
    /// (hash of the id, where its row begins: an offset where rows can be read again, else a line).
    places: Vec<(u64, u64)>,
    answers: HashMap<String, Result<Answer, Failure>>,
    errors: usize,
    rereadable: bool,
    problems: Problems,
}

impl Scan {
    fn read(&mut self, file: &DataFile, layout: &Layout, decoder: &Decoder) -> Result<(), Diagnostic> {
        let mut reader = open(file, layout)?;
        self.rereadable = true;
        let header = reader.columns().map(<[String]>::to_vec);
        let missing = header.as_deref().map(|header| decoder.mapping.missing_in(header)).unwrap_or_default();
        for (field, column) in &missing {
            self.problems.push(missing_column(&file.shown, field, column, header.as_deref().unwrap_or_default()));
        }
        if !missing.is_empty() {
            return Ok(());
        }
        while reader.advance()? {
            let row = match reader.row() {
                Ok(row) => row,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            match decoder.decode(&row) {
                Err(fault) => {
                    let reason = fault.reason.clone();
                    self.problems.push(fault.diagnostic(
                        "recorded-row",
                        reason,
                        &*reader,
                        &decoder.mapping,
                        &file.shown,
                    ));
                }
                Ok((id, answer)) => {
                    self.errors += usize::from(recorded_error(&row).is_some());
                    self.places.push((hash(&id), reader.offset().unwrap_or(u64::from(reader.line()))));
                    if reader.offset().is_none() {
                        self.rereadable = false;
                        self.answers.insert(id, answer);
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, file: &DataFile, decoder: &Decoder) -> Result<(), Diagnostics> {
        self.places.sort_unstable();
        for pair in self.places.windows(2) {
            if let [(first, place), (second, other)] = pair
                && first == second
            {
                let (line, other) = (self.line(file, *place), self.line(file, *other));
                let message = format!("two recorded answers have the same id, on lines {line} and {other}");
                self.problems.push(at_line(&file.shown, other, "duplicate-id", message));
            }
        }
        if self.problems.is_empty() && self.places.is_empty() {
            self.problems.push(at_line(&file.shown, 1, "no-rows", format!("{} holds no recorded answer", file.shown)));
        }
        if self.problems.is_empty() {
            for (name, selector) in decoder.mapping.never_filled() {
                let message = format!("no row has `{selector}`, which is mapped to `{name}`");
                self.problems.push(at_line(&file.shown, 1, "unmatched-field", message));
            }
        }
        if self.problems.is_empty() && self.errors < self.places.len() && !decoder.mapping.is_filled(ANSWER) {
            let names: Vec<_> = SPECS.iter().skip(ANSWER).take(1).flat_map(|spec| spec.aliases).copied().collect();
            let message = format!("no row has an answer: none of {}", names.join(", "));
            let help = match decoder.mapping.taken_from(ANSWER).first() {
                Some((column, field)) => format!(
                    "`{column}` is mapped to `{field}`; write `answer: {column}` under `fields` as well if it is both"
                ),
                None => "name the column with `fields: { answer: … }`".to_owned(),
            };
            self.problems.push(at_line(&file.shown, 1, "unmatched-field", message).help(help));
        }
        match std::mem::take(&mut self.problems) {
            problems if problems.is_empty() => Ok(()),
            problems => Err(problems.into_diagnostics()),
        }
    }

    /// The line of a place, counted only where a message needs it.
    fn line(&self, file: &DataFile, place: u64) -> u32 {
        if !self.rereadable {
            return u32::try_from(place).unwrap_or(u32::MAX);
        }
        let Ok(handle) = File::open(&file.path) else { return 1 };
        let mut lines = 1_u32;
        for chunk in BufReader::new(handle.take(place)).split(b'\n') {
            lines = lines.saturating_add(u32::from(chunk.is_ok()));
        }
        lines
    }
}

#[cfg(test)]
mod tests;
