//! Many problems at once.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Diagnostic, Level, Source, Span};

/// The code of a variable that is not set.
pub const UNSET: &str = "missing-variable";

/// All problems found so far. `Err(Diagnostics)` always holds at least one error.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    pub fn extend(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.level == Level::Error)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Diagnostic> {
        self.0.iter_mut()
    }

    /// Changes every text: messages, help, labels, the lines that are shown. For masking secrets.
    pub fn map_texts(&mut self, change: impl Fn(&str) -> String) {
        // One file has many problems, and is looked through once.
        let mut sources: HashMap<*const Source, Arc<Source>> = HashMap::new();
        for diagnostic in &mut self.0 {
            diagnostic.message = change(&diagnostic.message);
            diagnostic.help = diagnostic.help.as_deref().map(&change);
            diagnostic.related.iter_mut().for_each(|(_, what)| *what = change(what));
            if let Some(source) = &mut diagnostic.source {
                let changed = || source.changed(&change).map_or_else(|| Arc::clone(source), Arc::new);
                let changed = Arc::clone(sources.entry(Arc::as_ptr(source)).or_insert_with(changed));
                *source = changed;
            }
        }
    }

    /// Leaves out what is wrong only because a variable in it is not set: a text without its value is told once.
    pub fn without_consequences(&mut self) {
        let unset: Vec<(String, Span)> = self
            .0
            .iter()
            .filter(|one| one.code == UNSET)
            .filter_map(|one| Some((one.source.as_ref()?.path.clone(), one.span?)))
            .collect();
        if unset.is_empty() {
            return;
        }
        // What a mapping lacks has nothing to do with what is in it.
        let own = [UNSET, "missing-key"];
        self.0.retain(|one| match (&one.source, one.span) {
            (Some(source), Some(span)) if !own.contains(&one.code) && one.level == Level::Error => {
                !unset.iter().any(|(path, place)| *path == source.path && span.holds(*place))
            }
            _ => true,
        });
    }

    /// By file, then by place; what has no place comes first.
    pub fn sort(&mut self) {
        self.0.sort_by(|left, right| {
            let key = |diagnostic: &Diagnostic| {
                (diagnostic.source.as_ref().map(|source| source.path.clone()), diagnostic.span)
            };
            key(left).cmp(&key(right))
        });
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}
