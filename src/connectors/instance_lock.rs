//! The lock that keeps two connectors of one cluster apart. The system releases it when the process ends, however it ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

const LOCK_FILE: &str = "lock";

/// A lock on the folder of a connector.
#[derive(Debug)]
pub struct InstanceLock {
    /// The open file holds the lock.
    _file: File,
}

impl InstanceLock {
    /// Takes the lock; `None` if another process holds it.
    pub fn take(folder: &Path) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(folder)?;
        let file = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK_FILE))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
