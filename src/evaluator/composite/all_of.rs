//! Did all of several other metrics pass?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Ready, Way, schema, spec};
use super::{Composite, Rule};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "all_of",
    summary: "1 if the case passes all of several other metrics of the suite, else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[],
    version: 1,
    source: "conjunction; a part without a score leaves it open unless another part failed",
};

pub(in super::super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Several other metrics of the suite, each with a notion of passing.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Names of metrics, each with a notion of passing: a check, or a `threshold`.
    #[schemars(length(min = 1))]
    pub(super) of: Vec<String>,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    made(block, &INFO, Rule::All, diagnostics)
}

/// A composite of checks.
pub(super) fn made(block: &Block, info: &'static Info, rule: Rule, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let parts = settings.of.into_iter().map(|name| (name, 1.0)).collect();
    let composite = Composite::new(rule, parts, info.pass_mark);
    sound.then(|| Ready { spec: spec(block, info, None), info, way: Way::Composite(composite) })
}
