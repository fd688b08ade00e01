//! How few edits lead from the answer to the reference?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference, threshold, too_long};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::distance::Characters;
use crate::text::edit::{levenshtein, levenshtein_similarity, ratio};

pub const INFO: Info = Info {
    name: "levenshtein",
    summary: "1 − edits from answer to reference / characters of the longer, from 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "Levenshtein, 1966, over code points, as rapidfuzz 3.14.6 normalises it; 1 for two empty texts",
};

pub const INFO_RATIO: Info = Info {
    name: "ratio",
    summary: "2 × characters in common, in their order / characters of both, from 0 to 1",
    source: "rapidfuzz 3.14.6, fuzz.ratio divided by 100 (normalised Indel similarity); 1 for two empty texts",
    ..INFO
};

pub const INFO_DISTANCE: Info = Info {
    name: "edit_distance",
    summary: "1 if at most `max` edits lead from the answer to the reference, else 0",
    score: ScoreKind::Binary,
    pass_mark: Some(1.0),
    source: "Levenshtein, 1966, over code points; promptfoo's `levenshtein`, whose threshold is 5 as well",
    ..INFO
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };
pub(super) const RATIO: Kind = Kind { info: &INFO_RATIO, schema: schema::<Settings>, build: build_ratio };
pub(super) const DISTANCE: Kind =
    Kind { info: &INFO_DISTANCE, schema: schema::<DistanceSettings>, build: build_distance };

/// How alike are answer and reference, character for character?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    threshold: Option<f64>,
}

/// Do few edits lead from the answer to the reference?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DistanceSettings {
    /// Most characters inserted, deleted or replaced. Default: 5.
    #[serde(default = "five")]
    max: usize,
}

fn five() -> usize {
    5
}

/// A similarity of two texts from 0 to 1.
pub(super) struct Alike(pub(super) fn(&Characters) -> f64);

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    alike(block, &INFO, levenshtein_similarity, diagnostics)
}

fn build_ratio(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    alike(block, &INFO_RATIO, ratio, diagnostics)
}

pub(super) fn alike(
    block: &Block,
    info: &'static Info,
    similarity: fn(&Characters) -> f64,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mark = threshold(block, info, settings.threshold, diagnostics).ok()?;
    sound.then(|| ready(block, info, mark, Alike(similarity)))
}

fn build_distance(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let settings: DistanceSettings = block.settings(diagnostics)?;
    Some(ready(block, &INFO_DISTANCE, None, settings))
}

/// Answer and reference, if they can be compared in reasonable time.
fn texts(subject: Subject<'_>) -> Result<Characters, Failure> {
    let texts = Characters::of(&subject.answer.text, reference(subject)?);
    if texts.affordable() { Ok(texts) } else { Err(too_long("characters", texts.left.len(), texts.right.len())) }
}

impl Measure for Alike {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        Ok(Found::value(self.0(&texts(subject)?)))
    }
}

impl Measure for DistanceSettings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let edits = levenshtein(&texts(subject)?);
        let reason = if edits == 1 { "1 edit".to_owned() } else { format!("{edits} edits") };
        Ok(Found::check(edits <= self.max, format!("{reason} from the answer to the reference")))
    }
}
