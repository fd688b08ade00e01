//! `${NAME}` and `${NAME:-default}` in texts, after parsing: what a variable holds stays text, whatever it looks like.
//!
//! `$$` is a dollar sign; every other `$` (`$5`, `$HOME`, `$.answer`, `${7}`) stays as it is. Keys are left alone.

use std::sync::Arc;

use super::node::{Content, Node};
use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span, UNSET};
use crate::domain::{Env, Secret, SecretError};
use crate::text::suggest;

/// Puts the variables into every text of `root`.
///
/// **Returns** the values that came from the environment and are long enough to be masked. A shorter one is refused where it is a
/// credential. Missing variables, empty credentials and malformed references are pushed, at their place.
pub(super) fn interpolate(
    root: &mut Node,
    env: &Env,
    source: &Arc<Source>,
    diagnostics: &mut Diagnostics,
) -> Vec<Secret> {
    let mut filler = Filler { env, source, diagnostics, secrets: Vec::new() };
    filler.fill(root, Use::Setting);
    filler.secrets
}

struct Filler<'f> {
    env: &'f Env,
    source: &'f Arc<Source>,
    diagnostics: &'f mut Diagnostics,
    secrets: Vec<Secret>,
}

/// What a text is used for, by the keys above it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Setting,
    /// A variable for a program.
    Variable,
    Credential,
}

impl Use {
    fn below(self, key: &str) -> Self {
        if self == Self::Credential || is_headers(key) || names_credential(key) {
            Self::Credential
        } else if self == Self::Variable || key == "env" {
            Self::Variable
        } else {
            Self::Setting
        }
    }
}

/// One reference in a text.
struct Reference<'t> {
    name: &'t str,
    default: Option<&'t str>,
}

impl Filler<'_> {
    fn fill(&mut self, node: &mut Node, used: Use) {
        match &mut node.content {
            Content::Text(text) if text.contains('$') => {
                let place = Place { offset: node.offset, span: node.span };
                let (filled, from_environment) = self.text(text, place, used);
                *text = filled;
                node.from_environment = from_environment;
            }
            Content::List(items) => items.iter_mut().for_each(|item| self.fill(item, used)),
            Content::Map(entries) => {
                for entry in entries {
                    self.fill(&mut entry.value, used.below(&entry.key));
                }
            }
            Content::Null | Content::Bool(_) | Content::Number { .. } | Content::Text(_) => {}
        }
    }

    fn text(&mut self, text: &str, place: Place, used: Use) -> (String, bool) {
        let (mut filled, mut from_environment) = (String::with_capacity(text.len()), false);
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            filled.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                filled.push('$');
                rest = after;
                continue;
            }
            let Some(inside) =
                after.strip_prefix('{').filter(|inside| !inside.starts_with(|c: char| c.is_ascii_digit()))
            else {
                filled.push('$');
                rest = after;
                continue;
            };
            match inside.split_once('}').and_then(|(reference, after)| Some((parse(reference)?, after))) {
                Some((reference, after)) => {
                    from_environment |= self.variable(&reference, place, used, &mut filled);
                    rest = after;
                }
                None => {
                    self.malformed(inside, place);
                    return (text.to_owned(), from_environment);
                }
            }
        }
        filled.push_str(rest);
        (filled, from_environment)
    }

    /// Appends the variable's value; true where it came from the environment.
    fn variable(&mut self, reference: &Reference<'_>, place: Place, used: Use, filled: &mut String) -> bool {
        let credential = used == Use::Credential || names_credential(reference.name);
        if let Some(value) = self.env.get(reference.name) {
            filled.push_str(value);
            match Secret::new(reference.name, value) {
                Ok(secret) if !self.secrets.contains(&secret) => self.secrets.push(secret),
                Err(SecretError::TooShort { .. }) if credential => self.too_short(reference.name, place),
                Ok(_) | Err(SecretError::TooShort { .. }) => {}
            }
            return true;
        }
        if (credential || used == Use::Variable)
            && reference.default.is_none_or(str::is_empty)
            && let Some(stand_in) = self.env.credential(reference.name)
        {
            filled.push_str(&stand_in);
            return true;
        }
        match reference.default {
            Some("") if credential => {
                self.missing(reference.name, place, "and its default is empty: an empty credential is not sent")
            }
            Some(default) => filled.push_str(default),
            None => {
                let state = if self.env.get_even_empty(reference.name).is_some() { "but empty" } else { "" };
                self.missing(reference.name, place, state);
            }
        }
        false
    }

    fn missing(&mut self, name: &str, place: Place, state: &str) {
        let message = match state {
            "" => format!("the environment variable `{name}` is not set"),
            "but empty" => format!("the environment variable `{name}` is set, but empty"),
            state => format!("the environment variable `{name}` is not set, {state}"),
        };
        let help = match suggest::closest(name, self.env.names()) {
            _ if self.env.has_stand_ins() => format!(
                "its value is part of what is asked, so a replay needs it as well: set `{name}` to what it was when the cassette \
                 was recorded"
            ),
            Some(found) => format!("did you mean `{found}`? Set `{name}`, or give a default: `${{{name}:-default}}`"),
            None => format!(
                "set `{name}`, or give a default: `${{{name}:-default}}`; a dollar sign as text is written `$$`"
            ),
        };
        let span = place.of(name, self.source);
        self.diagnostics.push(Diagnostic::error(UNSET, message).at(self.source, span).help(help));
    }

    fn too_short(&mut self, name: &str, place: Place) {
        let message = format!(
            "the environment variable `{name}` is used as a credential and is shorter than {} characters",
            crate::domain::SHORTEST_SECRET
        );
        let help = "so short a value could not be masked in logs and reports; is it the right variable?";
        let span = place.of(name, self.source);
        self.diagnostics.push(Diagnostic::error("short-secret", message).at(self.source, span).help(help));
    }

    fn malformed(&mut self, inside: &str, place: Place) {
        let shown: String = inside.chars().take_while(|letter| !matches!(letter, '}' | '\n')).take(40).collect();
        let span = place.of(&shown, self.source);
        self.diagnostics.push(
            Diagnostic::error("bad-variable", format!("`${{{shown}` is not a reference to an environment variable"))
                .at(self.source, span)
                .help("write `${NAME}` or `${NAME:-default}`; `$${` is the text `${`"),
        );
    }
}

