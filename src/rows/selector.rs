//! Which value of a row a field takes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::Row;
use crate::text::jsonpath::JsonPath;

/// A column's name, or a JSONPath over the row (texts that begin with `$`).
#[derive(Clone, Debug)]
pub enum Selector {
    Column(String),
    Path(JsonPath),
}

/// What a selector found in a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Found<'r> {
    #[default]
    Absent,
    /// A column's value, and the number as written where its text would change.
    One(&'r Value, Option<&'r str>),
    /// What a JSONPath selects.
    Many(Vec<&'r Value>),
}

impl Selector {
    /// # Errors
    /// A text that begins with `$` and is no JSONPath.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('$') {
            JsonPath::parse(text).map(Self::Path).map_err(|error| error.to_string())
        } else if text.is_empty() {
            Err("a column's name is needed here".to_owned())
        } else {
            Ok(Self::Column(text.to_owned()))
        }
    }

    pub fn select<'r>(&self, row: &'r Row) -> Found<'r> {
        match self {
            Self::Column(name) => row.get(name).map_or(Found::Absent, |value| Found::One(value, row.written(name))),
            Self::Path(path) => match path.query(&row.value) {
                nodes if nodes.is_empty() => Found::Absent,
                nodes => Found::Many(nodes),
            },
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Column(name) => name,
            Self::Path(path) => path.as_str(),
        }
    }
}

/// A field that rows may fill: its name, the columns that fill it where the suite says nothing, and whether it is a list.
#[derive(Debug)]
pub(crate) struct FieldSpec {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub list: bool,
    /// A column that the suite maps to another field still fills this one by its name. Not for what is compared: a reference that was
    /// also taken as the answer would always be right.
    pub shares: bool,
}

/// Which column fills which field.
#[derive(Debug)]
pub(crate) struct Mapping {
    specs: &'static [FieldSpec],
    /// By field; empty where the suite says nothing.
    explicit: Vec<Vec<Selector>>,
    aliases: HashMap<&'static str, usize>,
    /// Default columns that the suite maps to another field as well: the second choice.
    shared: HashMap<&'static str, usize>,
    claimed: Vec<String>,
    /// By field: some row had a value for it.
    filled: Vec<AtomicBool>,
}

/// The fields of one row.
#[derive(Debug, Default)]
pub(crate) struct Bound<'r> {
    /// By field; several only where the suite names several selectors.
    found: Vec<Vec<Found<'r>>>,
    /// Columns that fill a field.
    pub used: Vec<&'r str>,
}

