//! Makes a ledger smaller, beside processes that use it: small transactions, and nothing that a running run may still need.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};

use super::account::open_existing;
use super::patience::{Patience, locked};
use super::unfinished;
use super::{StoreError, explain, micros, now_us};

/// Rows a transaction removes: others wait for one at most.
const GROUP: usize = 1_000;

/// What goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PruneSettings {
    /// Answers that were neither made nor used for this long.
    pub older_than: Option<Duration>,
    /// Then, until the file takes no more bytes than this, what was not used for longest.
    pub keep_size: Option<u64>,
    /// Only say it.
    pub dry_run: bool,
}

/// What went, or would go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub answers: u64,
    pub left: u64,
    /// Answers that stay because a run that has not ended made them, or worked beside it.
    pub needed: u64,
    pub bytes_before: u64,
    /// Of a dry run: as estimated.
    pub bytes_after: u64,
    /// The file could not be made smaller now because another process was reading it; its free space is used again.
    pub held: bool,
}

struct Candidate {
    key: Vec<u8>,
    created_us: i64,
    last_us: i64,
    bytes: u64,
}

/// Removes answers from the ledger at `path` and gives their space back.
///
/// # Errors
/// `Absent`, or as [`super::Ledger::open`].
pub fn prune(path: &Path, settings: &PruneSettings) -> Result<Pruned, StoreError> {
    let mut connection = open_existing(path)?;
    let patience = Patience::default();
    let once = |connection: &mut Connection| {
        prune_within(connection, settings, &patience, now_us()).map_err(|error| explain::failure(path, &error))
    };
    let mut pruned = once(&mut connection)?;
    // What an answer takes of the file is estimated, so the first look may leave a little too much.
    let too_large = |pruned: &Pruned| settings.keep_size.is_some_and(|most| pruned.bytes_after > most);
    while !settings.dry_run && !pruned.held && too_large(&pruned) {
        let more = once(&mut connection)?;
        if more.answers == 0 {
            break;
        }
        pruned =
            Pruned { answers: pruned.answers.saturating_add(more.answers), bytes_before: pruned.bytes_before, ..more };
    }
    Ok(pruned)
}

fn prune_within(
    connection: &mut Connection,
    settings: &PruneSettings,
    patience: &Patience,
    now_us: i64,
) -> rusqlite::Result<Pruned> {
    let bytes_before = patience.wait(|| size(connection))?;
    let candidates = patience.wait(|| candidates(connection))?;
    let running = patience.wait(|| unfinished::all(connection, now_us))?;
    let needed_from = running.iter().map(|run| run.begun_us).min().unwrap_or(i64::MAX);
    let all = candidates.len() as u64;
    let (free, needed): (Vec<Candidate>, Vec<Candidate>) =
        candidates.into_iter().partition(|candidate| candidate.created_us < needed_from);
    let content = |some: &[Candidate]| some.iter().fold(0_u64, |sum, one| sum.saturating_add(one.bytes));
    let total = content(&free).saturating_add(content(&needed));
    let chosen = choose(&free, settings, bytes_before, total, now_us);
    let share = |bytes: u64| of(bytes, bytes_before, total);
    let mut pruned = Pruned {
        answers: chosen.len() as u64,
        left: all.saturating_sub(chosen.len() as u64),
        needed: needed.len() as u64,
        bytes_before,
        bytes_after: bytes_before.saturating_sub(share(content(chosen))),
        held: false,
    };
    if settings.dry_run {
        return Ok(pruned);
    }
    pruned.answers = remove(connection, chosen, patience)?;
    pruned.left = all.saturating_sub(pruned.answers);
    pruned.held = !shrink(connection)?;
    pruned.bytes_after = patience.wait(|| size(connection))?;
    Ok(pruned)
}

/// Pages of the database, in bytes.
fn size(connection: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    Ok(pragma("page_count")?.unsigned_abs().saturating_mul(pragma("page_size")?.unsigned_abs()))
}

/// All answers, the one that was not used for longest first.
fn candidates(connection: &Connection) -> rusqlite::Result<Vec<Candidate>> {
    let mut statement = connection.prepare(
        "SELECT call.key, CAST(created_us AS INTEGER), max(CAST(created_us AS INTEGER), ifnull(used_us, 0)),
                256 + length(CAST(body AS BLOB)) + length(CAST(headers AS BLOB)) + length(CAST(endpoint AS BLOB))
         FROM call LEFT JOIN reuse USING (key) WHERE typeof(call.key) = 'blob' ORDER BY 3, 1",
    )?;
    let rows = statement.query_map([], |row| {
        let bytes: i64 = row.get(3)?;
        Ok(Candidate { key: row.get(0)?, created_us: row.get(1)?, last_us: row.get(2)?, bytes: bytes.unsigned_abs() })
    })?;
    rows.collect()
}

/// The beginning of `free` that goes. `content` bytes of answers make a file of `size` bytes.
fn choose<'a>(
    free: &'a [Candidate],
    settings: &PruneSettings,
    size: u64,
    content: u64,
    now_us: i64,
) -> &'a [Candidate] {
    let old = settings.older_than.map_or(0, |age| {
        let before = now_us.saturating_sub(micros(age));
        free.iter().take_while(|candidate| candidate.last_us < before).count()
    });
    let mut left = content;
    let mut count = 0;
    for candidate in free {
        let large = settings.keep_size.is_some_and(|most| of(left, size, content) > most);
        if count >= old && !large {
            break;
        }
        left = left.saturating_sub(candidate.bytes);
        count += 1;
    }
    free.get(..count).unwrap_or(free)
}

/// The part of a file of `size` bytes that `bytes` of its `content` take.
fn of(bytes: u64, size: u64, content: u64) -> u64 {
    if content == 0 {
        return 0;
    }
    let part = u128::from(bytes) * u128::from(size) / u128::from(content);
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// An answer that was replaced meanwhile stays. Returns how many went.
fn remove(connection: &mut Connection, chosen: &[Candidate], patience: &Patience) -> rusqlite::Result<u64> {
    let mut gone = 0_u64;
    for group in chosen.chunks(GROUP) {
        let removed = patience.wait(|| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut removed = 0_u64;
            for Candidate { key, created_us, .. } in group {
                let rows = transaction
                    .prepare_cached("DELETE FROM call WHERE key = ?1 AND CAST(created_us AS INTEGER) = ?2")?
                    .execute(params![key, created_us])?;
                transaction
                    .prepare_cached("DELETE FROM reuse WHERE key = ?1 AND key NOT IN (SELECT key FROM call)")?
                    .execute([key])?;
                removed = removed.saturating_add(rows as u64);
            }
            transaction.commit()?;
            Ok(removed)
        })?;
        gone = gone.saturating_add(removed);
        // Whoever waits for the file gets it in between.
        std::thread::yield_now();
    }
    Ok(gone)
}

/// Gives free space back; false where another process is in the way, which is no failure.
fn shrink(connection: &Connection) -> rusqlite::Result<bool> {
    let patience = Patience::of(Duration::from_secs(10));
    match patience.wait(|| connection.execute_batch("VACUUM")) {
        Ok(()) => {}
        Err(error) if locked(&error) => return Ok(false),
        Err(error) => return Err(error),
    }
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}
