//! Verdicts as lines, tags and bare words.

use super::object::{Object, only, scan, score_of};
use super::{JudgeReading, Said, Unusable, Why, in_range, reason};
use crate::text::normalize::excerpt;

type Words = &'static [(&'static str, f64)];

/// The last verdict line; where `bare`, also a bare last line or one object. Several forms must agree.
pub(super) fn words(text: &str, label: &str, words: Words, bare: bool) -> Result<JudgeReading, Unusable> {
    agreed(text, label, words, bare, verdict_object)
}

/// As [`words`], without the object's `pass`.
pub(super) fn letters(text: &str, label: &str, letters: Words, bare: bool) -> Result<JudgeReading, Unusable> {
    agreed(text, label, letters, bare, letter_object)
}

/// Reads a verdict as an object; the last argument: whether there is no other form of it.
type ReadObject = fn(&str, Words, bool) -> Result<Option<JudgeReading>, Unusable>;

fn agreed(
    text: &str,
    label: &str,
    words: Words,
    bare: bool,
    read_object: ReadObject,
) -> Result<JudgeReading, Unusable> {
    let mut found = Vec::new();
    if let Some(line) = last_labelled(text, label) {
        let value = one_of(&line.rest, words).ok_or_else(|| {
            Unusable::new(Why::Ambiguous, format!("the last verdict line says `{}`", excerpt(&line.rest, 60)))
        })?;
        let reason = without(text, line.index);
        found.push(JudgeReading { value, pass: None, reason, form: Said::Line, said: line.said });
    }
    if bare {
        found.extend(bare_last_line(text, words));
        found.extend(read_object(text, words, found.is_empty())?);
    }
    let mut found = found.into_iter();
    let first = found.next().ok_or_else(|| Unusable::new(Why::NoVerdict, expected(words)))?;
    if found.any(|other| other.value != first.value) {
        return Err(Unusable::new(Why::Contradiction, "the reply gives more than one verdict, and they do not agree"));
    }
    Ok(first)
}

fn letter_object(text: &str, letters: Words, alone: bool) -> Result<Option<JudgeReading>, Unusable> {
    let scan = scan(text, &["verdict"]);
    if scan.objects.is_empty() && (scan.broken.is_none() || !alone) {
        return Ok(None);
    }
    let object = only(&scan, "`verdict`")?;
    let value = verdict_word(object, letters)?;
    let value = value.ok_or_else(|| Unusable::new(Why::NoVerdict, "the object has no `verdict`"))?;
    let said = object.raw().to_owned();
    Ok(Some(JudgeReading { value, pass: None, reason: object.reason(), form: Said::Object, said }))
}

fn expected(words: Words) -> String {
    let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    format!("expected {}", words.join(" or "))
}

fn bare_last_line(text: &str, words: Words) -> Option<JudgeReading> {
    let (index, line) = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).last()?;
    let said = undecorated(line);
    let value = one_of(&said, words)?;
    Some(JudgeReading { value, pass: None, reason: without(text, index), form: Said::Bare, said })
}

/// An object with `verdict` or `pass`. Beside a verdict line (`alone` is false), what is no readable object is only text.
pub(super) fn verdict_object(text: &str, words: Words, alone: bool) -> Result<Option<JudgeReading>, Unusable> {
    let scan = scan(text, &["verdict", "pass"]);
    if scan.objects.is_empty() && (scan.broken.is_none() || !alone) {
        return Ok(None);
    }
    let object = match only(&scan, "`verdict`") {
        Ok(object) => object,
        Err(unusable) if alone || unusable.why == Why::Ambiguous => return Err(unusable),
        Err(_) => return Ok(None),
    };
    let pass = object.boolean("pass")?;
    let value = match (verdict_word(object, words)?, pass.map(|pass| f64::from(u8::from(pass)))) {
        (Some(word), Some(pass)) if word != pass => {
            return Err(Unusable::new(Why::Contradiction, "`verdict` and `pass` do not agree"));
        }
        (Some(value), _) | (None, Some(value)) => value,
        (None, None) => return Ok(None),
    };
    // A score beside the verdict has no scale of its own, but on none does 0 mean yes.
    if value == 1.0 && object.number("score").is_ok_and(|score| score == Some(0.0)) {
        return Err(Unusable::new(Why::Contradiction, "a positive verdict with score 0"));
    }
    let said = object.raw().to_owned();
    Ok(Some(JudgeReading { value, pass, reason: object.reason(), form: Said::Object, said }))
}

fn verdict_word(object: &Object, words: Words) -> Result<Option<f64>, Unusable> {
    let Some(value) = object.field("verdict")? else { return Ok(None) };
    let word = value.as_str().and_then(|word| one_of(word, words));
    word.map(Some).ok_or_else(|| {
        Unusable::new(Why::Ambiguous, format!("`verdict` is {}, {}", excerpt(&value.to_string(), 40), expected(words)))
    })
}

