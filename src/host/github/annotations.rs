//! Annotations: `::error file=…,line=…,title=…::message`, printed to standard output by `cli`.
//!
//! Escapes: actions/runner, `ActionCommand` (data: `%` CR LF; properties also `:` and `,`).
//! Limits: docs.github.com, 10 errors and 10 warnings a step; what is above is dropped without a word, so we say it.

use crate::host::{Annotation, AnnotationLevel};

/// Of each level.
const LIMIT: usize = 10;
const TITLE: usize = 255;
const MESSAGE: usize = 4_000;

/// The lines to print: at most ten of a level in the order given (worst first), then how many more there are.
pub fn annotations(all: &[Annotation]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for level in [AnnotationLevel::Error, AnnotationLevel::Warning, AnnotationLevel::Notice] {
        let of_level = all.iter().filter(|annotation| annotation.level == level);
        lines.extend(of_level.take(LIMIT).map(command));
    }
    let more = all.len().saturating_sub(lines.len());
    if more > 0 {
        lines.push(format!("{more} more in the report"));
    }
    lines
}

fn command(annotation: &Annotation) -> String {
    let level = match annotation.level {
        AnnotationLevel::Error => "error",
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Notice => "notice",
    };
    let mut properties = Vec::new();
    if let Some(file) = &annotation.file {
        properties.push(format!("file={}", escape_property(file)));
        properties.extend(annotation.line.map(|line| format!("line={line}")));
    }
    properties.push(format!("title={}", escape_property(&cut(&annotation.title, TITLE))));
    format!("::{level} {}::{}", properties.join(","), escape_data(&cut(&annotation.message, MESSAGE)))
}

fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

/// The message of a command. The runner's older form `##[…]` works in the middle of a line, so it is broken too.
pub fn escape_data(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.replace("##[", "##_[").chars() {
        match character {
            '%' => escaped.push_str("%25"),
            '\r' => escaped.push_str("%0D"),
            '\n' => escaped.push_str("%0A"),
            // No other line end or control may stand in a log line.
            '\u{85}' | '\u{2028}' | '\u{2029}' => escaped.push(' '),
            other if other.is_control() && other != '\t' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A property's value.
pub fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotation(level: AnnotationLevel, title: &str, message: &str) -> Annotation {
        Annotation {
            level,
            file: Some("data/a,b:c.jsonl".to_owned()),
            line: Some(7),
            title: title.to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn cm_annotations() {
        let all: Vec<_> =
            (0..300).map(|i| annotation(AnnotationLevel::Error, "case failed", &format!("case {i}"))).collect();
        let lines = annotations(&all);
        assert_eq!(lines.len(), 11);
        assert!(lines[0].ends_with("::case 0") && lines[9].ends_with("::case 9"), "worst first: {lines:?}");
        assert_eq!(lines[10], "290 more in the report");
    }

    #[test]
    fn errors_and_warnings_have_their_own_limits() {
        let mut all: Vec<_> = (0..15).map(|_| annotation(AnnotationLevel::Warning, "w", "w")).collect();
        all.extend((0..5).map(|_| annotation(AnnotationLevel::Error, "e", "e")));
        let lines = annotations(&all);
        assert_eq!(lines.iter().filter(|line| line.starts_with("::error ")).count(), 5);
        assert_eq!(lines.iter().filter(|line| line.starts_with("::warning ")).count(), 10);
        assert_eq!(lines.last().map(String::as_str), Some("5 more in the report"));
    }

    #[test]
    fn properties_and_data_are_escaped_as_the_runner_reads_them() {
        let lines = annotations(&[annotation(AnnotationLevel::Error, "a:b,c", "50%\r\nnext: a,b")]);
        assert_eq!(lines, ["::error file=data/a%2Cb%3Ac.jsonl,line=7,title=a%3Ab%2Cc::50%25%0D%0Anext: a,b"]);
    }

    /// Of `must`: our own annotations escape %, CR, LF, colon and comma; no command is made by a text.
    #[test]
    fn lg_workflow_commands() {
        let texts = std::fs::read_to_string("fixtures/cases/logs/workflow-commands.txt").unwrap();
        for text in texts.split_inclusive('\n').chain([texts.as_str()]) {
            let lines = annotations(&[annotation(AnnotationLevel::Error, text, text)]);
            assert_eq!(lines.len(), 1);
            assert!(lines[0].starts_with("::error file="));
            assert!(!lines[0].contains(['\r', '\n']) && !lines[0].contains("##["), "{lines:?}");
            let properties = lines[0].trim_start_matches("::error ").split("::").next().unwrap();
            assert_eq!(properties.split(',').count(), 3, "{properties}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let lines = annotations(&[annotation(AnnotationLevel::Warning, &"😀".repeat(300), &"😀".repeat(9_000))]);
        assert!(lines[0].chars().count() < 4_400 && lines[0].ends_with('…'));
    }
}
