//! Is a text well-formed XML, and which elements does it have?

use std::collections::HashSet;
use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use regex::Regex;

use super::normalize::excerpt;

/// Reads a document and says which of the paths of elements in `wanted` (`answer.source`: names from the root on) it lacks.
///
/// White space around it does not count. A document type declaration is refused: entities are how a few lines become gigabytes, and no
/// answer needs them.
///
/// # Errors
/// What is wrong, and at which byte.
/// **Source**: Extensible Markup Language 1.0, fifth edition, section 2.1.
pub fn lacks<'w>(text: &str, wanted: &'w [String]) -> Result<Vec<&'w str>, String> {
    let text = text.trim();
    if let Some(at) = text.find(|c| !is_character(c)) {
        return Err(format!("a character that XML does not allow, at byte {at}"));
    }
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let mut document = Document { lacking: wanted.iter().map(String::as_str).collect(), ..Document::default() };
    loop {
        let at = reader.buffer_position();
        let event = reader.read_event().map_err(|error| format!("{error}, at byte {}", reader.error_position()))?;
        let done = matches!(event, Event::Eof);
        document.take(event, at).map_err(|what| format!("{what}, at byte {at}"))?;
        if done {
            return Ok(document.lacking);
        }
    }
}

/// What has been read so far.
#[derive(Default)]
struct Document<'w> {
    lacking: Vec<&'w str>,
    /// Names of the open elements.
    open: Vec<String>,
    begun: bool,
}

impl Document<'_> {
    fn take(&mut self, event: Event<'_>, at: u64) -> Result<(), String> {
        match event {
            Event::Start(start) => self.enter(&start),
            Event::Empty(start) => {
                self.enter(&start)?;
                self.open.pop();
                Ok(())
            }
            // The reader has compared the names.
            Event::End(_) => {
                self.open.pop();
                Ok(())
            }
            Event::Text(text) if text.contains("]]>") => Err("`]]>` in the text".to_owned()),
            Event::Text(text) if self.open.is_empty() && !text.trim().is_empty() => {
                Err("text outside the root element".to_owned())
            }
            Event::CData(_) | Event::GeneralRef(_) if self.open.is_empty() => {
                Err("text outside the root element".to_owned())
            }
            Event::GeneralRef(name) => reference(&name),
            Event::Decl(_) if at > 0 => Err("an XML declaration that is not at the beginning".to_owned()),
            Event::Decl(declaration) if !is_declaration(&declaration) => Err("a malformed XML declaration".to_owned()),
            Event::DocType(_) => Err("a document type declaration, which is not read".to_owned()),
            Event::PI(instruction)
                if !is_name(instruction.target()) || instruction.target().eq_ignore_ascii_case("xml") =>
            {
                Err("a processing instruction without a proper name".to_owned())
            }
            Event::Eof if !self.open.is_empty() => Err("an element that is not closed".to_owned()),
            Event::Eof if !self.begun => Err("there is no element".to_owned()),
            Event::Text(_) | Event::CData(_) | Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::Eof => Ok(()),
        }
    }

    fn enter(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        if self.open.is_empty() && self.begun {
            return Err("a second root element".to_owned());
        }
        self.begun = true;
        let name = start.name();
        let name: &str = name.as_ref();
        if !is_name(name) {
            return Err(format!("`{}` is no name", excerpt(name, 40)));
        }
        attributes(start)?;
        self.open.push(name.to_owned());
        self.lacking.retain(|path| !path.split('.').eq(self.open.iter().map(String::as_str)));
        Ok(())
    }
}

fn attributes(start: &BytesStart<'_>) -> Result<(), String> {
    let mut names = HashSet::new();
    let mut end = 0;
    let raw = start.attributes_raw();
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let name: &str = attribute.key.as_ref();
        if !is_name(name) || !names.insert(name.to_owned()) {
            return Err(format!("attribute `{}` twice, or without a proper name", excerpt(name, 40)));
        }
        let value: &str = attribute.value.as_ref();
        if value.contains('<') {
            return Err(format!("`<` in the value of `{name}`"));
        }
        references(value)?;
        // White space stands before each name.
        let at = raw.get(end..).and_then(|rest| rest.find(name)).unwrap_or_default() + end;
        let gap = raw.get(end..at).unwrap_or_default();
        if gap.is_empty() {
            return Err(format!("no space before attribute `{name}`"));
        }
        let after = at + name.len();
        let quote = raw.get(after..).and_then(|rest| rest.find(['"', '\''])).unwrap_or_default();
        end = after + quote + value.len() + 2;
    }
    Ok(())
}

