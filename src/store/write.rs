//! Replacing a file in one step.

use std::io::Write as _;
use std::path::Path;

use tempfile::NamedTempFile;

use super::StoreError;

/// Writes beside the file (unique name, same folder), syncs, renames, syncs the folder. The old file stays until the new one is whole.
///
/// # Errors
/// `Io`; the old file, if any, is untouched.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let fail = |source| StoreError::Io { path: path.to_owned(), source };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(fail)?;
    let mut file = tempfile::Builder::new().prefix(".scoregate-").tempfile_in(folder).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    share(file.as_file()).map_err(fail)?;
    persist(file, path)
}

/// Puts a written temporary file in its place: sync, rename, sync the folder.
pub(super) fn persist(file: NamedTempFile, path: &Path) -> Result<(), StoreError> {
    let fail = |source| StoreError::Io { path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    sync_folder(folder).map_err(fail)
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
