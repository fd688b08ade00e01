//! The parser's errors in plain words.

use std::sync::Arc;

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DefaultMessageFormatter, Error, MessageFormatter as _};

use super::read::{MOST_ALIASED, MOST_LEVELS, MOST_NODES};
use crate::diagnostic::{Diagnostic, Source, Span};

/// The diagnostic of a file that cannot be read as one tree.
pub(super) fn diagnostic(error: &Error, source: &Arc<Source>) -> Diagnostic {
    let error = error.without_snippet();
    let span = error.location().map_or(Span::new(1, 1, 0), |place| {
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).max(1);
        Span::new(number(place.line()), number(place.column()), 1)
    });
    // The scanner may stop at the end of the line before.
    let next = Span::new(span.line.saturating_add(1), u32::MAX, 1);
    let odd = || [span, next].into_iter().find_map(|span| indentation(line(source, span), span));
    named(error).or_else(odd).unwrap_or_else(|| other(error)).at_if_unplaced(source, span)
}

fn line(source: &Source, span: Span) -> &str {
    let index = usize::try_from(span.line).unwrap_or(1).saturating_sub(1);
    source.text.split('\n').nth(index).unwrap_or_default()
}

/// Errors that have a better name than the parser's.
fn named(error: &Error) -> Option<Diagnostic> {
    match error {
        Error::Budget { breach, .. } => Some(limit(&breach_text(breach))),
        Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayCounterOverflow { .. } => Some(limit(&aliases())),
        Error::AliasReplayStackDepthExceeded { max_depth, .. } => {
            Some(limit(&format!("aliases stand inside aliases for more than {max_depth} levels")))
        }
        Error::AliasError { error, .. } => named(error),
        Error::MultipleDocuments { .. } => Some(
            Diagnostic::error("several-documents", "a second document begins in this file")
                .help("a suite is one document: remove the line `---` and what does not belong to it"),
        ),
        Error::UnknownAnchor { .. } => Some(
            Diagnostic::error("unknown-anchor", "this alias names an anchor that is not defined above it")
                .help("text that begins with `*` must be quoted"),
        ),
        Error::MergeValueNotMapOrSeqOfMaps { .. } => {
            Some(Diagnostic::error("bad-merge", "`<<` must be followed by a mapping or a list of mappings"))
        }
        Error::UnsupportedTag { tag, .. } => Some(
            Diagnostic::error("unsupported-tag", format!("the tag `{tag}` has no meaning here"))
                .help("remove it; text that begins with `!` must be quoted"),
        ),
        // Nesting is refused by the scanner before the budget sees it.
        other if text(other).contains("nest") || text(other).contains("recursion") => Some(limit(&levels())),
        _ => None,
    }
}

/// Tabs and special spaces before the place are what YAML most often stumbles over.
fn indentation(line: &str, span: Span) -> Option<Diagnostic> {
    let before: String = line.chars().take(usize::try_from(span.column).unwrap_or(usize::MAX)).collect();
    let odd =
        before.chars().take_while(|letter| letter.is_whitespace()).enumerate().find(|(_, letter)| *letter != ' ')?;
    let column = u32::try_from(odd.0.saturating_add(1)).unwrap_or(u32::MAX);
    let what = if odd.1 == '\t' { "a tab" } else { "a special space, such as a non-breaking one," };
    let mut diagnostic = Diagnostic::error("odd-space", format!("{what} is used for indentation"))
        .help("YAML is indented with ordinary spaces only");
    diagnostic.span = Some(Span::new(span.line, column, 1));
    Some(diagnostic)
}

fn other(error: &Error) -> Diagnostic {
    let said = text(error);
    let diagnostic = Diagnostic::error("yaml", format!("this is not valid YAML: {said}"));
    if said.contains("flow mapping") || said.contains("flow sequence") {
        return diagnostic
            .help("between `{ }` and `[ ]`, put texts with brackets, braces, commas or `: ` in quotes: `\"$.a[0]\"`");
    }
    diagnostic
}

fn text(error: &Error) -> String {
    DefaultMessageFormatter.format_message(error).into_owned()
}

fn limit(what: &str) -> Diagnostic {
    Diagnostic::error("limit", what.to_owned())
        .help("a suite needs far less; large data belong into files of their own")
}

fn levels() -> String {
    format!("the depth limit is reached: values are nested deeper than {MOST_LEVELS} levels")
}

fn aliases() -> String {
    format!("the alias limit is reached: aliases (`*name`) would add more than {MOST_ALIASED} values")
}

fn breach_text(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Depth { .. } => levels(),
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => {
            format!("the size limit is reached: the file has more than {MOST_NODES} values")
        }
        BudgetBreach::RecordedAnchorEvents { .. } | BudgetBreach::RecordedAnchorBytes { .. } => aliases(),
        BudgetBreach::Aliases { .. } | BudgetBreach::AliasAnchorRatio { .. } => {
            "the alias limit is reached: the file has too many aliases (`*name`)".to_owned()
        }
        BudgetBreach::Anchors { .. } => {
            "the anchor limit is reached: the file has too many anchors (`&name`)".to_owned()
        }
        BudgetBreach::MergeKeys { .. } => {
            "the merge limit is reached: the file has too many merge keys (`<<`)".to_owned()
        }
        BudgetBreach::ScalarBytes { .. } | BudgetBreach::InputBytes { .. } => {
            "the size limit is reached: the file holds more than 64 MiB of text".to_owned()
        }
        other => format!("a limit of the reader is reached: {other:?}"),
    }
}

trait AtIfUnplaced {
    fn at_if_unplaced(self, source: &Arc<Source>, span: Span) -> Diagnostic;
}

impl AtIfUnplaced for Diagnostic {
    fn at_if_unplaced(self, source: &Arc<Source>, span: Span) -> Diagnostic {
        let span = self.span.unwrap_or(span);
        self.at(source, span)
    }
}
