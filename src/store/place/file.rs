//! A file of the checkout.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{LIMIT, Mark, Place, Stored, Wanted, moved, too_large};
use crate::net::BoxFuture;
use crate::store::lines::open as open_file;
use crate::store::{Lock, StoreError, tidy, write_atomic};

struct File {
    path: PathBuf,
    /// As the user wrote it.
    name: String,
}

pub(super) fn open(wanted: &Wanted<'_>) -> Result<Box<dyn Place>, String> {
    Ok(Box::new(File { path: wanted.file.clone(), name: wanted.path.to_owned() }))
}

/// The bytes of a baseline file.
///
/// # Errors
/// `Absent`, `Io`, or `Corrupt` where it is larger than any baseline.
pub(in crate::store) fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let read = open_file(path)?.take(LIMIT + 1).read_to_end(&mut bytes);
    let read = read.map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
    if read as u64 > LIMIT {
        return Err(too_large(&path.display().to_string()));
    }
    Ok(bytes)
}

impl File {
    fn write(&self, bytes: &[u8], over: &Mark) -> Result<(), StoreError> {
        let now = match read(&self.path) {
            Ok(bytes) => Mark::of(&bytes),
            Err(StoreError::Absent { .. }) => Mark::Nothing,
            Err(error) => return Err(error),
        };
        if now != *over {
            return Err(moved(&self.name));
        }
        write_atomic(&self.path, bytes)
    }
}

impl Place for File {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn load(&self) -> BoxFuture<'_, Result<Stored, StoreError>> {
        let kept = read(&self.path).map(|bytes| Stored { mark: Mark::of(&bytes), bytes });
        Box::pin(std::future::ready(kept))
    }

    /// Whoever writes holds the file's lock ([`Place::hold`]).
    fn save<'a>(&'a self, bytes: &'a [u8], over: &'a Mark) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(self.write(bytes, over)))
    }

    fn hold(&self) -> Result<Option<Lock>, StoreError> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let lock = Lock::wait(&self.path.with_file_name(format!(".{name}.lock")))?;
        tidy(self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")));
        Ok(Some(lock))
    }
}
