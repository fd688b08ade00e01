//! The lines on their way out: a bounded queue, and a thread that opens and writes.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::form::{self, Form};
use crate::domain::{Event, EventSink, Redactor};

/// Lines that wait to be written at most.
const QUEUE: usize = 16_384;
/// A reader that takes nothing for so long has gone.
const PATIENCE: Duration = Duration::from_millis(500);
/// Exit codes from here on are those of signals: the end does not wait then.
const CANCELLED: u8 = 128;
/// How often the end looks whether lines are still taken: with [`PATIENCE`], half a minute.
const LOOKS: u32 = 60;

/// Where the lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlet {
    Stdout,
    /// A file, which is replaced, or a named pipe, whose reader may come later.
    File(PathBuf),
}

/// Listens to a run and writes its events. Trouble with the outlet is remembered and never stops a run.
pub struct EventStream {
    state: Mutex<State>,
    redactor: Redactor,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    ended: Mutex<Receiver<std::io::Result<()>>>,
    written: Arc<AtomicU64>,
}

struct State {
    form: Form,
    /// `None` after the last line.
    lines: Option<SyncSender<String>>,
    /// Lines that were left out and not told of yet.
    dropped: u64,
}

impl EventStream {
    /// Begins with the stream's first line. `clock`: time since the run began.
    pub fn open(outlet: Outlet, redactor: Redactor, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self::start(redactor, Box::new(clock), QUEUE, move || match outlet {
            Outlet::Stdout => Ok(Box::new(std::io::stdout())),
            // Here, since to open a pipe is to wait for its reader.
            Outlet::File(path) => Ok(Box::new(std::fs::File::create(path)?)),
        })
    }

    pub(super) fn start(
        redactor: Redactor,
        clock: Box<dyn Fn() -> Duration + Send + Sync>,
        queue: usize,
        open: impl FnOnce() -> std::io::Result<Box<dyn Write>> + Send + 'static,
    ) -> Self {
        let (lines, inbox) = sync_channel::<String>(queue.max(1));
        let (end, ended) = sync_channel(1);
        let written = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&written);
        std::thread::spawn(move || {
            let result = open().and_then(|out| write_all(&inbox, out, &count));
            // Whoever began the stream may not wait for its end.
            let _ = end.send(result);
        });
        let mut state = State { form: Form::new(redactor.clone()), lines: Some(lines), dropped: 0 };
        state.put(&form::head());
        Self { state: Mutex::new(state), redactor, clock, ended: Mutex::new(ended), written }
    }

    /// Writes the last line and waits while lines are taken.
    ///
    /// # Errors
    /// Why not all lines were written, for a person. A reader that left on purpose (a broken pipe) is no error.
    pub fn finish(&self, code: u8, reason: Option<&str>) -> Result<(), String> {
        let lost = {
            let mut state = self.state();
            state.put(&form::exit(code, reason, (self.clock)(), &self.redactor));
            state.lines = None;
            state.dropped
        };
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = self.written.load(Ordering::Relaxed);
        let looks = if code < CANCELLED { LOOKS } else { 1 };
        for _ in 0..looks {
            match ended.recv_timeout(PATIENCE) {
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
                Ok(Err(error)) => return Err(error.to_string()),
                Ok(Ok(())) if lost > 0 => return Err(format!("its last {lost} lines were not taken in time")),
                Ok(Ok(())) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err("the thread that writes them broke".to_owned()),
                Err(RecvTimeoutError::Timeout) => {
                    let now = self.written.load(Ordering::Relaxed);
                    if now == before {
                        break;
                    }
                    before = now;
                }
            }
        }
        Err("its reader does not take them".to_owned())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, value: &Value) {
        let Some(lines) = &self.lines else { return };
        let mut line = String::new();
        if self.dropped > 0 {
            line = format!("{}\n", form::dropped(self.dropped));
        }
        line.push_str(&value.to_string());
        line.push('\n');
        // Full, or the writer has ended: either way nobody waits for it.
        self.dropped = match lines.try_send(line) {
            Ok(()) => 0,
            Err(_) => self.dropped.saturating_add(1),
        };
    }
}

impl EventSink for EventStream {
    fn emit(&self, event: Event) {
        // Held while the line is put: lines stand in the order of their events.
        let mut state = self.state();
        let object = state.form.object(&event, (self.clock)());
        state.put(&object);
    }
}

/// Whole lines, flushed whenever none waits.
fn write_all(inbox: &Receiver<String>, out: Box<dyn Write>, written: &AtomicU64) -> std::io::Result<()> {
    let mut out = BufWriter::new(out);
    loop {
        let line = match inbox.try_recv() {
            Ok(line) => line,
            Err(TryRecvError::Disconnected) => return out.flush(),
            Err(TryRecvError::Empty) => {
                out.flush()?;
                match inbox.recv() {
                    Ok(line) => line,
                    Err(_) => return Ok(()),
                }
            }
        };
        out.write_all(line.as_bytes())?;
        written.fetch_add(1, Ordering::Relaxed);
    }
}
