//! The lines a diagnostic shows: cleaned, long ones cut around the place, places as byte ranges of the shown text.

use std::ops::Range;

use super::{Source, Span, clean};

/// Characters shown before and behind the place on a long line.
const AROUND: usize = 60;
/// Lines up to this many characters are shown whole.
const WHOLE: usize = 160;
/// Between two places that are further apart, the lines are left out.
const NEAR: usize = 2;

/// What is shown of a source.
pub(super) struct Excerpt {
    pub text: String,
    pub first_line: usize,
    /// One range for each span asked for, in their order; `None` where the source has no such line.
    pub ranges: Vec<Option<Range<usize>>>,
}

impl Excerpt {
    /// The 1-based column at which the first span is *shown*: another one than in the file where a line was cut or escaped.
    pub(super) fn shown_column(&self) -> Option<usize> {
        let start = self.ranges.first()?.as_ref()?.start;
        let line = self.text.get(..start)?.rsplit('\n').next()?;
        Some(line.chars().count().saturating_add(1))
    }
}

/// The lines from the first to the last of `spans`; what is far from all of them is left empty, as it will be folded.
/// `None` where there is no such line, or none that could be read again.
pub(super) fn excerpt(source: &Source, spans: &[Span]) -> Option<Excerpt> {
    if source.text.is_empty() {
        return None;
    }
    let offset = |span: &Span| usize::try_from(span.line.checked_sub(source.first_line)?).ok();
    let first = spans.iter().filter_map(offset).min()?;
    let last = spans.iter().filter_map(offset).max()?;
    // No column of a line holds in which something was masked: the whole line is meant.
    let shown = |(which, span): (usize, Span)| {
        (which, if source.masked.contains(&span.line) { Span::line(span.line) } else { span })
    };
    let mut text = String::new();
    let mut ranges = vec![None; spans.len()];
    for (index, line) in
        source.text.split('\n').enumerate().skip(first).take(last.saturating_sub(first).saturating_add(1))
    {
        let near = spans.iter().filter_map(offset).any(|place| place.abs_diff(index) <= NEAR);
        let places: Vec<(usize, Span)> =
            spans.iter().copied().enumerate().filter(|(_, span)| offset(span) == Some(index)).map(shown).collect();
        if near {
            show(line.strip_suffix('\r').unwrap_or(line), &places, &mut text, &mut ranges);
        }
        text.push('\n');
    }
    let first_line = usize::try_from(source.first_line).unwrap_or(1).saturating_add(first);
    ranges.iter().any(Option::is_some).then_some(Excerpt { text, first_line, ranges })
}

fn show(line: &str, places: &[(usize, Span)], text: &mut String, ranges: &mut [Option<Range<usize>>]) {
    let start = places.iter().map(|(_, span)| column(span)).min().unwrap_or(0);
    // A bounded look: a line may be as long as the file.
    let long = line.chars().nth(WHOLE).is_some();
    let skipped = if long { start.saturating_sub(AROUND) } else { 0 };
    let shown = if long { start.saturating_sub(skipped).saturating_add(AROUND) } else { WHOLE };
    if skipped > 0 {
        text.push_str("...");
    }
    let mut begins: Vec<usize> = Vec::new();
    let mut letters = line.chars().skip(skipped);
    for letter in letters.by_ref().take(shown) {
        begins.push(text.len());
        clean::push(text, letter);
    }
    let end = text.len();
    if letters.next().is_some() {
        text.push_str("...");
    }
    let at = |position: usize| begins.get(position.saturating_sub(skipped)).copied().unwrap_or(end);
    for (which, span) in places {
        let from = at(column(span));
        let to = match span.length {
            0 => end,
            length => at(column(span).saturating_add(usize::try_from(length).unwrap_or(usize::MAX))),
        };
        if let Some(range) = ranges.get_mut(*which) {
            *range = Some(from..to.max(from));
        }
    }
}

fn column(span: &Span) -> usize {
    usize::try_from(span.column.saturating_sub(1)).unwrap_or(usize::MAX)
}
