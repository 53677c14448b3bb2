//! The free space on the disk of an `SQLite` database.

use std::path::Path;

use rustix::fs::statvfs;

use super::watcher::WatchedAddress;
use super::{Result, Store};

/// Bytes on the disk of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that this process may still write.
    pub free: u64,
    /// Bytes that the files of the database take.
    pub database: u64,
}

impl Store {
    /// The disk space of the database's file; `None`: the database is not a file of this machine. The call may block on the
    /// disk.
    pub fn disk_space(&self) -> Result<Option<DiskSpace>> {
        let WatchedAddress::Sqlite(options) = &*self.watched_address else { return Ok(None) };
        let file = options.get_filename();
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let disk = statvfs(folder).map_err(std::io::Error::from)?;
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
        Ok(Some(DiskSpace {
            free: disk.f_bavail.saturating_mul(disk.f_frsize),
            database: bytes(file) + bytes(Path::new(&log)),
        }))
    }
}
