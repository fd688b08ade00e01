//! The JSON Schema of the whole suite file, from the same types that read it.

use crate::gate::Policy;
use crate::report::ReportSettings;
use crate::suite::{SchemaParts, schema};
use crate::{dataset, evaluator, provider, target};

pub(super) fn text() -> String {
    let parts = SchemaParts {
        dataset: Some(dataset::schema()),
        targets: target::kinds().iter().map(|kind| (kind.name, (kind.schema)())).collect(),
        models: provider::kinds().iter().map(|kind| (kind.name, (kind.schema)())).collect(),
        evaluators: evaluator::kinds().map(|kind| (kind.info.name, (kind.schema)())).collect(),
        gate: Some(Policy::schema()),
        reports: Some(schemars::schema_for!(ReportSettings)),
    };
    let mut text = serde_json::to_string_pretty(&schema(parts)).unwrap_or_default();
    text.push('\n');
    text
}
