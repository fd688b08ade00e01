//! Replies as LlamaIndex reads them, for `compat: llamaindex`: the same number for the same reply, and nothing where it has none or
//! falls over.
//!
//! Source: llama-index-core 0.14, `evaluation/{faithfulness, relevancy, correctness, context_relevancy, answer_relevancy, guideline,
//! pairwise}.py`. Written anew from what they do.

use serde::Deserialize;
use serde_json::Value;

use super::{JudgeReading, Said, Unusable, Why, reason};
use crate::text::normalize::excerpt;

/// Whose rule of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lenient {
    /// Faithfulness and relevancy: 1 where `yes` stands anywhere in the reply, in any letter case, else 0.
    YesAnywhere,
    /// Correctness: the first of at least two lines is a number.
    FirstLine,
    /// Context relevancy: the number after the last `[RESULT]`.
    ResultNumber,
    /// Answer relevancy: the digit after the last `[RESULT]`.
    ResultDigit,
    /// Pairwise: `[[A]]` anywhere is 1, else `[[B]]` is 0, else `[[C]]` is 0.5.
    Brackets,
    /// Guideline: a JSON object with `passing` and `feedback`.
    Passing,
}

pub(super) fn read(lenient: Lenient, reply: &str) -> Result<JudgeReading, Unusable> {
    let (value, said, why) = match lenient {
        Lenient::YesAnywhere => (f64::from(u8::from(reply.to_lowercase().contains("yes"))), reply, reason(reply)),
        Lenient::FirstLine => first_line(reply)?,
        Lenient::ResultNumber => result(reply, |rest| {
            let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            rest.get(..length).filter(|number| !number.is_empty())
        })?,
        Lenient::ResultDigit => {
            result(reply, |rest| rest.get(..1).filter(|digit| digit.bytes().all(|byte| byte.is_ascii_digit())))?
        }
        Lenient::Brackets => brackets(reply)?,
        Lenient::Passing => passing(reply)?,
    };
    let said = excerpt(said, 200);
    Ok(JudgeReading { value, pass: None, reason: why, form: Said::Bare, said })
}

type Read<'a> = (f64, &'a str, Option<String>);

fn none(detail: impl Into<String>) -> Unusable {
    Unusable::new(Why::NoVerdict, detail)
}

/// As Python's `float` takes it, but finite.
fn float(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| value.is_finite())
}

fn first_line(reply: &str) -> Result<Read<'_>, Unusable> {
    if reply.trim().is_empty() {
        return Err(Unusable::new(Why::Empty, ""));
    }
    let (line, rest) = reply.split_once('\n').ok_or_else(|| none("there is no line after the first"))?;
    let value = float(line).ok_or_else(|| none(format!("the first line is `{}`", excerpt(line, 60))))?;
    Ok((value, line, reason(rest)))
}

/// The last `[RESULT]` that something stands before and a number, as `number` finds it, behind.
fn result<'a>(reply: &'a str, number: impl Fn(&'a str) -> Option<&'a str>) -> Result<Read<'a>, Unusable> {
    const MARK: &str = "[RESULT]";
    let found = reply.rmatch_indices(MARK).filter(|(at, _)| *at > 0).find_map(|(at, _)| {
        let rest = reply.get(at + MARK.len()..)?.trim_start();
        Some((reply.get(..at)?, number(rest)?))
    });
    let (before, number) = found.ok_or_else(|| none("no text with `[RESULT]` and a number after it"))?;
    let value = float(number).ok_or_else(|| none(format!("`{}` is no number", excerpt(number, 60))))?;
    Ok((value, number, reason(before)))
}

fn brackets(reply: &str) -> Result<Read<'_>, Unusable> {
    let found = [("[[A]]", 1.0), ("[[B]]", 0.0), ("[[C]]", 0.5)].into_iter().find(|(mark, _)| reply.contains(mark));
    let (mark, value) = found.ok_or_else(|| none("none of `[[A]]`, `[[B]]`, `[[C]]`"))?;
    Ok((value, mark, reason(reply)))
}

#[derive(Deserialize)]
struct Flag {
    passing: Value,
    feedback: String,
}

