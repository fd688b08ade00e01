//! Text → [`Template`].

use crate::text::suggest;

/// A text with placeholders, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub(super) pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Value { name: String, form: Form },
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is: texts, numbers and truth values.
    Plain,
    /// `| json`: any value, as JSON.
    Json,
}

/// Why a text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// Where the placeholder begins: the 0-based position in characters.
    pub column: usize,
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

impl Template {
    /// Reads `text`. `allowed` lists the names that exist; a name `x.y` is allowed where `x.*` is listed.
    ///
    /// # Errors
    /// A placeholder that is not closed, not understood, or names an unknown variable or filter.
    pub fn parse(text: &str, allowed: &[&str]) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        let mut column = 0_usize;
        while let Some((before, after)) = rest.split_once(OPEN) {
            push_text(&mut pieces, before);
            column = column.saturating_add(before.chars().count());
            let (piece, remaining) = placeholder(after, column, allowed)?;
            match piece {
                Piece::Text(text) => push_text(&mut pieces, &text),
                value @ Piece::Value { .. } => pieces.push(value),
            }
            let used = after.len().saturating_sub(remaining.len());
            let inside = after.get(..used).unwrap_or(after);
            column = column.saturating_add(OPEN.len()).saturating_add(inside.chars().count());
            rest = remaining;
        }
        push_text(&mut pieces, rest);
        Ok(Self { pieces })
    }

    /// The variables used, in order, with repetitions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value { name, .. } => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// True without any placeholder.
    pub fn is_plain(&self) -> bool {
        self.names().next().is_none()
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(last)) => last.push_str(text),
        Some(Piece::Value { .. }) | None => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// Reads what follows `{{` up to its `}}`; returns the piece and what comes after.
fn placeholder<'t>(after: &'t str, column: usize, allowed: &[&str]) -> Result<(Piece, &'t str), TemplateError> {
    let error = |message: String, help: Option<String>| TemplateError { column, message, help };
    if let Some(found) = literal(after) {
        return Ok(found);
    }
    let Some((inside, remaining)) = after.split_once(CLOSE) else {
        let help = "close it with `}}`, or write `{{ \"{{\" }}` for two braces as text";
        return Err(error("a placeholder `{{` is not closed".to_owned(), Some(help.to_owned())));
    };
    let (name, filter) = match inside.split_once('|') {
        Some((name, filter)) => (name.trim(), Some(filter.trim())),
        None => (inside.trim(), None),
    };
    let form = match filter {
        None => Form::Plain,
        Some("json") => Form::Json,
        Some(other) => {
            return Err(error(format!("unknown filter `{other}`"), Some("the only filter is `json`".to_owned())));
        }
    };
    if !is_name(name) {
        let help = "write a name, such as `{{ input }}`; there are no expressions";
        return Err(error(format!("`{name}` is not the name of a variable"), Some(help.to_owned())));
    }
    if !is_allowed(name, allowed) {
        let known = suggest::list(allowed.iter().copied(), "and");
        let help = suggest::did_you_mean(name, allowed.iter().copied()).unwrap_or_else(|| {
            if known.is_empty() { "no variables can be used here".into() } else { format!("known here: {known}") }
        });
        return Err(error(format!("unknown variable `{name}`"), Some(help)));
    }
    Ok((Piece::Value { name: name.to_owned(), form }, remaining))
}

/// `{{ "text" }}`: the text itself, braces included.
fn literal(after: &str) -> Option<(Piece, &str)> {
    let quoted = after.trim_start().strip_prefix('"')?;
    let (text, rest) = quoted.split_once('"')?;
    let remaining = rest.trim_start().strip_prefix(CLOSE)?;
    Some((Piece::Text(text.to_owned()), remaining))
}

fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
    };
    name.split('.').all(part) && !name.starts_with(|letter: char| letter.is_ascii_digit())
}

fn is_allowed(name: &str, allowed: &[&str]) -> bool {
    allowed.iter().any(|known| match known.strip_suffix(".*") {
        Some(family) => name.strip_prefix(family).is_some_and(|rest| rest.starts_with('.')),
        None => *known == name,
    })
}
