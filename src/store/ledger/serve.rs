//! The ledger's thread: looks up, and commits what has gathered meanwhile in one sync.

use std::collections::HashMap;
use std::sync::mpsc;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::explain::explained;
use super::patience::Patience;
use super::row::{self, Found, Kept};
use super::unfinished::Run;
use super::{now_us, tell};
use crate::store::batches;

/// Rows a commit takes at most.
const GROUP: usize = 512;
/// Uses of kept answers that are remembered before they are written down without an answer to keep.
const USES: usize = 4_096;

/// Who waits for an answer of the ledger's thread.
pub(super) type Reply<T> = oneshot::Sender<Result<T, String>>;

/// An answer to keep, and who waits for the commit.
pub(super) struct Put {
    pub(super) key: [u8; 32],
    pub(super) kept: Kept,
    pub(super) reply: Reply<()>,
}

pub(super) enum Order {
    Get([u8; 32], Reply<Found>),
    Put(Box<Put>),
    /// Whether batches are remembered in the file.
    Finish(Reply<bool>),
    /// Nothing follows.
    Close,
}

pub(super) struct Server {
    connection: Connection,
    run: Option<Run>,
    patience: Patience,
    /// Kept answers that were used since the last commit, and how often. Only for accounts: a kill may lose them.
    uses: HashMap<[u8; 32], u32>,
}

impl Server {
    pub(super) fn new(connection: Connection, run: Option<Run>, patience: Patience) -> Self {
        Self { connection, run, patience, uses: HashMap::new() }
    }

    /// A disk that is full from now on.
    #[cfg(test)]
    pub(super) fn limit_pages(&self, pages: i64) {
        self.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    }

    pub(super) fn serve(mut self, inbox: &mpsc::Receiver<Order>) {
        while let Ok(first) = inbox.recv() {
            let (mut gets, mut puts) = (Vec::new(), Vec::new());
            let (mut next, mut finish, mut close) = (Some(first), None, false);
            while let Some(order) = next {
                match order {
                    Order::Get(key, reply) => gets.push((key, reply)),
                    Order::Put(put) => puts.push(*put),
                    Order::Finish(reply) => finish = Some(reply),
                    Order::Close => close = true,
                }
                let full = close || finish.is_some() || gets.len().max(puts.len()) >= GROUP;
                next = if full { None } else { inbox.try_recv().ok() };
            }
            self.look_up(gets);
            if !puts.is_empty() {
                let done = self.keep(&puts).map_err(|error| explained(&error));
                // All or none of a group is kept: each one who waits is told.
                for put in puts {
                    tell(put.reply, done.clone());
                }
            } else if self.uses.len() >= USES {
                // Accounts are not worth a failure.
                let _ = self.keep(&[]);
            }
            // After what was ordered before it: a commit may say that the run is there.
            if let Some(reply) = finish {
                tell(reply, self.finish());
            }
            if close {
                break;
            }
        }
        self.close();
    }

    /// Several look-ups share one reading: each by itself would lock and unlock the file.
    fn look_up(&mut self, gets: Vec<([u8; 32], Reply<Found>)>) {
        // Where it cannot begin, each look-up says why.
        let shared = gets.len() > 1 && self.connection.execute_batch("BEGIN").is_ok();
        for (key, reply) in gets {
            tell(reply, self.find(&key));
        }
        if shared {
            let _ = self.connection.execute_batch("COMMIT");
        }
    }

    fn find(&mut self, key: &[u8; 32]) -> Result<Found, String> {
        let window = self.run.as_ref().map_or(i64::MIN..i64::MAX, Run::window_us);
        let (connection, patience) = (&self.connection, &self.patience);
        let found = patience.wait(|| row::find(connection, key, &window)).map_err(|error| explained(&error))?;
        if matches!(found, Found::Kept(_)) {
            let times = self.uses.entry(*key).or_insert(0);
            *times = times.saturating_add(1);
        }
        Ok(found)
    }

    /// One commit for all of them; whether the file is locked shows at its beginning.
    pub(super) fn keep(&mut self, puts: &[Put]) -> rusqlite::Result<()> {
        let Self { connection, run, patience, uses } = self;
        let signed = patience.wait(|| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let now_us = run.as_ref().map_or(i64::MIN, Run::opened_us).max(now_us());
            for Put { key, kept, .. } in puts {
                row::keep(&transaction, key, now_us, kept)?;
            }
            let sign = run.as_ref().filter(|run| !puts.is_empty() && run.unsigned(now_us));
            if let Some(run) = sign {
                run.sign(&transaction, now_us)?;
            }
            count(&transaction, uses, now_us)?;
            let signed = sign.map(|_| now_us);
            transaction.commit()?;
            Ok(signed)
        })?;
        uses.clear();
        if let (Some(run), Some(at)) = (run, signed) {
            run.signed(at);
        }
        Ok(())
    }

    fn finish(&self) -> Result<bool, String> {
        let work = || {
            self.run.as_ref().map_or(Ok(()), |run| run.finish(&self.connection))?;
            batches::any(&self.connection)
        };
        self.patience.wait(work).map_err(|error| explained(&error))
    }

    /// Everything that counts is committed already. Where another process still uses the file, the log is left to it.
    fn close(mut self) {
        self.patience.hurry();
        if !self.uses.is_empty() {
            let _ = self.keep(&[]);
        }
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}

fn count(transaction: &Transaction<'_>, uses: &HashMap<[u8; 32], u32>, now_us: i64) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO reuse (key, used_us, hits) VALUES (?1, ?2, ?3)
         ON CONFLICT (key) DO UPDATE SET used_us = excluded.used_us, hits = hits + excluded.hits",
    )?;
    for (key, times) in uses {
        statement.execute(params![key.as_slice(), now_us, times])?;
    }
    Ok(())
}
