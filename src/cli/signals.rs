//! SIGINT, SIGTERM, SIGHUP: the first cancels the run, which still writes its reports; the second ends the process.
//! A file that outgrows its limit (SIGXFSZ) is an error of the write, not the end of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use super::exit_code::ExitCode;
use crate::domain::{Event, EventSink};
use crate::engine::{Canceller, Stop};

/// Signals this soon after the first are the same wish.
const ECHO: Duration = Duration::from_millis(100);

/// Which signal came first: 0 none, else the exit code.
#[derive(Clone, Debug, Default)]
pub(super) struct Caught(Arc<AtomicU8>);

impl Caught {
    pub(super) fn code(&self) -> Option<ExitCode> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            code => Some(ExitCode::of(code)),
        }
    }
}

/// Listens from now on; must be called within a runtime.
pub(super) fn listen(canceller: Canceller, events: Arc<dyn EventSink>) -> std::io::Result<Caught> {
    let caught = Caught::default();
    let seen = caught.clone();
    let mut signals = Signals::new()?;
    tokio::spawn(async move {
        let (first, signal) = signals.next().await;
        seen.0.store(first.code(), Ordering::SeqCst);
        events.emit(Event::Cancelled { signal });
        canceller.cancel(Stop::Cancelled);
        // Runners and wrappers signal the process and then its group: one wish, told twice.
        let _echoes = tokio::time::timeout(ECHO, async { while !signals.next().await.1.is_empty() {} }).await;
        signals.next().await;
        // The ledger is durable without a farewell.
        std::process::exit(i32::from(first.code()));
    });
    Ok(caught)
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        // Once somebody listens, the signal ends nobody; the write it came with says what happened.
        let _unheard = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32))?;
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> (ExitCode, &'static str) {
        tokio::select! {
            _ = self.interrupt.recv() => (ExitCode::Interrupted, "SIGINT"),
            _ = self.terminate.recv() => (ExitCode::Terminated, "SIGTERM"),
            _ = self.hangup.recv() => (ExitCode::Terminated, "SIGHUP"),
        }
    }
}

#[cfg(windows)]
struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
    stop: tokio::signal::windows::CtrlBreak,
}

#[cfg(windows)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self { interrupt: tokio::signal::windows::ctrl_c()?, stop: tokio::signal::windows::ctrl_break()? })
    }

    async fn next(&mut self) -> (ExitCode, &'static str) {
        tokio::select! {
            _ = self.interrupt.recv() => (ExitCode::Interrupted, "Ctrl-C"),
            _ = self.stop.recv() => (ExitCode::Terminated, "Ctrl-Break"),
        }
    }
}
