//! A case's texts, put into a template as data that cannot end its own quotation.

use std::fmt::Write as _;

use super::super::Subject;
use crate::domain::Context;
use crate::text::normalize::is_invisible;

/// What a template may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Input,
    Answer,
    Contexts,
    Reference,
}

/// A prompt text, taken apart once. Values are never expanded again.
#[derive(Clone, Debug)]
pub(super) struct Template {
    parts: Vec<Part>,
    /// As written, for the fingerprint.
    pub(super) source: String,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Slot(Slot),
}

impl Template {
    /// # Errors
    /// A placeholder that is not closed or that nothing is known of; braces of other kinds are text.
    pub(super) fn parse(source: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").ok_or("a `{{` of the prompt is not closed with `}}`")?;
            let slot = match name.trim() {
                "input" => Slot::Input,
                "answer" => Slot::Answer,
                "contexts" => Slot::Contexts,
                "reference" => Slot::Reference,
                other => return Err(format!("the prompt names `{other}`, which there is not")),
            };
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Slot(slot));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self { parts, source: source.to_owned() })
    }

    /// A prompt that says `rubric`, in which nothing is a placeholder, and then shows these texts.
    pub(super) fn of(rubric: &str, slots: &[Slot]) -> Self {
        let mut parts = vec![Part::Text(format!("{}\n\n", rubric.trim_end()))];
        for (at, slot) in slots.iter().enumerate() {
            if at > 0 {
                parts.push(Part::Text("\n\n".to_owned()));
            }
            parts.push(Part::Slot(*slot));
        }
        let source = format!("{}\n\n{slots:?}", rubric.trim_end());
        Self { parts, source }
    }

    pub(super) fn shows_the_answer(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Slot(Slot::Answer)))
    }

    pub(super) fn shows_contexts(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Slot(Slot::Contexts)))
    }

    /// What stands before the first text of the case: what to do, as opposed to what to do it with.
    pub(super) fn rubric(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text.trim(),
            Some(Part::Slot(_)) | None => "",
        }
    }

    /// The prompt for one case; each text on one line, as `the answer = "…"`.
    pub(super) fn render(&self, subject: Subject<'_>) -> String {
        self.render_parts(&self.parts, subject)
    }

    /// The same without the [rubric](Self::rubric).
    pub(super) fn render_data(&self, subject: Subject<'_>) -> String {
        let data = match self.parts.split_first() {
            Some((Part::Text(_), data)) => data,
            Some((Part::Slot(_), _)) | None => &self.parts,
        };
        self.render_parts(data, subject)
    }

    fn render_parts(&self, parts: &[Part], subject: Subject<'_>) -> String {
        let mut prompt =
            String::with_capacity(self.source.len() + shown(subject).map(|text| text.len() + 32).sum::<usize>());
        for part in parts {
            match part {
                Part::Text(text) => prompt.push_str(text),
                Part::Slot(Slot::Input) => line(&mut prompt, "the question", &subject.case.input),
                Part::Slot(Slot::Answer) => line(&mut prompt, "the answer", &subject.answer.text),
                Part::Slot(Slot::Reference) => match &subject.case.reference {
                    Some(reference) => line(&mut prompt, "the reference answer", reference),
                    None => prompt.push_str("(There is no reference answer.)"),
                },
                Part::Slot(Slot::Contexts) => contexts(&mut prompt, contexts_of(subject)),
            }
        }
        prompt
    }
}

/// What the answer was made from: what the target returned, or else what the data set gives.
pub(super) fn contexts_of(subject: Subject<'_>) -> &[Context] {
    if subject.answer.contexts.is_empty() { &subject.case.contexts } else { &subject.answer.contexts }
}

/// All texts of a case that a judge gets to see.
pub(super) fn shown<'a>(subject: Subject<'a>) -> impl Iterator<Item = &'a str> {
    let case = subject.case;
    let contexts = contexts_of(subject).iter().map(|context| context.text.as_str());
    [subject.answer.text.as_str(), case.input.as_str()].into_iter().chain(case.reference.as_deref()).chain(contexts)
}

fn contexts(prompt: &mut String, contexts: &[Context]) {
    if contexts.is_empty() {
        prompt.push_str("(There are no contexts.)");
    }
    for (index, context) in contexts.iter().enumerate() {
        if index > 0 {
            prompt.push('\n');
        }
        line(prompt, &format!("context {}", index + 1), &context.text);
    }
}

pub(super) fn line(prompt: &mut String, name: &str, text: &str) {
    let _ = write!(prompt, "{name} = ");
    quote(prompt, text);
}

/// `text` as a JSON string on one line. Beyond what JSON demands, everything that some reader takes for a line break, or that
/// nobody sees, is escaped too.
pub(super) fn quote(prompt: &mut String, text: &str) {
    prompt.reserve(text.len() + 2);
    prompt.push('"');
    let mut rest = text;
    // What needs no escape is copied in one piece.
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| needs_escape(*c)) {
        let (plain, after) = rest.split_at(at);
        prompt.push_str(plain);
        escape(prompt, c);
        rest = after.get(c.len_utf8()..).unwrap_or_default();
    }
    prompt.push_str(rest);
    prompt.push('"');
}

fn needs_escape(c: char) -> bool {
    match c {
        '"' | '\\' => true,
        ' '..='~' => false,
        c => c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c),
    }
}

fn escape(prompt: &mut String, c: char) {
    match c {
        '"' => prompt.push_str("\\\""),
        '\\' => prompt.push_str("\\\\"),
        '\n' => prompt.push_str("\\n"),
        '\r' => prompt.push_str("\\r"),
        '\t' => prompt.push_str("\\t"),
        c => {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(prompt, "\\u{unit:04x}");
            }
        }
    }
}

/// `template` with `{{ name }}` replaced, in one pass, by our own texts.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{ ") {
        text.push_str(before);
        let Some((name, after)) = after.split_once(" }}") else {
            rest = after;
            break;
        };
        let value = values.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value);
        text.push_str(value);
        rest = after;
    }
    text.push_str(rest);
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unknown_and_open_placeholders_are_errors() {
        assert!(Template::parse("{{ answer }} {{ anwser }}").unwrap_err().contains("anwser"));
        assert!(Template::parse("{{ answer").is_err());
        assert!(!Template::parse("{ answer } {{ input }}").unwrap().shows_the_answer());
    }

    #[test]
    fn values_are_filled_in_once() {
        assert_eq!(fill("a {{ x }} b {{ y }}\n", &[("x", "{{ y }}"), ("y", "2")]), "a {{ y }} b 2");
    }

    proptest! {
        #[test]
        fn a_quotation_is_one_line_that_reads_back(text in any::<String>()) {
            let mut quoted = String::new();
            quote(&mut quoted, &text);
            let breaks = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
            prop_assert!(!quoted.contains(breaks));
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
        }
    }
}
