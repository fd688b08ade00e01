//! Is the answer the reference, apart from case, punctuation and articles?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::Block;
use crate::text::normalize::{excerpt, squad};

pub const INFO: Info = Info {
    name: "exact_match",
    summary: "1 if answer and reference are equal after SQuAD's normalisation, else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "evaluate-v1.1.py of SQuAD (Rajpurkar and others, 2016): lower case, without ASCII punctuation and a, an, the",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Is the answer the reference, apart from case, punctuation and articles?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let settings: Settings = block.settings(diagnostics)?;
    Some(ready(block, &INFO, None, settings))
}

impl Measure for Settings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let reference = reference(subject)?;
        let same = exact_match(&subject.answer.text, reference);
        let reason = if same {
            "the answer is the reference".to_owned()
        } else {
            format!("the answer is not the reference `{}`", excerpt(reference, 80))
        };
        Ok(Found::check(same, reason))
    }
}

/// Whether both texts have the same SQuAD form.
pub fn exact_match(answer: &str, reference: &str) -> bool {
    squad(answer) == squad(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_punctuation_and_articles_do_not_count() {
        assert!(exact_match("The  Eiffel Tower!", "eiffel tower"));
        assert!(!exact_match("Eiffel Towers", "Eiffel Tower"));
        assert!(exact_match("", "the"));
    }
}