/// The number alone on the first line that is not blank.
pub(super) fn first_number(text: &str, lo: f64, hi: f64, object: bool) -> Result<JudgeReading, Unusable> {
    let Some((index, line)) = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty()) else {
        return Err(Unusable::new(Why::Empty, ""));
    };
    let scan = if object { scan(text, &["score"]) } else { super::object::Scan::default() };
    let said = undecorated(line);
    if let Some(value) = number(&said) {
        let value = in_range(value, lo, hi)?;
        for object in &scan.objects {
            if object.number("score")? != Some(value) {
                return Err(Unusable::new(Why::Contradiction, "the first line and the object do not agree"));
            }
        }
        return Ok(JudgeReading { value, pass: None, reason: without(text, index), form: Said::Bare, said });
    }
    if !scan.objects.is_empty() || scan.broken.is_some() {
        return score_of(only(&scan, "`score`")?, false, lo, hi);
    }
    let why = if said.chars().any(char::is_numeric) { Why::OtherScale } else { Why::NoVerdict };
    let detail = format!("the first line must be a number from {lo} to {hi} alone, not `{}`", excerpt(&said, 60));
    Err(Unusable::new(why, detail))
}

/// The number of the last line `label: number`.
pub(super) fn labelled_number(text: &str, label: &str, lo: f64, hi: f64) -> Result<JudgeReading, Unusable> {
    let line =
        last_labelled(text, label).ok_or_else(|| Unusable::new(Why::NoVerdict, format!("no line `{label}: …`")))?;
    let value = number(&line.rest).ok_or_else(|| {
        Unusable::new(Why::OtherScale, format!("`{}` is no number from {lo} to {hi}", excerpt(&line.rest, 60)))
    })?;
    let value = in_range(value, lo, hi)?;
    Ok(JudgeReading { value, pass: None, reason: without(text, line.index), form: Said::Line, said: line.said })
}

/// The number in the last pair of tags.
pub(super) fn tagged_number(text: &str, tag: &str, lo: f64, hi: f64) -> Result<JudgeReading, Unusable> {
    let inner = parse_tagged(text, tag).ok_or_else(|| Unusable::new(Why::NoVerdict, format!("no <{tag}>")))?;
    let inner = inner.ok_or_else(|| Unusable::new(Why::Truncated, format!("<{tag}> is not closed")))?;
    let value = number(inner.trim()).ok_or_else(|| {
        Unusable::new(Why::OtherScale, format!("<{tag}> holds `{}`, no number from {lo} to {hi}", excerpt(inner, 60)))
    })?;
    let value = in_range(value, lo, hi)?;
    let said = format!("<{tag}>{inner}</{tag}>");
    Ok(JudgeReading { value, pass: None, reason: reason(text), form: Said::Tag, said })
}

/// What stands in the last `<tag>…</tag>`, any letter case; the inner `None`: it is not closed.
pub fn parse_tagged<'a>(text: &'a str, tag: &str) -> Option<Option<&'a str>> {
    let lower = text.to_ascii_lowercase();
    let tag = tag.to_ascii_lowercase();
    let open = format!("<{tag}>");
    let start = lower.rfind(&open)? + open.len();
    let length = lower.get(start..).and_then(|rest| rest.find(&format!("</{tag}>")));
    Some(length.and_then(|length| text.get(start..start + length)))
}

struct Labelled {
    index: usize,
    /// After the colon, without decoration.
    rest: String,
    said: String,
}

/// The last line that begins with `label` and a colon.
fn last_labelled(text: &str, label: &str) -> Option<Labelled> {
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().enumerate().rev().find_map(|(index, line)| {
        let said = undecorated(line);
        let head = said.get(..label.len())?;
        let rest = said.get(label.len()..)?.trim_start();
        let rest = rest.strip_prefix(':').or_else(|| rest.strip_prefix('：'))?;
        let rest = undecorated(rest);
        head.eq_ignore_ascii_case(label).then_some(Labelled { index, rest, said })
    })
}

/// A line without Markdown emphasis, heading marks and space around.
fn undecorated(line: &str) -> String {
    let line: String = line.chars().filter(|c| !matches!(c, '*' | '`')).collect();
    line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '_' | '#')).to_owned()
}

/// The value of a word, whole, in any letter case, with or without a final stop.
fn one_of(text: &str, words: Words) -> Option<f64> {
    let word = text.trim().trim_end_matches(['.', '!', '。']).trim_end();
    words.iter().find(|(allowed, _)| allowed.eq_ignore_ascii_case(word)).map(|(_, value)| *value)
}

/// A whole number or decimal fraction in ASCII digits, nothing else: no sign but minus, no exponent, no comma, no unit.
fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let plain = |part: &str| (1..=15).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !fraction.is_none_or(plain) {
        return None;
    }
    text.parse().ok()
}

/// The text without line `index`, for people.
fn without(text: &str, index: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().enumerate().filter(|(at, _)| *at != index).map(|(_, line)| line).collect();
    reason(&lines.join("\n"))
}
