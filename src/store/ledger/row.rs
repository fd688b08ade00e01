//! A kept answer: written once, and used only where its digest fits its key and every column.

use std::ops::Range;

use rusqlite::{Connection, Row, Transaction, params};

use crate::domain::{Usage, Usd};

/// What a call took, and of whom it was asked. For accounts; empty where it is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bill {
    pub endpoint: String,
    pub usage: Usage,
    pub cost: Option<Usd>,
}

/// What a kept call answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
    /// Microseconds; SQLite's integers are signed.
    pub latency_us: i64,
    pub bill: Bill,
}

/// What the ledger holds under a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Or only an answer that this run may not use.
    Nothing,
    Kept(Kept),
    /// A row whose digest does not fit: changed by something else than scoregate, and never used.
    Altered,
}

const FIND: &str =
    "SELECT status, headers, body, latency_us, endpoint, prompt_tokens, completion_tokens, cost_usd, created_us, digest
     FROM call WHERE key = ?1";

/// What is kept for `key`, if it was made within `window`.
pub(super) fn find(connection: &Connection, key: &[u8; 32], window: &Range<i64>) -> rusqlite::Result<Found> {
    let mut statement = connection.prepare_cached(FIND)?;
    let row = statement.query_row([key.as_slice()], |row| {
        let usage = Usage { prompt_tokens: count(row, 5)?, completion_tokens: count(row, 6)? };
        let bill = Bill { endpoint: row.get(4)?, usage, cost: row.get::<_, Option<f64>>(7)?.map(Usd) };
        let kept = Kept { status: row.get(0)?, headers: row.get(1)?, body: row.get(2)?, latency_us: row.get(3)?, bill };
        let (created_us, digest): (i64, Vec<u8>) = (row.get(8)?, row.get(9)?);
        Ok((kept, created_us, digest))
    });
    match row {
        Ok((kept, created_us, digest)) if digest.as_slice() == digest_of(key, created_us, &kept).as_slice() => {
            Ok(if window.contains(&created_us) { Found::Kept(kept) } else { Found::Nothing })
        }
        // Another content, or one of a type that is never written here.
        Ok(_)
        | Err(
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::Utf8Error(..),
        ) => Ok(Found::Altered),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(Found::Nothing),
        Err(error) => Err(error),
    }
}

fn count(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
}

const KEEP: &str = "INSERT OR REPLACE INTO call (key, created_us, endpoint, status, latency_us, prompt_tokens, completion_tokens, cost_usd,
     digest, headers, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// Writes the row, in the place of an earlier one.
pub(super) fn keep(
    transaction: &Transaction<'_>,
    key: &[u8; 32],
    created_us: i64,
    kept: &Kept,
) -> rusqlite::Result<()> {
    let kept = &storable(kept);
    insert(transaction, key, created_us, kept, &digest_of(key, created_us, kept))
}

/// Numbers that the database would give back otherwise: its integers are signed, and it has no NaN.
fn storable(kept: &Kept) -> std::borrow::Cow<'_, Kept> {
    let most = i64::MAX.unsigned_abs();
    let Bill { usage, cost, .. } = &kept.bill;
    let fits = usage.prompt_tokens <= most && usage.completion_tokens <= most;
    if fits && cost.is_none_or(|Usd(cost)| cost.is_finite() && cost != 0.0) {
        return std::borrow::Cow::Borrowed(kept);
    }
    let mut kept = kept.clone();
    kept.bill.usage.prompt_tokens = usage.prompt_tokens.min(most);
    kept.bill.usage.completion_tokens = usage.completion_tokens.min(most);
    // Minus nothing is nothing.
    kept.bill.cost =
        cost.filter(|Usd(cost)| cost.is_finite()).map(|Usd(cost)| Usd(if cost == 0.0 { 0.0 } else { cost }));
    std::borrow::Cow::Owned(kept)
}

fn insert(
    transaction: &Transaction<'_>,
    key: &[u8],
    created_us: i64,
    kept: &Kept,
    digest: &[u8],
) -> rusqlite::Result<()> {
    let Kept { status, headers, body, latency_us, bill } = kept;
    let tokens = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut statement = transaction.prepare_cached(KEEP)?;
    statement.execute(params![
        key,
        created_us,
        bill.endpoint,
        status,
        latency_us,
        tokens(bill.usage.prompt_tokens),
        tokens(bill.usage.completion_tokens),
        bill.cost.map(|Usd(cost)| cost),
        digest,
        headers,
        body
    ])?;
    Ok(())
}

/// Ties a row's content to its key, so that an edited row is noticed.
fn digest_of(key: &[u8; 32], created_us: i64, kept: &Kept) -> [u8; 32] {
    let Kept { status, headers, body, latency_us, bill: Bill { endpoint, usage, cost } } = kept;
    let mut hasher = blake3::Hasher::new_derive_key("scoregate ledger row v2");
    hasher.update(key);
    hasher.update(&created_us.to_le_bytes());
    hasher.update(&status.to_le_bytes());
    hasher.update(&latency_us.to_le_bytes());
    hasher.update(&usage.prompt_tokens.to_le_bytes());
    hasher.update(&usage.completion_tokens.to_le_bytes());
    hasher.update(&[u8::from(cost.is_some())]);
    hasher.update(&cost.map_or(0, |Usd(cost)| cost.to_bits()).to_le_bytes());
    for part in [endpoint.as_bytes(), headers.as_bytes(), body] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// Rows of version 1, from `call_1`. One that was altered there stays altered: it gets a digest that fits nothing.
pub(super) fn take_over_version_1(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare("SELECT key, status, headers, body, latency_us, digest FROM call_1")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let read = || -> rusqlite::Result<([u8; 32], Kept, Vec<u8>)> {
            let kept = Kept {
                status: row.get(1)?,
                headers: row.get(2)?,
                body: row.get(3)?,
                latency_us: row.get(4)?,
                bill: Bill::default(),
            };
            Ok((row.get(0)?, kept, row.get(5)?))
        };
        match read() {
            Ok((key, kept, digest)) if digest.as_slice() == version_1_digest(&key, &kept).as_slice() => {
                insert(transaction, &key, 0, &kept, &digest_of(&key, 0, &kept))?;
            }
            Ok(_) | Err(_) => {
                let key: rusqlite::types::Value = row.get(0)?;
                let nothing =
                    Kept { status: 0, headers: String::new(), body: Vec::new(), latency_us: 0, bill: Bill::default() };
                if let rusqlite::types::Value::Blob(key) = key {
                    insert(transaction, &key, 0, &nothing, &[])?;
                }
            }
        }
    }
    Ok(())
}

fn version_1_digest(key: &[u8; 32], kept: &Kept) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("scoregate ledger row v1");
    hasher.update(key);
    hasher.update(&kept.status.to_le_bytes());
    hasher.update(&(kept.headers.len() as u64).to_le_bytes());
    hasher.update(kept.headers.as_bytes());
    hasher.update(&kept.body);
    hasher.update(&kept.latency_us.to_le_bytes());
    *hasher.finalize().as_bytes()
}
