//! The environment, read once in `main` and passed on.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// How a stand-in begins; the variable's name follows.
const STAND_IN: &str = "scoregate-replays-without-";

/// A snapshot of the process's environment. Names and values that are not Unicode are left out.
#[derive(Clone, Debug, Default)]
pub struct Env {
    values: BTreeMap<String, String>,
    /// Nothing is sent anywhere, so a credential that is not set needs no value.
    stand_ins: bool,
}

impl Env {
    /// Made from pairs; later pairs win.
    pub fn from_pairs<I, K, V>(pairs: I) -> Self
    where
        I: IntoIterator<Item = (K, V)>,
        K: Into<String>,
        V: Into<String>,
    {
        Self { values: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect(), stand_ins: false }
    }

    /// The variable's value, if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The variable's value, even an empty one.
    pub fn get_even_empty(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// All names that are set, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The same, for a run that sends nothing: [`Env::credential`] has a stand-in for what is not set.
    #[must_use]
    pub fn with_stand_ins(self) -> Self {
        Self { stand_ins: true, ..self }
    }

    /// Whether credentials may be missing.
    pub fn has_stand_ins(&self) -> bool {
        self.stand_ins
    }

    /// The value of a variable that is used as a credential and for nothing else: what is sent, never part of what is asked.
    pub fn credential(&self, name: &str) -> Option<Cow<'_, str>> {
        match self.get(name) {
            Some(value) => Some(Cow::Borrowed(value)),
            None => self.stand_ins.then(|| Cow::Owned(format!("{STAND_IN}{name}"))),
        }
    }

    /// The variable whose stand-in is in `text`.
    pub fn stand_in_of(text: &str) -> Option<&str> {
        let (_, after) = text.split_once(STAND_IN)?;
        let end = after.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        after.get(..end.unwrap_or(after.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_run_that_sends_nothing_has_stand_ins_and_they_say_whose_they_are() {
        let env = Env::from_pairs([("SET", "value"), ("EMPTY", "")]);
        assert_eq!((env.credential("SET").as_deref(), env.credential("EMPTY")), (Some("value"), None));
        let env = env.with_stand_ins();
        assert_eq!(env.credential("SET").as_deref(), Some("value"));
        let sent = format!("Bearer {}; more", env.credential("EMPTY").unwrap());
        assert_eq!(Env::stand_in_of(&sent), Some("EMPTY"));
        assert_eq!((Env::stand_in_of("EMPTY"), env.get("EMPTY")), (None, None));
    }
}
