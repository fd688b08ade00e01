//! Waiting for a file that another process holds: long enough for any honest work, never for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::Flag;

/// A commit of another process takes milliseconds, a vacuum of a large file seconds.
pub(super) const LONGEST: Duration = Duration::from_secs(60);
/// Once somebody wants to stop: a run ends within two seconds.
const MOMENT: Duration = Duration::from_millis(500);
/// SQLite's own waiting between two looks at the flag.
const LOOK: Duration = Duration::from_millis(100);

/// How long a locked file is waited for.
#[derive(Clone, Debug)]
pub(in crate::store) struct Patience {
    hurry: Flag,
    longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self::of(LONGEST)
    }
}

impl Patience {
    pub(super) fn of(longest: Duration) -> Self {
        Self { hurry: Arc::new(AtomicBool::new(false)), longest }
    }

    pub(super) fn hurry(&self) {
        self.hurry.store(true, Ordering::Relaxed);
    }

    /// Tells the connection how to wait between two looks.
    pub(in crate::store) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
        connection.busy_timeout(LOOK)
    }

    /// Does `work`, again and again while the file is locked.
    pub(in crate::store) fn wait<T>(&self, work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        self.wait_since(Instant::now(), work)
    }

    /// The same for one who waits since `begun`, perhaps for another who waited for the file.
    pub(in crate::store) fn wait_since<T>(
        &self,
        begun: Instant,
        mut work: impl FnMut() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        loop {
            let result = work();
            let limit = if self.hurry.load(Ordering::Relaxed) { MOMENT.min(self.longest) } else { self.longest };
            match &result {
                Err(error) if locked(error) && begun.elapsed() < limit => {
                    // Some locks are refused at once, without SQLite's own waiting.
                    std::thread::sleep(Duration::from_millis(fastrand::u64(1..10)));
                }
                Err(error) if locked(error) => {
                    // Who waits behind this one does not wait all over again.
                    self.hurry();
                    return result;
                }
                Ok(_) | Err(_) => return result,
            }
        }
    }
}

pub(super) fn locked(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
