//! What a failure of the database means for a person, and what to do next.

use std::path::Path;

use rusqlite::ErrorCode;

use super::StoreError;
use super::patience::LONGEST;

pub(in crate::store) fn failure(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::Ledger { path: path.to_owned(), problem: explained(error) }
}

/// Reads after `ledger FILE: `.
pub(super) fn explained(error: &rusqlite::Error) -> String {
    let advice = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            return format!(
                "another process holds it locked ({error}); it was waited for, up to {} s: end that process, or close the program \
                 that looks into the file, and run again",
                LONGEST.as_secs()
            );
        }
        Some(ErrorCode::NotADatabase) => {
            "this is no ledger, or its beginning is damaged; it was left as it is: name another file in `run.ledger`, or move this one away"
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            "the file is damaged; it was left as it is: move it away, with its `-wal` file, and run again; what it held is asked for again"
        }
        Some(ErrorCode::DiskFull) => "the disk is full: free some space and run again; what was kept until now is kept",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            "it cannot be written: allow this user to write the file and its folder, or name another file in `run.ledger`"
        }
        Some(ErrorCode::CannotOpen) => {
            "the file, or the files `-wal` and `-shm` beside it, cannot be opened: check the permissions of the file and its folder, or \
             name another file in `run.ledger`"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "the disk does not do what it is asked to: check its space and its health, then run again; what was kept until now is kept"
        }
        _ => return error.to_string(),
    };
    format!("{advice} ({error})")
}
