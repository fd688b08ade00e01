//! What a ledger holds, and what it saved.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::patience::Patience;
use super::unfinished::{self, Unfinished};
use super::{StoreError, explain, now_us, schema};

/// The account of a whole ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    pub path: PathBuf,
    /// Version of the tables.
    pub version: u64,
    /// The file with its write-ahead log.
    pub bytes: u64,
    /// By name of the endpoint; what version 1 kept has none.
    pub endpoints: Vec<EndpointAccount>,
    /// Runs that may be gone on with.
    pub unfinished: Vec<Unfinished>,
}

/// The account of one endpoint. Times are microseconds since 1970, `None`: unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndpointAccount {
    pub endpoint: String,
    pub answers: u64,
    /// Bytes of the answers.
    pub bytes: u64,
    pub oldest_us: Option<i64>,
    pub newest_us: Option<i64>,
    pub used_us: Option<i64>,
    /// How often an answer was used again.
    pub hits: u64,
    pub tokens: u64,
    /// US dollars, of the answers whose price is known; `None`: of none.
    pub cost: Option<f64>,
    pub saved_tokens: u64,
    pub saved_cost: Option<f64>,
}

/// Reads the account of the ledger at `path`; a file of an earlier version is brought to this one.
///
/// # Errors
/// `Absent`, or as [`super::Ledger::open`].
pub fn account(path: &Path) -> Result<Account, StoreError> {
    let connection = open_existing(path)?;
    let fail = |error: rusqlite::Error| explain::failure(path, &error);
    let (endpoints, unfinished) = Patience::default()
        .wait(|| Ok((endpoints(&connection)?, unfinished::all(&connection, now_us())?)))
        .map_err(fail)?;
    let mut log = path.to_owned().into_os_string();
    log.push("-wal");
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let bytes = size(path).saturating_add(size(Path::new(&log)));
    Ok(Account { path: path.to_owned(), version: schema::version().unsigned_abs(), bytes, endpoints, unfinished })
}

pub(super) fn open_existing(path: &Path) -> Result<Connection, StoreError> {
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(StoreError::Absent { path: path.to_owned() }),
        Err(source) => Err(StoreError::Io { path: path.to_owned(), source }),
        Ok(metadata) if metadata.len() == 0 || !metadata.is_file() => Err(StoreError::Ledger {
            path: path.to_owned(),
            problem: "this is no ledger; it was left as it is".to_owned(),
        }),
        Ok(_) => schema::open(path, &Patience::default()),
    }
}

fn endpoints(connection: &Connection) -> rusqlite::Result<Vec<EndpointAccount>> {
    // `total` and casts: an edited row must not keep the account from being shown.
    let mut statement = connection.prepare(
        "SELECT CAST(endpoint AS BLOB), count(*), total(length(CAST(body AS BLOB)) + length(CAST(headers AS BLOB))),
                min(nullif(created_us, 0)), max(nullif(created_us, 0)), max(used_us), total(hits),
                total(prompt_tokens + completion_tokens), total(cost_usd), count(cost_usd),
                total(hits * (prompt_tokens + completion_tokens)), total(hits * cost_usd)
         FROM call LEFT JOIN reuse USING (key) GROUP BY 1 ORDER BY 1",
    )?;
    let rows = statement.query_map([], |row| {
        let whole = |at: usize| row.get(at).map(whole);
        let moment = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at).unwrap_or(None));
        let priced: i64 = row.get(9)?;
        let money = |at: usize| Ok::<_, rusqlite::Error>(Some(row.get::<_, f64>(at)?).filter(|_| priced > 0));
        Ok(EndpointAccount {
            endpoint: String::from_utf8_lossy(&row.get::<_, Vec<u8>>(0)?).into_owned(),
            answers: row.get::<_, i64>(1)?.unsigned_abs(),
            bytes: whole(2)?,
            oldest_us: moment(3)?,
            newest_us: moment(4)?,
            used_us: moment(5)?,
            hits: whole(6)?,
            tokens: whole(7)?,
            cost: money(8)?,
            saved_tokens: whole(10)?,
            saved_cost: money(11)?,
        })
    })?;
    rows.collect()
}

/// A sum of whole numbers, which SQLite gives as a float.
fn whole(sum: f64) -> u64 {
    if sum.is_finite() && sum > 0.0 { sum.round() as u64 } else { 0 }
}
