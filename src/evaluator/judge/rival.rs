//! Answers of somebody else, by case: what `pairwise` compares with.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::diagnostic::Diagnostics;
use crate::domain::Digest;
use crate::rows::{Recorded, RecordedFields, RecordedSettings, budget, resolve};
use crate::suite::{Block, Suite};

/// A file of answers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswersSettings {
    /// The file, relative to the suite: a baseline, the results.jsonl of a run, or recorded answers (.jsonl, .json, .yaml, .csv, .tsv).
    path: String,
    /// Whose answers, where a baseline or run has several targets.
    target: Option<String>,
    /// Which column or JSONPath holds what, of recorded answers.
    fields: Option<Fields>,
}

/// A column's name, or a JSONPath (`$.…`).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fields {
    /// The case's id; default `id`, `case` or `case_id`.
    id: Option<String>,
    /// The answer's text; default `answer`, `output`, `response`, `prediction` or `actual_output`.
    answer: Option<String>,
}

impl Fields {
    fn recorded(self) -> RecordedFields {
        RecordedFields { id: self.id, answer: self.answer, ..RecordedFields::default() }
    }
}

/// The answers of a file.
pub(super) struct Rivals {
    answers: Answers,
    file: String,
    /// Of the file's bytes: another file is another yardstick.
    pub digest: Digest,
}

enum Answers {
    /// Of a baseline or a run: `None` where the case had no answer.
    Ours(HashMap<String, Option<String>>),
    Recorded(Box<Recorded>),
}

impl Rivals {
    /// `None` after pushing every problem.
    pub(super) fn open(
        settings: &AnswersSettings,
        block: &Block,
        suite: &Suite,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let block = &below(block, "/answers");
        let file = resolve(suite, &settings.path).map_err(|error| diagnostics.push(error.at(block, "/path"))).ok()?;
        let mut refuse = |why: String, help: &str| {
            diagnostics.push(block.problem("/path", "answers", why).help(help));
        };
        let bytes = match std::fs::metadata(&file.path).and_then(|known| {
            if known.len() > budget::FILE_BYTES {
                Err(std::io::ErrorKind::FileTooLarge.into())
            } else {
                std::fs::read(&file.path)
            }
        }) {
            Ok(bytes) => bytes,
            Err(error) => {
                refuse(format!("cannot read {}: {error}", file.shown), "name a file of answers of at most 256 MiB");
                return None;
            }
        };
        let digest = Digest::of([&bytes]);
        let answers = match ours(&bytes, settings.target.as_deref()) {
            Some(Ok(answers)) => Answers::Ours(answers),
            Some(Err(why)) => {
                refuse(
                    format!("{}: {why}", file.shown),
                    "name the target with `answers: { target: … }`, or write the file again",
                );
                return None;
            }
            None if settings.target.is_some() => {
                refuse(format!("{} holds recorded answers, which have no targets", file.shown), "remove `target`");
                return None;
            }
            None => {
                let settings = RecordedSettings {
                    path: settings.path.clone(),
                    layout: crate::rows::LayoutSettings::default(),
                    fields: settings.fields.clone().map(Fields::recorded).unwrap_or_default(),
                };
                match Recorded::open(&settings, suite, block) {
                    Ok(recorded) => Answers::Recorded(Box::new(recorded)),
                    Err(problems) => {
                        diagnostics.extend(problems);
                        return None;
                    }
                }
            }
        };
        Some(Self { answers, file: file.shown.to_string(), digest })
    }

    /// The other answer to a case.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(super) fn answer(&self, id: &str) -> Result<String, String> {
        let nothing = || format!("{} holds no answer to case `{id}` to compare with", self.file);
        match &self.answers {
            Answers::Ours(answers) => answers.get(id).cloned().flatten().ok_or_else(nothing),
            Answers::Recorded(recorded) => match recorded.answer(id) {
                Some(Ok(answer)) => Ok(answer.text),
                Some(Err(failure)) => Err(format!("{} holds no answer to case `{id}`: {}", self.file, failure.message)),
                None => Err(nothing()),
            },
        }
    }
}

