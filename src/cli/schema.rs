//! The JSON Schema of the whole suite file, from the same types that read it.

use super::failure::Failed;
use crate::gate::Policy;
use crate::report::ReportSettings;
use crate::suite::{SchemaParts, schema};
use crate::{alert, dataset, evaluator, provider, target};

/// The schema as it is committed.
///
/// # Errors
/// It cannot be written as JSON, which a schema always can.
pub(super) fn text() -> Result<String, Failed> {
    let parts = SchemaParts {
        dataset: Some(dataset::schema()),
        targets: target::kinds().iter().map(|kind| (kind.name, (kind.schema)())).collect(),
        models: provider::kinds()
            .iter()
            .map(|kind| (kind.name, (kind.schema)()))
            .chain(provider::embedding_kinds().iter().map(|kind| (kind.name, (kind.schema)())))
            .collect(),
        evaluators: evaluator::kinds().map(|kind| (kind.info.name, kind.schema())).collect(),
        gate: Some(Policy::schema()),
        reports: Some(schemars::schema_for!(ReportSettings)),
        alerts: Some(alert::schema()),
    };
    let mut text = serde_json::to_string_pretty(&schema(parts)).map_err(|error| Failed::CouldNot(error.to_string()))?;
    text.push('\n');
    Ok(text)
}
