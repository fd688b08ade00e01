//! One writer at a time: a lock file that the system frees when its holder ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::StoreError;

/// Held until dropped; the file goes with it.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Waits until nobody else holds `path`.
    ///
    /// # Errors
    /// `Io`.
    pub fn wait(path: &Path) -> Result<Self, StoreError> {
        loop {
            let file = open(path)?;
            if let Err(source) = file.lock()
                && source.kind() != ErrorKind::Unsupported
            {
                return Err(StoreError::Io { path: path.to_owned(), source });
            }
            if is_at(&file, path) {
                return Ok(Self { path: path.to_owned(), file }.signed());
            }
        }
    }

    /// # Errors
    /// `Busy` with what the holder wrote about itself; `Io`.
    pub fn try_hold(path: &Path) -> Result<Self, StoreError> {
        loop {
            let file = open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Busy { path: path.to_owned(), holder: holder(path) });
                }
                // A file system without locks: as good as it gets.
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
                Err(TryLockError::Error(source)) => return Err(StoreError::Io { path: path.to_owned(), source }),
            }
            if is_at(&file, path) {
                return Ok(Self { path: path.to_owned(), file }.signed());
            }
        }
    }

    /// For those who find it held; a full disk is no reason to do without the lock.
    fn signed(mut self) -> Self {
        let _ = self.file.set_len(0).and_then(|()| write!(self.file, "process {}", std::process::id()));
        self
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Before it is free: whoever waits for this file sees that it is gone and makes another.
        if cfg!(unix) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What the holder wrote about itself; it may not have got to it yet.
fn holder(path: &Path) -> String {
    let mut text = String::new();
    for _ in 0..20 {
        let _ = File::open(path).and_then(|file| file.take(64).read_to_string(&mut text));
        if !text.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    text
}

fn open(path: &Path) -> Result<File, StoreError> {
    let fail = |source| StoreError::Io { path: path.to_owned(), source };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    // A link that came with a checkout must not make its target the lock, which is written to.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::fcntl::OFlag::O_NOFOLLOW.bits());
    #[cfg(not(unix))]
    if path.symlink_metadata().is_ok_and(|data| data.is_symlink()) {
        return Err(fail(std::io::Error::other("it is a link")));
    }
    options.open(path).map_err(fail)
}

/// Whether the locked file still is the one that others will find.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let place = |data: std::fs::Metadata| (data.dev(), data.ino());
    matches!((file.metadata().map(place), path.metadata().map(place)), (Ok(held), Ok(found)) if held == found)
}

/// Elsewhere the file stays.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_is_first_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/.lock");
        let first = Lock::try_hold(&path).unwrap();
        let refusal = Lock::try_hold(&path).unwrap_err().to_string();
        assert!(refusal.contains(&format!("process {}", std::process::id())), "{refusal}");
        drop(first);
        assert!(!cfg!(unix) || !path.exists());
        Lock::try_hold(&path).unwrap();
    }

    /// A checkout can bring a link of that name to any file that its owner may write.
    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join(".lock"), folder.path().join("precious"));
        std::fs::write(&target, "as it was").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(Lock::try_hold(&path).is_err() && Lock::wait(&path).is_err());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "as it was");
    }

    #[test]
    fn those_who_wait_come_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let (path, count) = (folder.path().join(".lock"), folder.path().join("count"));
        std::fs::write(&count, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _alone = Lock::wait(&path).unwrap();
                        let before: u32 = std::fs::read_to_string(&count).unwrap().parse().unwrap();
                        std::fs::write(&count, (before + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&count).unwrap(), "160");
    }
}
