//! Text for an XML 1.0 document.
//!
//! Rule: XML 1.0, fifth edition, section 2.2 (`Char`); attributes lose line ends and tabs in every parser (section 3.3.3). Markup is
//! escaped by the XML writer, so what is read back equals what was given here.

use crate::report::clean::Clean;

/// Text that an XML document can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlText(String);

impl XmlText {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

/// For an element's content.
pub(crate) fn xml_body(text: &Clean) -> XmlText {
    XmlText(held(text.as_str()))
}

/// For an attribute.
pub(crate) fn xml_attribute(text: &Clean) -> XmlText {
    XmlText(held(text.as_str()).replace(['\n', '\t'], " "))
}

/// A clean text has none of these; this is the last look before the writer, which checks nothing.
fn held(text: &str) -> String {
    let mut held = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' | '\n' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}' => {
                held.push(character)
            }
            other => held.extend(other.escape_unicode()),
        }
    }
    held
}
