//! A look into a ledger that changes nothing: no file is made, brought to another version, locked for long or counted in.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::patience::Patience;
use super::row::{self, Found};
use super::{LedgerMode, explain, micros, now_us, schema};
use crate::store::StoreError;

/// An open ledger, for reading.
pub struct Peek {
    path: PathBuf,
    connection: Connection,
    from_us: i64,
}

impl Peek {
    /// `ttl`: answers older than this do not count.
    ///
    /// **Returns** `None` where there is no ledger, or one of a version that this program would first have to change, or where no kept
    /// answer may be used.
    ///
    /// # Errors
    /// `Ledger` where the file is there and cannot be read.
    pub fn open(path: &Path, mode: LedgerMode, ttl: Option<std::time::Duration>) -> Result<Option<Self>, StoreError> {
        let readable = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
        if mode != LedgerMode::On || !readable {
            return Ok(None);
        }
        let fail = |error: rusqlite::Error| explain::failure(path, &error);
        let connection = open(path).map_err(fail)?;
        let version = Patience::default()
            .wait(|| connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)))
            .map_err(fail)?;
        let from_us = ttl.map_or(i64::MIN, |ttl| now_us().saturating_sub(micros(ttl)));
        Ok((version == schema::version()).then(|| Self { path: path.to_owned(), connection, from_us }))
    }

    /// What is kept for `key` and may be used.
    ///
    /// # Errors
    /// `Ledger` where the database fails.
    pub fn find(&self, key: &[u8; 32]) -> Result<Found, StoreError> {
        let found = Patience::default().wait(|| row::find(&self.connection, key, &(self.from_us..i64::MAX)));
        found.map_err(|error| explain::failure(&self.path, &error))
    }
}

/// Without a log beside it, everything is in the file: it is opened as one that nobody changes, which makes no files beside it.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let mut log = path.to_owned().into_os_string();
    log.push("-wal");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if std::fs::metadata(Path::new(&log)).is_ok_and(|metadata| metadata.len() > 0) {
        let connection = Connection::open_with_flags(path, flags)?;
        Patience::prepare(&connection)?;
        return Ok(connection);
    }
    let path = path.to_str().ok_or_else(|| rusqlite::Error::InvalidPath(path.to_owned()))?;
    let mut address = "file:".to_owned();
    for c in path.chars() {
        match c {
            '?' => address.push_str("%3f"),
            '#' => address.push_str("%23"),
            '%' => address.push_str("%25"),
            c => address.push(c),
        }
    }
    address.push_str("?immutable=1");
    Connection::open_with_flags(address, flags | OpenFlags::SQLITE_OPEN_URI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Bill, Kept, Ledger};

    fn kept() -> Kept {
        Kept { status: 200, headers: "[]".to_owned(), body: b"yes".to_vec(), latency_us: 5, bill: Bill::default() }
    }

    fn peek(path: &Path, mode: LedgerMode, ttl: Option<std::time::Duration>) -> Option<Peek> {
        Peek::open(path, mode, ttl).unwrap()
    }

    #[tokio::test]
    async fn a_look_finds_what_is_kept_and_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        // A name that means something in an address.
        let path = folder.path().join("a%20#?b.sqlite");
        assert!(peek(&path, LedgerMode::On, None).is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a file was made");
        let ledger = Ledger::open(&path).unwrap();
        ledger.put([1; 32], kept()).await.unwrap();
        // Beside a running process the answer is in the log.
        assert_eq!(peek(&path, LedgerMode::On, None).unwrap().find(&[1; 32]).unwrap(), Found::Kept(kept()));
        drop(ledger);
        let names = || {
            let mut names: Vec<_> =
                std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
            names.sort();
            names
        };
        let (bytes, before) = (std::fs::read(&path).unwrap(), names());
        let look = peek(&path, LedgerMode::On, None).unwrap();
        assert_eq!(look.find(&[1; 32]).unwrap(), Found::Kept(kept()));
        assert_eq!(look.find(&[2; 32]).unwrap(), Found::Nothing);
        assert_eq!((std::fs::read(&path).unwrap(), names()), (bytes, before));
        drop(look);
        let expired = peek(&path, LedgerMode::On, Some(std::time::Duration::ZERO)).unwrap();
        assert_eq!(expired.find(&[1; 32]).unwrap(), Found::Nothing);
        assert!(peek(&path, LedgerMode::Refresh, None).is_none() && peek(&path, LedgerMode::Off, None).is_none());
    }

    #[test]
    fn what_is_no_ledger_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        std::fs::write(&path, "no database at all, but a text of some length").unwrap();
        assert!(matches!(Peek::open(&path, LedgerMode::On, None), Err(StoreError::Ledger { .. })));
    }
}
