//! Replacing a file in one step.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use super::StoreError;

/// Writes beside the file (unique name, same folder), syncs, renames, syncs the folder. The old file stays until the new one is whole.
///
/// # Errors
/// `Io`; the old file, if any, is untouched.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let Staged { file, path } = stage(path, |out| out.write_all(bytes))?;
    persist(file, &path)
}

/// A whole file that is not in its place yet.
pub struct Staged {
    file: NamedTempFile,
    path: PathBuf,
}

/// Writes beside the file what `write` writes, which need not stand in memory, for [`put_in_place`].
///
/// # Errors
/// `Io`, or the error of `write`.
pub fn stage(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Staged, StoreError> {
    let fail = |source| StoreError::Io { path: path.to_owned(), source };
    let folder = folder_of(path);
    std::fs::create_dir_all(folder).map_err(fail)?;
    let mut file = temporary(folder).map_err(fail)?;
    let mut out = BufWriter::with_capacity(BUFFER, &mut file);
    write(&mut out).and_then(|()| out.flush()).map_err(fail)?;
    drop(out);
    share(file.as_file()).map_err(fail)?;
    Ok(Staged { file, path: path.to_owned() })
}

/// Puts files of one folder in their places, as [`write_atomic`] does with one: they wait for the disk together. Returns what went wrong;
/// each file is there whole or not at all.
pub fn put_in_place(files: Vec<Staged>) -> Vec<StoreError> {
    let synced: Vec<_> = std::thread::scope(|scope| {
        let sync = |staged: Staged| scope.spawn(move || staged.file.as_file().sync_all().map(|()| staged));
        let paths: Vec<PathBuf> = files.iter().map(|staged| staged.path.clone()).collect();
        let waiting: Vec<_> = files.into_iter().map(sync).collect();
        paths.into_iter().zip(waiting).map(|(path, thread)| (path, thread.join())).collect()
    });
    let mut failed = Vec::new();
    let mut folder = None;
    for (path, synced) in synced {
        let synced = synced.unwrap_or_else(|_| Err(io::Error::other("the thread that wrote it broke")));
        let placed = synced.and_then(|staged| staged.file.persist(&path).map_err(|error| error.error));
        match placed {
            Ok(_) => folder = Some(path),
            Err(source) => failed.push(StoreError::Io { path, source }),
        }
    }
    if let Some(path) = folder
        && let Err(source) = sync_folder(folder_of(&path))
    {
        failed.push(StoreError::Io { path, source });
    }
    failed
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Bytes that are written at once.
const BUFFER: usize = 64 << 10;

/// What the names of our temporary files begin with.
const PREFIX: &str = ".scoregate-";

/// A file that is not there yet for anybody else. It is locked while its writer lives, so that [`tidy`] knows it from one that a
/// killed process left.
pub(super) fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    let file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)?;
    // Elsewhere a lock would keep its own process from reading the file.
    if cfg!(unix) {
        // A file system without locks: then nothing is tidied either.
        let _ = file.as_file().try_lock();
    }
    Ok(file)
}

/// Removes the temporary files that killed processes left in `folder`: those that are a few seconds old and that nobody holds. The caller
/// holds the folder's lock. What cannot be removed stays.
pub fn tidy(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) && abandoned(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A file that was made a moment ago may not be locked yet.
const FRESH: Duration = Duration::from_secs(2);
/// Where locks say nothing.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

fn abandoned(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else { return false };
    let age = file.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
    let free = !cfg!(unix) || file.try_lock().is_ok();
    age.is_some_and(|age| age >= if cfg!(unix) { FRESH } else { STALE }) && free
}

/// Puts a written temporary file in its place: sync, rename, sync the folder.
pub(super) fn persist(file: NamedTempFile, path: &Path) -> Result<(), StoreError> {
    let fail = |source| StoreError::Io { path: path.to_owned(), source };
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    sync_folder(folder_of(path)).map_err(fail)
}

/// Temporary files are private; reports are for everyone, like any file the shell makes.
#[cfg(unix)]
pub(super) fn share(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
pub(super) fn share(_file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

/// Other systems cannot open a folder as a file; the rename is as durable as they make it.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_that_cannot_be_placed_does_not_keep_the_others_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("first"), "old").unwrap();
        let staged: Vec<Staged> = ["first", "second", "third"]
            .map(|name| stage(&path(name), |out| write!(out, "new {name}")).unwrap())
            .into();
        assert_eq!(std::fs::read_to_string(path("first")).unwrap(), "old");
        // What stands in the way came in the meantime.
        std::fs::create_dir_all(path("second").join("full")).unwrap();
        let failed = put_in_place(staged);
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].to_string().contains("second"), "{failed:?}");
        assert_eq!(std::fs::read_to_string(path("first")).unwrap(), "new first");
        assert_eq!(std::fs::read_to_string(path("third")).unwrap(), "new third");
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 3, "no temporary file is left");
    }

    #[test]
    fn what_cannot_be_written_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        std::fs::write(&path, "old").unwrap();
        let half = stage(&path, |out| out.write_all(b"half").and_then(|()| Err(io::Error::other("no more"))));
        assert!(half.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
