//! Digests of content, and the record of what a metric was measured with.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The first 16 bytes of a BLAKE3 hash, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Digest of `parts`, each with its length, so that ("ab","c") and ("a","bc") differ.
    pub fn of<I, T>(parts: I) -> Self
    where
        I: IntoIterator<Item = T>,
        T: AsRef<[u8]>,
    {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            let bytes = part.as_ref();
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }
        let mut short = [0; 16];
        short.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(short)
    }

    /// The raw bytes, for a database key.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads 32 hexadecimal digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let value = u128::from_str_radix(text, 16).ok()?;
        Some(Self(value.to_be_bytes()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("a digest is 32 hexadecimal digits"))
    }
}

/// What a metric was measured with, part by part, so that a difference can be named ("judge changed: …").
///
/// Parts have fixed names: `evaluator`, `version`, `settings`, `prompt`, `model`, `parameters`, `endpoint`; where several
/// questions share a request also `batch_size` and `pack` (how they are put); of a metric made of others `parts` (theirs).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub BTreeMap<String, String>);

impl Fingerprint {
    /// Sets one part.
    #[must_use]
    pub fn with(mut self, part: &str, value: impl fmt::Display) -> Self {
        self.0.insert(part.to_owned(), value.to_string());
        self
    }

    /// The parts that differ: (part, in `self`, in `other`); an absent part is the empty text.
    pub fn differences(&self, other: &Self) -> Vec<(String, String, String)> {
        let mut names: Vec<&String> = self.0.keys().chain(other.0.keys()).collect();
        names.sort();
        names.dedup();
        let value = |map: &BTreeMap<String, String>, name: &String| map.get(name).cloned().unwrap_or_default();
        names
            .into_iter()
            .filter(|name| self.0.get(*name) != other.0.get(*name))
            .map(|name| (name.clone(), value(&self.0, name), value(&other.0, name)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_survives_its_text() {
        let digest = Digest::of(["a", "b"]);
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse("+1234567890123456789012345678901"), None);
    }

    #[test]
    fn where_parts_are_cut_matters() {
        assert_ne!(Digest::of(["ab", "c"]), Digest::of(["a", "bc"]));
    }

    #[test]
    fn differences_name_the_part_and_both_values() {
        let old = Fingerprint::default().with("model", "large").with("version", 1);
        let new = Fingerprint::default().with("model", "tiny").with("version", 1);
        assert_eq!(old.differences(&new), vec![("model".to_owned(), "large".to_owned(), "tiny".to_owned())]);
    }
}
