//! The weighted mean of other metrics.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::threshold;
use super::super::{BuildContext, Info, Kind, Ready, Way, schema, spec};
use super::{Composite, Rule};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "weighted_mean",
    summary: "weighted mean of other metrics of the suite, each on a scale from 0 (worst) to 1 (best)",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[],
    version: 1,
    source: "sum of weight × score / sum of weights; weight 0: shown in the reason, does not count",
};

pub(in super::super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// The weighted mean of other metrics of the suite.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Names of metrics with their weights, which are 0 or more: `{ faithfulness: 2, rouge_l: 1 }`.
    #[schemars(extend("minProperties" = 1))]
    of: BTreeMap<String, f64>,
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    threshold: Option<f64>,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mark = threshold(block, &INFO, settings.threshold, diagnostics);
    let mut fine = sound;
    for (name, weight) in &settings.of {
        if !weight.is_finite() || *weight < 0.0 {
            let message = format!("the weight of `{name}` is {weight}");
            let problem = block.problem(&format!("/of/{name}"), "weight-out-of-range", message);
            diagnostics.push(problem.help("a weight is 0 or more; 0 shows the metric without counting it"));
            fine = false;
        }
    }
    if fine && !settings.of.values().any(|weight| *weight > 0.0) {
        let problem = block.problem("/of", "weight-out-of-range", "every weight is 0, so there is nothing to average");
        diagnostics.push(problem.help("give at least one metric a weight above 0"));
        fine = false;
    }
    let mark = mark.ok().filter(|_| fine)?;
    let composite = Composite::new(Rule::WeightedMean, settings.of.into_iter().collect(), mark);
    Some(Ready { spec: spec(block, &INFO, mark), info: &INFO, way: Way::Composite(composite) })
}
