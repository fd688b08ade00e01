//! Are answer and reference almost the same short text, a name say?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::levenshtein::{Settings, alike};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;
use crate::text::jaro::jaro_winkler;

pub const INFO: Info = Info {
    name: "jaro_winkler",
    summary: "Jaro-Winkler similarity of answer and reference, from 0 to 1; for names and other short texts",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "Winkler, 1990, over code points, as rapidfuzz 3.14.6 computes it: a common beginning of up to four characters counts above 0.7",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    alike(block, &INFO, jaro_winkler, diagnostics)
}