/// `NAME` or `NAME:-default`.
fn parse(reference: &str) -> Option<Reference<'_>> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    let valid = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    valid.then_some(Reference { name, default })
}

/// Where a text stands.
#[derive(Clone, Copy)]
struct Place {
    offset: usize,
    span: Span,
}

impl Place {
    /// The place of `${name` inside the text; the whole text where it cannot be found (an escape, for instance).
    fn of(self, name: &str, source: &Source) -> Span {
        let needle = format!("${{{name}");
        let found = source.text.get(self.offset..).and_then(|rest| {
            let ends = |at: usize| rest.get(at.checked_add(needle.len())?..).and_then(|after| after.chars().next());
            let whole = |at: &usize| matches!(ends(*at), Some('}' | ':'));
            let places = || rest.match_indices(&needle).map(|(at, _)| at);
            let at = places().find(whole).or_else(|| places().next())?;
            let before = rest.get(..at)?;
            let lines = u32::try_from(before.matches('\n').count()).ok()?;
            let on_line = u32::try_from(before.rsplit('\n').next()?.chars().count()).ok()?;
            let column = if lines == 0 { self.span.column.checked_add(on_line)? } else { on_line.checked_add(1)? };
            let length = u32::try_from(needle.chars().count()).ok()?.saturating_add(u32::from(ends(at) == Some('}')));
            Some(Span::new(self.span.line.checked_add(lines)?, column, length))
        });
        found.unwrap_or(self.span)
    }
}

fn is_headers(key: &str) -> bool {
    matches!(key.to_ascii_lowercase().as_str(), "headers" | "header")
}

/// True for names such as `api_key`, `X-Auth-Token`, `clientSecret`, `PASSWORD`.
fn names_credential(name: &str) -> bool {
    let mut word = String::new();
    let mut words = Vec::new();
    let mut lower_before = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || (letter.is_ascii_uppercase() && lower_before) {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_ascii_alphanumeric() {
            word.push(letter.to_ascii_lowercase());
        }
        lower_before = letter.is_ascii_lowercase();
    }
    words.push(word);
    words.iter().any(|word| {
        matches!(
            word.as_str(),
            "key"
                | "apikey"
                | "token"
                | "secret"
                | "password"
                | "passwd"
                | "authorization"
                | "auth"
                | "credential"
                | "credentials"
        )
    })
}