/// From the first brace to the last, as a model of pydantic in its lax mode.
fn passing(reply: &str) -> Result<Read<'_>, Unusable> {
    let object = reply.find('{').zip(reply.rfind('}')).and_then(|(from, to)| reply.get(from..=to));
    let object = object.ok_or_else(|| none("no JSON object"))?;
    let flag: Flag = serde_json::from_str(object)
        .map_err(|error| Unusable::new(Why::Malformed, format!("no object with `passing` and `feedback`: {error}")))?;
    let yes = match &flag.passing {
        Value::Bool(yes) => Some(*yes),
        Value::Number(number) => [(1.0, true), (0.0, false)]
            .into_iter()
            .find(|(value, _)| number.as_f64() == Some(*value))
            .map(|(_, yes)| yes),
        Value::String(word) => match word.to_lowercase().as_str() {
            "1" | "on" | "t" | "true" | "y" | "yes" => Some(true),
            "0" | "off" | "f" | "false" | "n" | "no" => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let yes = yes.ok_or_else(|| none("`passing` is neither true nor false"))?;
    Ok((f64::from(u8::from(yes)), object, reason(&flag.feedback)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Lenient; 6] = [
        Lenient::YesAnywhere,
        Lenient::FirstLine,
        Lenient::ResultNumber,
        Lenient::ResultDigit,
        Lenient::Brackets,
        Lenient::Passing,
    ];

    /// Replies and what the classes of llama-index-core 0.14 make of them; `None`: no score, or an exception.
    #[test]
    fn replies_are_read_as_llamaindex_reads_them() {
        let cases: &[(Lenient, &str, Option<f64>)] = &[
            (Lenient::YesAnywhere, "YES", Some(1.0)),
            (Lenient::YesAnywhere, "No. Yesterday's data differ", Some(1.0)),
            (Lenient::YesAnywhere, "NO, my eyes…", Some(1.0)),
            (Lenient::YesAnywhere, "no", Some(0.0)),
            (Lenient::YesAnywhere, "", Some(0.0)),
            (Lenient::FirstLine, "4.0\nGood.", Some(4.0)),
            (Lenient::FirstLine, " 2 \n\n\nBad.", Some(2.0)),
            (Lenient::FirstLine, "7\nOff the scale.", Some(7.0)),
            (Lenient::FirstLine, "4.5", None),
            (Lenient::FirstLine, "Score: 4\nGood.", None),
            (Lenient::FirstLine, "4/5\nGood.", None),
            (Lenient::FirstLine, "nan\nx", None),
            (Lenient::FirstLine, " \n", None),
            (Lenient::ResultNumber, "1. yes 2. partly\n[RESULT] 3.5", Some(3.5)),
            (Lenient::ResultNumber, "x [RESULT]8", Some(8.0)),
            (Lenient::ResultNumber, "x [RESULT] 1 but then [RESULT] 2", Some(2.0)),
            (Lenient::ResultNumber, "x [RESULT] 1 and [RESULT] none", Some(1.0)),
            (Lenient::ResultNumber, "**[RESULT]** 3", None),
            (Lenient::ResultNumber, "[RESULT] 3", None),
            (Lenient::ResultNumber, "x [RESULT] 3.5.1", None),
            (Lenient::ResultDigit, "x\n[RESULT] 2", Some(2.0)),
            (Lenient::ResultDigit, "x [RESULT] 1.5", Some(1.0)),
            (Lenient::ResultDigit, "x [RESULT] 9", Some(9.0)),
            (Lenient::ResultDigit, "[RESULT] 2", None),
            (Lenient::Brackets, "B is worse. [[A]]", Some(1.0)),
            (Lenient::Brackets, "[[B]]", Some(0.0)),
            (Lenient::Brackets, "[[C]] or so", Some(0.5)),
            (Lenient::Brackets, "not [[A]] but [[B]]", Some(1.0)),
            (Lenient::Brackets, "A", None),
            (Lenient::Passing, "{\"passing\": true, \"feedback\": \"polite\"}", Some(1.0)),
            (Lenient::Passing, "```json\n{\"passing\": \"no\", \"feedback\": \"rude\"}\n```", Some(0.0)),
            (Lenient::Passing, "{\"passing\": true}", None),
            (Lenient::Passing, "{\"passing\": 2, \"feedback\": \"\"}", None),
            (Lenient::Passing, "passing", None),
        ];
        for (lenient, reply, expected) in cases {
            assert_eq!(read(*lenient, reply).ok().map(|said| said.value), *expected, "{lenient:?} {reply:?}");
        }
    }

    proptest! {
        #[test]
        fn any_reply_has_an_end(reply in any::<String>(), mark in "(\\[RESULT\\]|\\[\\[|\\{|\n|4){0,4}") {
            for lenient in ALL {
                let _ = read(lenient, &reply);
                if let Ok(said) = read(lenient, &format!("{reply}{mark}{reply}")) {
                    prop_assert!(said.value.is_finite());
                }
            }
        }
    }
}
