//! A prompt made of a rubric and texts, for questions that are more than a template and a case.

use super::ask::{AFTER_DATA, SYSTEM};
use super::prompt::line;
use crate::domain::Context;
use crate::provider::{Message, Role};

/// Rubric and data; every text on one line, as data that cannot end its own quotation.
#[derive(Clone, Debug)]
pub(super) struct Sheet<'a> {
    rubric: String,
    data: String,
    texts: Vec<&'a str>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(rubric: &str) -> Self {
        Self { rubric: rubric.trim().to_owned(), data: String::new(), texts: Vec::new() }
    }

    /// `name = "text"`.
    pub(super) fn text(mut self, name: &str, text: &'a str) -> Self {
        self.gap();
        line(&mut self.data, name, text);
        self.texts.push(text);
        self
    }

    /// `name 1 = "…"`, `name 2 = "…"`; where there are none, that.
    pub(super) fn texts(mut self, name: &str, texts: impl IntoIterator<Item = &'a str>) -> Self {
        self.gap();
        let before = self.texts.len();
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                self.data.push('\n');
            }
            line(&mut self.data, &format!("{name} {}", at + 1), text);
            self.texts.push(text);
        }
        if self.texts.len() == before {
            self.data.push_str(&format!("(There is no {name}.)"));
        }
        self
    }

    pub(super) fn contexts(self, contexts: &'a [Context]) -> Self {
        self.texts("context", contexts.iter().map(|context| context.text.as_str()))
    }

    /// A line of our own, such as the code of an item.
    pub(super) fn plain(mut self, words: &str) -> Self {
        self.gap();
        self.data.push_str(words);
        self
    }

    /// `name = "text"` right below what came last.
    pub(super) fn below(mut self, name: &str, text: &'a str) -> Self {
        self.data.push('\n');
        line(&mut self.data, name, text);
        self.texts.push(text);
        self
    }

    fn gap(&mut self) {
        if !self.data.is_empty() {
            self.data.push_str("\n\n");
        }
    }

    /// Every text that is shown.
    pub(super) fn shown(&self) -> &[&'a str] {
        &self.texts
    }

    /// Rubric, data, then rubric and demand once more.
    pub(super) fn messages(&self, demand: &str) -> Vec<Message> {
        let system = format!("{}\n\n{demand}", SYSTEM.trim_end());
        let parts = [self.rubric.as_str(), &self.data, AFTER_DATA.trim_end(), &self.rubric, demand];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let user = parts.join("\n\n");
        vec![Message { role: Role::System, text: system }, Message { role: Role::User, text: user }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stand_on_one_line_each_and_the_demand_comes_last() {
        let sheet =
            Sheet::new("Judge.\n").text("the answer", "a\n\"b\"").texts("context", []).plain("Item x").below("t", "u");
        let messages = sheet.messages("Reply YES.");
        let user = &messages[1].text;
        assert!(
            user.starts_with("Judge.\n\nthe answer = \"a\\n\\\"b\\\"\"\n\n(There is no context.)\n\nItem x\nt = \"u\""),
            "{user}"
        );
        assert!(user.ends_with("Judge.\n\nReply YES."), "{user}");
        assert_eq!(sheet.shown(), ["a\n\"b\"", "u"]);
    }
}
