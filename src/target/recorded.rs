//! Recorded answers: from a file of their own, keyed by the case's id, or from the data set's rows.

use super::{BuildContext, Kind, Target};
use crate::diagnostic::Diagnostics;
use crate::domain::{Answer, Case, Failure, FailureKind};
use crate::net::{BoxFuture, Transport};
use crate::rows::{Recorded, RecordedSettings};
use crate::suite::{Block, Draft};

pub(super) const KIND: Kind = Kind {
    name: "recorded",
    summary: "recorded answers, from a file keyed by case id or from the data set's own rows",
    schema: || schemars::schema_for!(RecordedSettings),
    build,
};

enum Source {
    File(Box<Recorded>),
    Rows,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Box<dyn Target>> {
    let nothing = block.value.is_null() || block.value.as_object().is_some_and(serde_json::Map::is_empty);
    if nothing {
        return Some(Box::new(Source::Rows));
    }
    let Draft { settings, sound } = block.draft::<RecordedSettings>(diagnostics)?;
    if !sound {
        // Rows that are read by half of the settings would seem to be wrong.
        Recorded::check(&settings, context.suite, block, diagnostics);
        return None;
    }
    match Recorded::open(&settings, context.suite, block) {
        Ok(recorded) => Some(Box::new(Source::File(Box::new(recorded)))),
        Err(problems) => {
            diagnostics.extend(problems);
            None
        }
    }
}

impl Target for Source {
    fn ask<'a>(
        &'a self,
        case: &'a Case,
        trial: u32,
        _transport: &'a dyn Transport,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(std::future::ready(self.answer(case, trial)))
    }
}

impl Source {
    fn answer(&self, case: &Case, trial: u32) -> Result<Answer, Failure> {
        if trial > 0 {
            let why = "recorded answers hold one trial; set `run.trials: 1`";
            return Err(Failure::infra(FailureKind::Missing, why));
        }
        match self {
            Self::File(recorded) => recorded.answer(&case.id).unwrap_or_else(|| {
                let why = format!("{} holds no answer for case `{}`", recorded.file, case.id);
                Err(Failure::target(FailureKind::Missing, why))
            }),
            Self::Rows => case.recorded.clone().ok_or_else(|| {
                let why = format!("the row at {}:{} holds no recorded answer", case.place.file, case.place.line);
                Failure::target(FailureKind::Missing, why)
            }),
        }
    }
}