impl<'r> Bound<'r> {
    /// What fills a field; `Absent` where nothing does.
    pub(crate) fn get(&self, field: usize) -> &Found<'r> {
        const NOTHING: &Found<'static> = &Found::Absent;
        self.found.get(field).and_then(|found| found.first()).unwrap_or(NOTHING)
    }

    pub(crate) fn all(&self, field: usize) -> &[Found<'r>] {
        self.found.get(field).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Mapping {
    /// `explicit`: (field, selectors as written in the suite).
    pub(crate) fn build(specs: &'static [FieldSpec], explicit: Vec<(usize, Vec<Selector>)>) -> Self {
        let mut by_field: Vec<Vec<Selector>> = specs.iter().map(|_| Vec::new()).collect();
        for (field, selectors) in explicit {
            if let Some(slot) = by_field.get_mut(field) {
                *slot = selectors;
            }
        }
        let mut claimed = Vec::new();
        for selector in by_field.iter().flatten() {
            if let Selector::Column(name) = selector {
                claimed.push(name.clone());
            }
        }
        let (mut aliases, mut shared) = (HashMap::new(), HashMap::new());
        for (field, spec) in specs.iter().enumerate() {
            if !by_field.get(field).is_some_and(Vec::is_empty) {
                continue;
            }
            for alias in spec.aliases {
                if !claimed.iter().any(|name| name == alias) {
                    aliases.insert(*alias, field);
                } else if spec.shares {
                    shared.insert(*alias, field);
                }
            }
        }
        let filled = specs.iter().map(|_| AtomicBool::new(false)).collect();
        Self { specs, explicit: by_field, aliases, shared, claimed, filled }
    }

    /// Whether the suite says what fills the field.
    pub(crate) fn is_explicit(&self, field: usize) -> bool {
        self.explicit.get(field).is_some_and(|selectors| !selectors.is_empty())
    }

    /// The fields of `row`.
    ///
    /// # Errors
    /// A mapped column that the row does not have; two columns that both could fill a field.
    pub(crate) fn bind<'r>(&'r self, row: &'r Row) -> Result<Bound<'r>, String> {
        let mut bound = Bound { found: self.specs.iter().map(|_| Vec::new()).collect(), used: Vec::new() };
        for (field, (selectors, spec)) in self.explicit.iter().zip(self.specs).enumerate() {
            for selector in selectors {
                let found = selector.select(row);
                if found == Found::Absent && !(spec.list && matches!(selector, Selector::Path(_))) {
                    return Err(format!(
                        "there is no `{}` here, which is mapped to `{}`",
                        selector.as_str(),
                        spec.name
                    ));
                }
                self.put(&mut bound, field, found);
            }
        }
        for name in row.names() {
            if self.claimed.iter().any(|claimed| claimed == name) {
                bound.used.push(name);
                continue;
            }
            let Some(field) = self.aliases.get(name).copied() else { continue };
            if bound.all(field).is_empty() {
                bound.used.push(name);
                self.put(
                    &mut bound,
                    field,
                    row.get(name).map_or(Found::Absent, |value| Found::One(value, row.written(name))),
                );
            } else {
                return Err(self.ambiguous(row, field));
            }
        }
        self.share(row, &mut bound);
        Ok(bound)
    }

    /// Fields that nothing fills take the column of their name that another field has as well, where there is only one.
    fn share<'r>(&'r self, row: &'r Row, bound: &mut Bound<'r>) {
        for field in self.shared.values().copied() {
            if bound.all(field).is_empty()
                && let Some(found) = self.shared_in(field, row)
            {
                self.put(bound, field, found);
            }
        }
    }

    fn shared_in<'r>(&self, field: usize, row: &'r Row) -> Option<Found<'r>> {
        let mut names = row.names().filter(|name| self.shared.get(name) == Some(&field));
        match (names.next(), names.next()) {
            (Some(name), None) => Some(Found::One(row.get(name)?, row.written(name))),
            _ => None,
        }
    }

    fn may_fill(&self, name: &str, field: usize) -> bool {
        self.aliases.get(name).or_else(|| self.shared.get(name)) == Some(&field)
    }

    /// Default columns of a field that the suite maps to another one, so that they do not fill it: (column, the other field's name).
    pub(crate) fn taken_from(&self, field: usize) -> Vec<(&'static str, &'static str)> {
        let Some(spec) = self.specs.get(field).filter(|spec| !spec.shares && !self.is_explicit(field)) else {
            return Vec::new();
        };
        let taker = |alias: &str| {
            let takes = |selectors: &Vec<Selector>| {
                selectors.iter().any(|selector| matches!(selector, Selector::Column(name) if name == alias))
            };
            let (_, taker) = self.explicit.iter().zip(self.specs).find(|(selectors, _)| takes(selectors))?;
            Some(taker.name)
        };
        spec.aliases.iter().filter_map(|alias| Some((*alias, taker(alias)?))).collect()
    }

    /// Mapped columns that a file with this header cannot have: (field's name, column).
    pub(crate) fn missing_in(&self, header: &[String]) -> Vec<(&'static str, &str)> {
        let mut missing = Vec::new();
        for (selectors, spec) in self.explicit.iter().zip(self.specs) {
            for selector in selectors {
                if let Selector::Column(name) = selector
                    && !header.contains(name)
                {
                    missing.push((spec.name, name.as_str()));
                }
            }
        }
        missing
    }

    /// The column that fills a field of `row`; `None` for a JSONPath, and where nothing fills it.
    pub(crate) fn column<'r>(&'r self, field: usize, row: &'r Row) -> Option<&'r str> {
        match self.explicit.get(field)?.first() {
            Some(Selector::Column(name)) => Some(name),
            Some(Selector::Path(_)) => None,
            None => row.names().find(|name| self.may_fill(name, field)),
        }
    }

    /// One field of `row`, whatever the others are.
    ///
    /// # Errors
    /// Two columns that both could fill it.
    pub(crate) fn one<'r>(&self, field: usize, row: &'r Row) -> Result<Found<'r>, String> {
        if let Some(selector) = self.explicit.get(field).and_then(|selectors| selectors.first()) {
            return Ok(selector.select(row));
        }
        let mut names = row.names().filter(|name| self.aliases.get(name) == Some(&field));
        match (names.next(), names.next()) {
            (None, _) => Ok(self.shared_in(field, row).unwrap_or_default()),
            (Some(name), None) => Ok(row.get(name).map_or(Found::Absent, |value| Found::One(value, row.written(name)))),
            (Some(_), Some(_)) => Err(self.ambiguous(row, field)),
        }
    }

    fn put<'r>(&self, bound: &mut Bound<'r>, field: usize, found: Found<'r>) {
        if found != Found::Absent
            && let Some(filled) = self.filled.get(field)
            && !filled.load(Ordering::Relaxed)
        {
            filled.store(true, Ordering::Relaxed);
        }
        if let Some(slot) = bound.found.get_mut(field) {
            slot.push(found);
        }
    }

    fn ambiguous(&self, row: &Row, field: usize) -> String {
        let name = self.specs.get(field).map_or("", |spec| spec.name);
        let candidates: Vec<_> = row
            .names()
            .filter(|column| self.aliases.get(column) == Some(&field))
            .map(|column| format!("`{column}`"))
            .collect();
        let first = candidates.first().cloned().unwrap_or_default();
        format!(
            "{} could each be the {name}; choose one, for instance `fields: {{ {name}: {} }}`",
            candidates.join(" and "),
            first.trim_matches('`')
        )
    }

    /// True where some row had a value for the field.
    pub(crate) fn is_filled(&self, field: usize) -> bool {
        self.filled.get(field).is_some_and(|filled| filled.load(Ordering::Relaxed))
    }

    /// Explicitly mapped fields that no row filled: (field's name, selector as written).
    pub(crate) fn never_filled(&self) -> Vec<(&'static str, &str)> {
        let mut never = Vec::new();
        for (field, (selectors, spec)) in self.explicit.iter().zip(self.specs).enumerate() {
            if let Some(selector) = selectors.first()
                && !self.is_filled(field)
            {
                never.push((spec.name, selector.as_str()));
            }
        }
        never
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[FieldSpec] = &[
        FieldSpec { name: "input", aliases: &["input", "question"], list: false, shares: false },
        FieldSpec { name: "answer", aliases: &["answer", "output"], list: false, shares: false },
        FieldSpec { name: "contexts", aliases: &["contexts"], list: true, shares: false },
    ];

    fn row(value: Value) -> Row {
        Row::new(1, value.as_object().unwrap().clone())
    }

    fn column(name: &str) -> Vec<Selector> {
        vec![Selector::parse(name).unwrap()]
    }

    #[test]
    fn two_candidates_are_an_error_that_names_both() {
        let mapping = Mapping::build(SPECS, Vec::new());
        let row = row(serde_json::json!({"question": "a", "x": 1, "input": "b"}));
        let error = mapping.bind(&row).unwrap_err();
        assert!(error.contains("`question`") && error.contains("`input`"), "{error}");
    }

    #[test]
    fn a_claimed_column_is_no_candidate_for_another_field() {
        let mapping = Mapping::build(SPECS, vec![(0, column("answer"))]);
        let row = row(serde_json::json!({"answer": "a", "question": "b"}));
        let bound = mapping.bind(&row).unwrap();
        assert_eq!(*bound.get(0), Found::One(&"a".into(), None));
        assert_eq!(*bound.get(1), Found::Absent);
        assert_eq!(bound.used, ["answer"]);
    }

    #[test]
    fn a_column_that_is_mapped_elsewhere_still_fills_a_field_that_shares() {
        const SHARING: &[FieldSpec] = &[
            FieldSpec { name: "id", aliases: &["id", "qid"], list: false, shares: true },
            FieldSpec { name: "reference", aliases: &["reference"], list: false, shares: false },
            FieldSpec { name: "answer", aliases: &["answer"], list: false, shares: false },
        ];
        let mapping = Mapping::build(SHARING, vec![(1, column("id")), (2, column("reference"))]);
        let only = row(serde_json::json!({"id": "a", "reference": "b"}));
        let bound = mapping.bind(&only).unwrap();
        assert_eq!(*bound.get(0), Found::One(&"a".into(), None), "the id is still the id");
        assert_eq!(mapping.one(0, &only).unwrap(), Found::One(&"a".into(), None));
        let another = row(serde_json::json!({"id": "a", "qid": "q", "reference": "b"}));
        assert_eq!(*mapping.bind(&another).unwrap().get(0), Found::One(&"q".into(), None), "a free column comes first");
        assert_eq!(mapping.taken_from(2), [], "the suite says what fills it");
        let mapping = Mapping::build(SHARING, vec![(1, column("answer"))]);
        assert_eq!(mapping.taken_from(2), [("answer", "reference")]);
        assert_eq!(*mapping.bind(&row(serde_json::json!({"answer": "a"}))).unwrap().get(2), Found::Absent);
    }

    #[test]
    fn a_mapped_column_must_be_there() {
        let mapping = Mapping::build(SPECS, vec![(1, column("gold")), (2, column("$.nodes[*].text"))]);
        let without = row(serde_json::json!({"input": "a", "nodes": []}));
        assert!(mapping.bind(&without).unwrap_err().contains("`gold`"));
        let with = row(serde_json::json!({"input": "a", "gold": null, "nodes": []}));
        assert!(mapping.bind(&with).is_ok());
        assert_eq!(mapping.never_filled(), [("contexts", "$.nodes[*].text")]);
    }
}