/// The references of an attribute's value.
fn references(value: &str) -> Result<(), String> {
    let mut rest = value;
    while let Some((_, after)) = rest.split_once('&') {
        let Some((name, behind)) = after.split_once(';') else {
            return Err("a `&` that begins no reference".to_owned());
        };
        reference(&BytesRef::new(name))?;
        rest = behind;
    }
    Ok(())
}

fn reference(name: &BytesRef<'_>) -> Result<(), String> {
    let text: &str = name;
    let known = match name.resolve_char_ref() {
        Ok(Some(c)) => is_character(c),
        Ok(None) => resolve_predefined_entity(text).is_some(),
        Err(_) => false,
    };
    if known { Ok(()) } else { Err(format!("unknown reference `&{};`", excerpt(text, 40))) }
}

/// Section 2.8, production 23, without its brackets.
static DECLARATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let version = r#"version\s*=\s*(?:"1\.[0-9]+"|'1\.[0-9]+')"#;
    let encoding = r#"encoding\s*=\s*(?:"[A-Za-z][A-Za-z0-9._-]*"|'[A-Za-z][A-Za-z0-9._-]*')"#;
    let standalone = r#"standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)')"#;
    Regex::new(&format!(r"^xml\s+{version}(?:\s+{encoding})?(?:\s+{standalone})?\s*$")).ok()
});

fn is_declaration(text: &str) -> bool {
    DECLARATION.as_ref().is_some_and(|declaration| declaration.is_match(text))
}

/// Section 2.2.
fn is_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Section 2.3.
fn is_name(text: &str) -> bool {
    let start = |c: char| {
        matches!(c, ':' | '_' | 'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
            | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}' | '\u{200d}' | '\u{2070}'..='\u{218f}'
            | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
            | '\u{10000}'..='\u{effff}')
    };
    let more = |c: char| {
        start(c) || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}')
    };
    let mut characters = text.chars();
    characters.next().is_some_and(start) && characters.all(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound(text: &str) -> bool {
        lacks(text, &[]).is_ok()
    }

    #[test]
    fn what_is_well_formed() {
        for text in [
            "<a/>",
            "<?xml version=\"1.0\"?><a b='1' c=\"&lt;&#65;\"><!-- x --><b.c-d>1 &amp; 2</b.c-d><![CDATA[<]]></a>\n",
            "<答 语=\"中\">刘备</答>",
            "<a><?php x?></a><!-- after -->",
        ] {
            assert!(sound(text), "{text}: {:?}", lacks(text, &[]));
        }
    }

    #[test]
    fn what_is_not() {
        for text in [
            "",
            "text",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<a/>text",
            "<a b=1/>",
            "<a b='1' b='2'/>",
            "<a b='1'c='2'/>",
            "<a b='<'/>",
            "<a>&nbsp;</a>",
            "<a>& b</a>",
            "<a b='&x'/>",
            "<a>&#0;</a>",
            "<1a/>",
            "<a>]]></a>",
            "<a><!-- a -- b --></a>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<a/><?xml version='1.0'?>",
            "<a>\u{1}</a>",
        ] {
            assert!(!sound(text), "{text}");
        }
    }

    #[test]
    fn paths_begin_at_the_root() {
        let wanted = ["a.b.c".to_owned(), "b.c".to_owned(), "a.d".to_owned()];
        assert_eq!(lacks("<a><b><c/></b><d/></a>", &wanted), Ok(vec!["b.c"]));
    }

    #[test]
    fn deep_nesting_and_many_attributes_stay_cheap() {
        let deep = 100_000;
        assert!(sound(&format!("{}{}", "<a>".repeat(deep), "</a>".repeat(deep))));
        let many: String = (0..20_000).map(|n| format!(" a{n}='1'")).collect();
        assert!(sound(&format!("<a{many}/>")));
    }
}
