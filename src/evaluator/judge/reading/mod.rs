//! A judge's reply → a score, or why it is none (security §5). Pure and total: any contract, any text.
//!
//! `clean` drops what is not said to us (thinking, fences, invisible characters); then exactly one verdict in the
//! contract's form is read by `line` or `object`. What is found must be in the allowed set or range, or the reply is unusable:
//! nothing is clamped, rescaled or guessed, and a match that does not fit is never passed over for one that does.

mod clean;
mod compat;
mod line;
mod list;
mod object;
mod pack;

#[cfg(test)]
mod tests;

use std::fmt;

pub use compat::Lenient;
pub use line::parse_tagged;
pub use list::{read_list, read_list_as_said};
pub use object::objects_with_a_verdict;
pub use pack::{Grade, read_pack};

use crate::domain::FailureKind;

/// The form that a judge was told to give its verdict in.
#[derive(Clone, Debug, PartialEq)]
pub enum Contract {
    /// A line `label: word`, the last such line decides. Where `bare`, also a last line that is only the word, or one JSON object with
    /// `verdict` (a word) or `pass` (a boolean).
    Words { label: String, words: &'static [(&'static str, f64)], bare: bool },
    /// One JSON object with a number `score` from `lo` to `hi`; where `pass`, with a boolean `pass` too that does not contradict it.
    Object { pass: bool, lo: f64, hi: f64 },
    /// A number from `lo` to `hi` alone on the first line. Where `object`, a JSON object with `score` will do.
    FirstLine { lo: f64, hi: f64, object: bool },
    /// A line `label: number`, the last such line decides.
    Labelled { label: String, lo: f64, hi: f64 },
    /// As `Words`, with letters for words and no `pass`: what a letter means is only in its value.
    Letters { label: String, letters: &'static [(&'static str, f64)], bare: bool },
    /// What LlamaIndex makes of it.
    Compat(Lenient),
    /// A number between `<tag>` and `</tag>`, the last such pair decides.
    Tagged { tag: String, lo: f64, hi: f64 },
}

/// In which form the verdict stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A line with a label.
    Line,
    /// A word or number alone.
    Bare,
    Tag,
    Object,
}

/// What a judge said.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeReading {
    /// In the contract's range; 1 and 0 (as `words` say) for words.
    pub value: f64,
    /// What an object said about passing.
    pub pass: Option<bool>,
    /// The rest of the reply, or the object's `reason`.
    pub reason: Option<String>,
    pub form: Said,
    /// The verdict itself as it stood in the reply, without decoration.
    pub said: String,
}

/// Why a reply is no score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    Empty,
    Declined,
    Truncated,
    Filtered,
    ToolCall,
    Ambiguous,
    OutOfRange,
    Contradiction,
    NoVerdict,
    OtherScale,
    Malformed,
    /// It only repeats a verdict that stands in the texts to judge.
    Copied,
}

impl Why {
    /// A few words that read after "the reply is unusable:".
    pub fn words(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Declined => "declined",
            Self::Truncated => "truncated",
            Self::Filtered => "stopped by a content filter",
            Self::ToolCall => "a tool call instead of text",
            Self::Ambiguous => "ambiguous",
            Self::OutOfRange => "out of range",
            Self::Contradiction => "contradiction",
            Self::NoVerdict => "no verdict in the required form",
            Self::OtherScale => "another scale or form",
            Self::Malformed => "malformed",
            Self::Copied => "copied from the texts to judge",
        }
    }

    /// The reason in the closed set of failures.
    pub fn kind(self) -> FailureKind {
        match self {
            Self::Empty => FailureKind::Empty,
            Self::Declined => FailureKind::Declined,
            Self::Truncated => FailureKind::Truncated,
            Self::Filtered => FailureKind::Filtered,
            Self::ToolCall
            | Self::Ambiguous
            | Self::OutOfRange
            | Self::Contradiction
            | Self::NoVerdict
            | Self::OtherScale
            | Self::Malformed
            | Self::Copied => FailureKind::Unusable,
        }
    }
}

/// A reply that is no score.
#[derive(Clone, Debug, PartialEq)]
pub struct Unusable {
    pub why: Why,
    /// More words; may hold an excerpt of the reply.
    pub detail: String,
}

impl Unusable {
    pub fn new(why: Why, detail: impl Into<String>) -> Self {
        Self { why, detail: detail.into() }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.why.words())?;
        if self.detail.is_empty() { Ok(()) } else { write!(out, " ({})", self.detail) }
    }
}

/// Reads the verdict of a complete reply.
///
/// # Errors
/// Whatever is not exactly one verdict of the contract, by name.
pub fn read(contract: &Contract, reply: &str) -> Result<JudgeReading, Unusable> {
    let text = match contract {
        // Thinking and fences count where they do for LlamaIndex.
        Contract::Compat(_) => reply.to_owned(),
        _ => clean::clean(reply)?,
    };
    let found = match contract {
        Contract::Compat(lenient) => compat::read(*lenient, &text),
        Contract::Letters { label, letters, bare } => line::letters(&text, label, letters, *bare),
        Contract::Words { label, words, bare } => line::words(&text, label, words, *bare),
        Contract::Object { pass, lo, hi } => object::score(&text, *pass, *lo, *hi),
        Contract::FirstLine { lo, hi, object } => line::first_number(&text, *lo, *hi, *object),
        Contract::Labelled { label, lo, hi } => line::labelled_number(&text, label, *lo, *hi),
        Contract::Tagged { tag, lo, hi } => line::tagged_number(&text, tag, *lo, *hi),
    };
    found.map_err(|unusable| match unusable.why {
        Why::NoVerdict | Why::OtherScale if clean::declines(&text) => Unusable::new(Why::Declined, ""),
        _ => unusable,
    })
}

/// `value` if it is from `lo` to `hi`; never clamped.
fn in_range(value: f64, lo: f64, hi: f64) -> Result<f64, Unusable> {
    if value.is_finite() && value >= lo && value <= hi {
        return Ok(value);
    }
    Err(Unusable::new(Why::OutOfRange, format!("{value} is not from {lo} to {hi}")))
}

/// Text for people; `None` where there is none.
fn reason(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
