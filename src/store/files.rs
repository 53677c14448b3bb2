//! The files of an `SQLite` database: created for their owner alone, and watched, because writes to a file that was deleted
//! or replaced while open are lost.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Read and write for the owner only.
pub const OWNER_ONLY_MODE: u32 = 0o600;

/// The database file and the files that `SQLite` keeps beside it while it is open.
#[derive(Clone, Debug)]
pub struct DatabaseFiles(Vec<DatabaseFile>);

#[derive(Clone, Debug)]
struct DatabaseFile {
    path: PathBuf,
    identity: FileIdentity,
}

impl DatabaseFile {
    fn now(path: PathBuf) -> io::Result<Self> {
        Ok(Self { identity: identity(&path)?, path })
    }
}

/// Device and inode.
type FileIdentity = (u64, u64);

impl DatabaseFiles {
    /// Creates the file if it is missing. An existing file is never opened here, because closing it would release the locks
    /// that connections of this process hold on it.
    pub fn prepare(path: &Path) -> io::Result<()> {
        if !path.try_exists()? {
            match OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY_MODE).open(path) {
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => drop(made?),
            }
        }
        Ok(())
    }

    /// The files as they are now, while a connection keeps them open. Removes the access of other users.
    pub fn opened(path: &Path) -> io::Result<Self> {
        // SQLite keeps the other files beside the file itself, not beside a symbolic link to it.
        let path = path.canonicalize()?;
        let all = [path.clone(), join_with_compute(&path, "-wal"), join_with_compute(&path, "-shm")];
        for path in &all {
            close_to_others(path);
        }
        Ok(Self(all.into_iter().map(DatabaseFile::now).collect::<io::Result<_>>()?))
    }

    /// True if the locks of this process, which are on the last of the files, still exclude other processes.
    pub fn are_locked(&self) -> bool {
        self.0.last().is_some_and(|file| identity(&file.path).is_ok_and(|now| now == file.identity))
    }

    /// A message about the file that is missing or was replaced. It does not contain the path, because clients may read it.
    pub fn replaced(&self) -> Option<String> {
        let name = |file: &DatabaseFile| match file.path.to_string_lossy() {
            path if path.ends_with("-wal") => "the write-ahead log (-wal) of the database",
            path if path.ends_with("-shm") => "the index of the log (-shm) of the database",
            _ => "the file of the database",
        };
        self.0.iter().find_map(|file| match identity(&file.path) {
            Ok(now) if now == file.identity => None,
            Ok(_) => Some(format!("{} was replaced by another one", name(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Some(format!("{} was deleted or moved", name(file)))
            }
            Err(error) => Some(format!("{} cannot be seen: {error}", name(file))),
        })
    }
}

fn join_with_compute(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn identity(path: &Path) -> io::Result<FileIdentity> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

/// SQLite gives its other files the rights of the database file; files of earlier runs may have wider ones.
fn close_to_others(path: &Path) {
    let Ok(found) = fs::metadata(path) else { return };
    let mode = found.permissions().mode() & 0o7777;
    if !found.is_file() || mode & !OWNER_ONLY_MODE == 0 {
        return;
    }
    match fs::set_permissions(path, Permissions::from_mode(mode & OWNER_ONLY_MODE)) {
        Ok(()) => tracing::info!("the file {} was open to others (mode {mode:o}); it no longer is", path.display()),
        Err(error) => tracing::warn!(%error, "the file {} is open to others (mode {mode:o})", path.display()),
    }
}
