//! `--events`: where the events of a run go, from before its first check to after its last report.

use std::path::Path;
use std::sync::Arc;

use super::ending::Ending;
use super::failure::Failed;
use super::{clock, screen};
use crate::domain::{Event, EventSink, Redactor};
use crate::report::{EventStream, Outlet};

/// The stream of a run; without `--events` nothing is written.
#[derive(Clone, Default)]
pub(super) struct Events(Option<Arc<EventStream>>);

/// The outlet that `--events` names. Standard output is kept free for it from here on.
pub(super) fn outlet(path: &Path) -> Outlet {
    if path.as_os_str() != "-" {
        return Outlet::File(path.to_owned());
    }
    screen::leave_stdout();
    Outlet::Stdout
}

impl Events {
    pub(super) fn open(outlet: Option<Outlet>, redactor: &Redactor) -> Self {
        Self(outlet.map(|outlet| Arc::new(EventStream::open(outlet, redactor.clone(), clock::stopwatch()))))
    }

    pub(super) fn emit(&self, event: Event) {
        if let Some(stream) = &self.0 {
            stream.emit(event);
        }
    }

    /// Tells how the command ended. A stream that is not whole is said, and changes no exit code.
    pub(super) fn end(&self, ended: &Result<Ending, Failed>) {
        let Some(stream) = &self.0 else { return };
        let told = match ended {
            Ok(Ending { code, reason }) => stream.finish(code.code(), reason.as_deref()),
            Err(failed) => {
                let problems: Vec<String> = failed.problems().iter().map(ToString::to_string).collect();
                stream.finish(failed.code().code(), Some(&problems.join("\n")))
            }
        };
        if let Err(why) = told {
            screen::message(&format!("warning: the events are not all written: {why}"));
        }
    }
}
