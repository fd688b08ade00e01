//! How a judge is told to give its verdict, and the contract that its reply is read by.

use super::prompt::fill;
use super::reading::{Contract, Lenient};

const WORDS: &str = include_str!("prompts/contract_words.txt");
const NUMBER: &str = include_str!("prompts/contract_number.txt");
const LETTERS: &str = include_str!("prompts/contract_letters.txt");
pub(super) const CODE: &str = include_str!("prompts/contract_code.txt");
const YES: &str = include_str!("prompts/compat_yes.txt");
const RESULT: &str = include_str!("prompts/compat_result.txt");
const BRACKETS: &str = include_str!("prompts/compat_brackets.txt");
const PASSING: &str = include_str!("prompts/compat_passing.txt");

pub(super) const YES_OR_NO: &[(&str, f64)] = &[("YES", 1.0), ("NO", 0.0)];

/// The verdict that a judge is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// YES (1) or NO (0).
    Words,
    /// A number.
    Number { lo: f64, hi: f64 },
    /// One of these letters.
    Letters(&'static Letters),
    /// What another tool asks for, read as it reads it.
    Compat(Lenient),
}

/// A choice of letters.
#[derive(Debug, PartialEq)]
pub(super) struct Letters {
    /// Letter and value, as the reader gives it.
    pub values: &'static [(&'static str, f64)],
    /// Parallel to them: what each letter says.
    pub meanings: &'static [&'static str],
}

/// A contract with the words that state it.
pub(super) struct Demand {
    pub contract: Contract,
    pub text: String,
}

impl Form {
    pub(super) fn demand(&self) -> Demand {
        match self {
            Self::Words => Demand {
                contract: Contract::Words { label: "VERDICT".to_owned(), words: YES_OR_NO, bare: true },
                text: WORDS.trim_end().to_owned(),
            },
            Self::Number { lo, hi } => Demand {
                contract: Contract::FirstLine { lo: *lo, hi: *hi, object: true },
                text: fill(NUMBER, &[("lo", &lo.to_string()), ("hi", &hi.to_string())]),
            },
            Self::Letters(letters) => Demand {
                contract: Contract::Letters { label: "VERDICT".to_owned(), letters: letters.values, bare: true },
                text: fill(LETTERS, &[("letters", &letters.words())]),
            },
            Self::Compat(lenient) => Demand { contract: Contract::Compat(*lenient), text: lenient_text(*lenient) },
        }
    }

    /// The same in a form that no text of a case can hold, for replies that may be copied from one; `label` is such a code.
    pub(super) fn coded(&self, label: String) -> Demand {
        let (what, contract) = match self {
            Self::Words => {
                ("YES or NO".to_owned(), Contract::Words { label: label.clone(), words: YES_OR_NO, bare: false })
            }
            Self::Number { lo, hi } => (
                format!("the grade from {lo} to {hi} in digits"),
                Contract::Labelled { label: label.clone(), lo: *lo, hi: *hi },
            ),
            Self::Letters(letters) => (
                format!("one letter ({})", letters.words()),
                Contract::Letters { label: label.clone(), letters: letters.values, bare: false },
            ),
            Self::Compat(_) => return self.demand(),
        };
        Demand { contract, text: fill(CODE, &[("code", &label), ("what", &what)]) }
    }

    /// Whether a verdict counts wherever it may come from: a tool that does not ask is not imitated otherwise.
    pub(super) fn believes_all(&self) -> bool {
        matches!(self, Self::Compat(_))
    }
}

impl Letters {
    /// `A if …, B if …`
    fn words(&self) -> String {
        let each = self.values.iter().zip(self.meanings).map(|((letter, _), meaning)| format!("{letter} if {meaning}"));
        each.collect::<Vec<_>>().join("; ")
    }

    /// The letter of a value.
    pub(super) fn letter(&self, value: f64) -> &'static str {
        self.values.iter().find(|(_, known)| *known == value).map_or("?", |(letter, _)| letter)
    }
}

fn lenient_text(lenient: Lenient) -> String {
    match lenient {
        Lenient::YesAnywhere => YES.trim_end().to_owned(),
        Lenient::FirstLine => fill(NUMBER, &[("lo", "1"), ("hi", "5")]),
        Lenient::ResultNumber => fill(RESULT, &[("hi", "4")]),
        Lenient::ResultDigit => fill(RESULT, &[("hi", "2")]),
        Lenient::Brackets => BRACKETS.trim_end().to_owned(),
        Lenient::Passing => PASSING.trim_end().to_owned(),
    }
}
