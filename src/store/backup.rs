//! A copy of an `SQLite` database as of one moment, while it is in use.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sea_orm::{ConnectionTrait, Statement};

use super::files::OWNER_ONLY_MODE;
use super::{Result, Store, StoreError};

impl Store {
    /// Writes a copy into `file`, which must not exist, and returns once it is on the disk. Returns its size in bytes.
    pub async fn copy_into(&self, file: &Path) -> Result<u64> {
        let refused = |error: io::Error| StoreError::Unusable(format!("cannot write {}: {error}", file.display()));
        // SQLite takes a name that begins with `file:` for an address.
        let path = std::path::absolute(file).map_err(refused)?;
        let name = path.to_str().ok_or_else(|| refused(io::Error::other("its name is not UTF-8 text")))?;
        // The copy must never be readable by users of the machine that may not read the database, not even while it is
        // written.
        OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY_MODE).open(&path).map_err(refused)?;
        let copy = Statement::from_sql_and_values(self.backend(), "VACUUM INTO ?", [name.into()]);
        let copied = self.read.execute_raw(copy).await.map_err(StoreError::from);
        let stored = copied.and_then(|_| wait_until_stored(&path).map_err(refused));
        if stored.is_err()
            && let Err(error) = std::fs::remove_file(&path)
        {
            tracing::warn!(%error, "{} is left, and is no copy", path.display());
        }
        stored
    }
}

/// Waits until the file and its name are on the disk.
fn wait_until_stored(path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    file.sync_all()?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(file.metadata()?.len())
}
