//! The lock that keeps two connectors of one cluster apart. The system releases it when the process ends, however it ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use rustix::fs::Access;

const LOCK_FILE: &str = "lock";

/// A lock on the folder of a connector.
#[derive(Debug)]
pub struct InstanceLock {
    /// The open file holds the lock.
    _file: File,
}

/// The lock as it is found by a check, which makes neither the folder nor the file.
#[derive(Debug)]
pub enum ExistingLock {
    /// The check has taken it.
    Taken(InstanceLock),
    /// Another process holds it.
    Held,
    /// No connector has run yet.
    Missing,
}

impl InstanceLock {
    /// Takes the lock; `None` if another process holds it.
    pub fn take(folder: &Path) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(folder)?;
        let file = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK_FILE))?;
        Self::lock(file)
    }

    fn lock(file: File) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the lock if its file is there. Otherwise the folder must be one in which the file can be made.
    ///
    /// A check is often made by root, whose folder the user of the connector could not use.
    pub fn take_existing(folder: &Path) -> io::Result<ExistingLock> {
        match File::options().write(true).open(folder.join(LOCK_FILE)) {
            Ok(file) => Ok(Self::lock(file)?.map_or(ExistingLock::Held, ExistingLock::Taken)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let existing = folder.ancestors().find(|parent| parent.exists()).unwrap_or(Path::new("."));
                rustix::fs::access(existing, Access::WRITE_OK | Access::EXEC_OK)?;
                Ok(ExistingLock::Missing)
            }
            Err(error) => Err(error),
        }
    }
}