/// The answers of one of our own files; `None`: it is none. The first trial counts.
fn ours(bytes: &[u8], target: Option<&str>) -> Option<Result<HashMap<String, Option<String>>, String>> {
    let mut lines = BufReader::new(bytes).lines();
    let first: Value = serde_json::from_str(&lines.next()?.ok()?).ok()?;
    let kind = first.get("type")?.as_str()?;
    if !matches!(kind, "baseline" | "run") {
        return None;
    }
    let mut answers: HashMap<String, Option<String>> = HashMap::new();
    let mut targets: Vec<String> = Vec::new();
    for (at, line) in (2..).zip(lines) {
        let line: Value = match line
            .map_err(|error| error.to_string())
            .and_then(|line| serde_json::from_str(&line).map_err(|error| error.to_string()))
        {
            Ok(line) => line,
            Err(why) => return Some(Err(format!("line {at} is no JSON: {why}"))),
        };
        let Some(case) = line.get("case").and_then(Value::as_str) else { continue };
        let whose = line.get("target").and_then(Value::as_str).unwrap_or_default();
        let later = line.get("trial").and_then(Value::as_u64).is_some_and(|trial| trial > 0);
        if target.is_some_and(|wanted| wanted != whose) || later {
            continue;
        }
        if !targets.iter().any(|known| known == whose) {
            targets.push(whose.to_owned());
        }
        let text = match line.get("answer") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(answer) => answer.get("text").and_then(Value::as_str).map(str::to_owned),
            None => None,
        };
        answers.insert(case.to_owned(), text);
    }
    if targets.len() > 1 {
        return Some(Err(format!("it holds answers of several targets ({})", targets.join(", "))));
    }
    if answers.values().all(Option::is_none) {
        return Some(Err("it holds no answers".to_owned()));
    }
    Some(Ok(answers))
}

/// The part of a block behind `pointer`, as a block: what is wrong with it is shown where it stands.
fn below(block: &Block, pointer: &str) -> Block {
    let mut spans = std::collections::BTreeMap::new();
    for (place, span) in block.spans.iter() {
        let (key, place) = place.strip_prefix("#key").map_or(("", place.as_str()), |place| ("#key", place));
        if let Some(inner) = place.strip_prefix(pointer) {
            spans.insert(format!("{key}{inner}"), *span);
        }
    }
    let value = block.value.pointer(pointer).cloned().unwrap_or_default();
    Block { value, span: block.place(pointer), spans: Arc::new(spans), ..block.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_a_baseline_or_a_run_are_those_of_one_target_and_the_first_trial() {
        let run = concat!(
            "{\"type\":\"run\",\"schema\":1}\n",
            "{\"type\":\"outcome\",\"case\":\"q1\",\"target\":\"app\",\"trial\":0,\"answer\":{\"text\":\"a\"}}\n",
            "{\"type\":\"outcome\",\"case\":\"q1\",\"target\":\"app\",\"trial\":1,\"answer\":{\"text\":\"b\"}}\n",
            "{\"type\":\"outcome\",\"case\":\"q2\",\"target\":\"app\",\"trial\":0,\"error\":{}}\n",
            "{\"type\":\"end\"}\n"
        );
        let answers = ours(run.as_bytes(), None).unwrap().unwrap();
        assert_eq!(answers["q1"].as_deref(), Some("a"));
        assert_eq!(answers["q2"], None);
        let two = run.replace("q2\",\"target\":\"app", "q2\",\"target\":\"new");
        assert!(ours(two.as_bytes(), None).unwrap().unwrap_err().contains("app, new"));
        assert_eq!(ours(two.as_bytes(), Some("app")).unwrap().unwrap().len(), 1);
        assert!(ours(b"{\"id\":\"q1\",\"answer\":\"a\"}\n", None).is_none());
        assert!(ours(run.replace("\"q1\"", "\"q1").as_bytes(), None).unwrap().is_err());
    }
}
