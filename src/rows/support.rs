//! For tests: a suite in a folder.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::diagnostic::Source;
use crate::domain::Digest;
use crate::suite::{RunSettings, Suite};

/// A suite without blocks whose root is `folder`.
pub(crate) fn suite_in(folder: &Path) -> Suite {
    Suite {
        name: "test".to_owned(),
        path: folder.join("scoregate.yaml"),
        folder: folder.to_owned(),
        root: folder.to_owned(),
        source: Arc::new(Source::new("scoregate.yaml", "")),
        digest: Digest::of([""]),
        dataset: Vec::new(),
        targets: Vec::new(),
        models: Vec::new(),
        evaluators: Vec::new(),
        gate: None,
        reports: None,
        alerts: Vec::new(),
        run: RunSettings {
            workers: None,
            batch_size: 1,
            trials: 1,
            looks: vec![1],
            timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            deadline: None,
            retry_attempts: 1,
            retry_max_elapsed: Duration::from_secs(1),
            budget: crate::suite::Budget::default(),
            record: serde_json::Map::new(),
            ledger: folder.join("ledger"),
            ledger_ttl: None,
            ledger_reuse: crate::suite::Reuse::On,
        },
        secrets: Vec::new(),
    }
}
