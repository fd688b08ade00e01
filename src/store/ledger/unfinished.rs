//! Runs that have begun and not ended: what they paid for may be used by the same run when it is started again, in every mode.
//!
//! A run is recorded in the commit of its first answer, and forgotten when it ends. Which run is the same is said by its place: the
//! suite's file and the folder of its results, which one process holds at a time. So a run that is recorded when another begins in its
//! place is dead, and everything kept since its beginning was paid for by it, or by somebody who worked beside it.

use std::ops::Range;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::{LedgerMode, LedgerUse, Resumed, micros};

/// A stopped run that did nothing for longer than this is not gone on with.
pub(super) const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// Places whose last questions are remembered.
const PLACES: i64 = 16;
/// How often a running run says that it is there.
const SIGN: Duration = Duration::from_secs(60);

/// A run that has not ended, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub suite: String,
    /// `on`, `refresh`, `off`.
    pub mode: String,
    pub begun_us: i64,
    /// When it kept its last answers, to a minute.
    pub seen_us: i64,
}

/// The run that uses the ledger now.
pub(super) struct Run {
    place: [u8; 32],
    mode: LedgerMode,
    suite: String,
    begun_us: i64,
    opened_us: i64,
    /// Answers made then or later may be used.
    since_us: i64,
    /// And before then: a run without a ledger asks every question itself, and takes from its journal only what it asked before it was
    /// stopped.
    until_us: i64,
    resumed: Option<Resumed>,
    shape: String,
    before: Option<String>,
    /// The last run's questions were made of the same.
    unchanged: bool,
    signed_us: Option<i64>,
}

impl Run {
    /// Looks for a stopped run of the same place and mode to go on with.
    pub(super) fn begin(connection: &Connection, usage: &LedgerUse, now_us: i64) -> rusqlite::Result<Self> {
        let LedgerUse { mode, ttl, place, suite, shape } = usage;
        let place = *blake3::hash(place.as_bytes()).as_bytes();
        let young = now_us.saturating_sub(micros(STALE));
        let stopped: Option<i64> = connection
            .query_row(
                "SELECT begun_us FROM run WHERE place = ?1 AND mode = ?2 AND seen_us >= ?3",
                params![place.as_slice(), mode.word(), young],
                |row| row.get(0),
            )
            .optional()?;
        let resumed = match stopped {
            None => None,
            Some(begun_us) => {
                let counted =
                    connection
                        .query_row("SELECT count(*) FROM call WHERE created_us >= ?1", [begun_us], |row| row.get(0));
                let answers: i64 = counted?;
                Some(Resumed { begun_us, answers: answers.unsigned_abs() })
            }
        };
        let before: Option<String> = connection
            .query_row("SELECT CAST(made_of AS TEXT) FROM shape WHERE place = ?1", [place.as_slice()], |row| row.get(0))
            .optional()?;
        let unchanged = before.as_ref() == Some(shape);
        let before = before.filter(|_| *mode == LedgerMode::On || stopped.is_some());
        let begun_us = stopped.unwrap_or(now_us);
        let since_us = match (mode, ttl) {
            (LedgerMode::On, None) => i64::MIN,
            (LedgerMode::On, Some(ttl)) => now_us.saturating_sub(micros(*ttl)).min(begun_us),
            (LedgerMode::Refresh | LedgerMode::Off, _) => begun_us,
        };
        let until_us = if *mode == LedgerMode::Off { now_us.max(begun_us) } else { i64::MAX };
        // Where every answer may be used anyway, that a stopped run goes on changes nothing.
        let told = !(*mode == LedgerMode::On && ttl.is_none());
        Ok(Self {
            place,
            mode: *mode,
            suite: suite.clone(),
            begun_us,
            opened_us: now_us.max(begun_us),
            since_us,
            until_us,
            resumed: resumed.filter(|_| told),
            shape: shape.clone(),
            before,
            unchanged,
            signed_us: None,
        })
    }

    pub(super) fn resumed(&self) -> Option<Resumed> {
        self.resumed
    }

    pub(super) fn take_before(&mut self) -> Option<String> {
        self.before.take()
    }

    /// Nothing that it keeps is older: a clock that was set back does not make it so.
    pub(super) fn opened_us(&self) -> i64 {
        self.opened_us
    }

    /// When the answers were made that may be used.
    pub(super) fn window_us(&self) -> Range<i64> {
        self.since_us..self.until_us
    }

    /// Whether it is time to say that the run is there.
    pub(super) fn unsigned(&self, now_us: i64) -> bool {
        self.signed_us.is_none_or(|at| now_us.saturating_sub(at) >= micros(SIGN))
    }

    /// Says it, within the commit of an answer.
    pub(super) fn sign(&self, transaction: &Transaction<'_>, now_us: i64) -> rusqlite::Result<()> {
        transaction.execute(
            "INSERT OR REPLACE INTO run (place, mode, suite, begun_us, seen_us) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![self.place.as_slice(), self.mode.word(), self.suite, self.begun_us, now_us],
        )?;
        if self.signed_us.is_none() {
            self.remember(transaction, now_us)?;
        }
        Ok(())
    }

    /// Keeps what the questions are made of, for the next run.
    fn remember(&self, connection: &Connection, now_us: i64) -> rusqlite::Result<()> {
        connection.execute(
            "INSERT OR REPLACE INTO shape (place, made_of, at_us) VALUES (?1, ?2, ?3)",
            params![self.place.as_slice(), self.shape, now_us],
        )?;
        // A place may be gone for good: a branch's folder, a temporary one.
        connection.execute(
            "DELETE FROM shape WHERE place NOT IN (SELECT place FROM shape ORDER BY at_us DESC LIMIT ?1)",
            [PLACES],
        )?;
        Ok(())
    }

    /// The commit went through.
    pub(super) fn signed(&mut self, now_us: i64) {
        self.signed_us = Some(now_us);
    }

    /// The run has ended, and with it every stopped one of this place; nothing is written where there is none.
    pub(super) fn finish(&self, connection: &Connection) -> rusqlite::Result<()> {
        let known: i64 =
            connection
                .query_row("SELECT count(*) FROM run WHERE place = ?1", [self.place.as_slice()], |row| row.get(0))?;
        if known > 0 {
            connection.execute("DELETE FROM run WHERE place = ?1", [self.place.as_slice()])?;
        }
        // It kept no answer, and asked something else than the last one all the same.
        if self.signed_us.is_none() && !self.unchanged {
            self.remember(connection, self.opened_us)?;
        }
        Ok(())
    }
}

/// Every run that has not ended and may still be gone on with, the oldest first.
pub(super) fn all(connection: &Connection, now_us: i64) -> rusqlite::Result<Vec<Unfinished>> {
    let mut statement = connection.prepare(
        "SELECT CAST(suite AS TEXT), CAST(mode AS TEXT), begun_us, seen_us FROM run WHERE seen_us >= ?1 ORDER BY begun_us, place",
    )?;
    let rows = statement.query_map([now_us.saturating_sub(micros(STALE))], |row| {
        Ok(Unfinished { suite: row.get(0)?, mode: row.get(1)?, begun_us: row.get(2)?, seen_us: row.get(3)? })
    })?;
    rows.collect()
}
