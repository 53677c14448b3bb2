//! Connections to `SQLite`: one writer, several readers, and one that keeps the files open.

use std::borrow::Cow;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use rustix::fs::{Access, access};
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::sqlx::pool::PoolOptions;
use sea_orm::sqlx::sqlite::{
    Sqlite, SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteError, SqliteJournalMode, SqliteSynchronous,
};
use sea_orm::sqlx::{self, ConnectOptions, Connection, Executor};
use sea_orm::{DatabaseConnection, DbErr, RuntimeErr};
use tokio::sync::Mutex;

use super::files::DatabaseFiles;
use super::statement_guard::StatementGuard;
use super::{ACQUIRE_TIMEOUT, Result, StoreError, pool_options};
use crate::process::sqlite_memory;

/// The page cache of a connection, in KiB (negative values are KiB in `SQLite`). A batch changes index pages all over the
/// file, which stay in memory until the commit. An idle connection frees its cache. Readers find pages in the system's
/// cache.
const WRITER_CACHE: &str = "-40960";
const READER_CACHE: &str = "-2048";
pub const MAX_READERS: u32 = 4;
/// Rows that a connection reads ahead. A connection has a thread of its own; with few rows the two threads would wait for
/// each other all the time.
const ROWS_AHEAD: usize = 4096;

/// Statements that a connection caches. Those with many rows take 200 KiB each, and there is one for every number of rows.
const CACHED_STATEMENTS: usize = 24;

/// The moment at which a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitDurability {
    /// When it is on the disk: acknowledged commits survive a power failure.
    #[default]
    Full,
    /// When the system has it: a power failure may lose the last moments.
    Normal,
}

impl FromStr for CommitDurability {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "full" => Ok(Self::Full),
            "normal" => Ok(Self::Normal),
            _ => Err(format!("{text:?} is neither full nor normal")),
        }
    }
}

pub struct SqlitePools {
    pub write: DatabaseConnection,
    pub read: DatabaseConnection,
    pub gate: Arc<StatementGuard>,
    pub anchor: KeepAliveConnection,
}

/// A connection that is never used. While it is open, `SQLite` keeps its files, however often the other connections are
/// opened again.
#[derive(Clone, Default)]
pub struct KeepAliveConnection(Arc<Mutex<Option<SqliteConnection>>>);

impl KeepAliveConnection {
    /// Writes the contents of the log into the database file that this connection has open, wherever that file is now.
    pub async fn checkpoint(&self) -> Result<()> {
        if let Some(connection) = self.0.lock().await.as_mut() {
            connection.execute("PRAGMA wal_checkpoint").await.map_err(connection_error)?;
        }
        Ok(())
    }

    /// Closes the connection. The last connection that closes writes the log into the database file.
    pub async fn release(&self) -> Result<()> {
        match self.0.lock().await.take() {
            Some(connection) => Ok(connection.close().await.map_err(connection_error)?),
            None => Ok(()),
        }
    }
}

pub async fn connect(options: SqliteConnectOptions, synchronous: CommitDurability) -> Result<SqlitePools> {
    sqlite_memory::from_mimalloc();
    let path = options.get_filename().to_owned();
    DatabaseFiles::prepare(&path).map_err(|error| unusable_file(&path, &error))?;
    check_rights(&path)?;
    let options = configure(options, synchronous);
    // Set only when the file is created. With the setting on an existing file, every new connection would write it again,
    // and on a full disk none could be opened.
    let is_new = path.metadata().is_ok_and(|file| file.len() == 0);
    let options = if is_new { options.auto_vacuum(SqliteAutoVacuum::Incremental) } else { options };
    let reader = options.clone().pragma("cache_size", READER_CACHE);
    let anchor = open_anchor(&reader).await.map_err(|error| explain_error(&path, error))?;
    let files = DatabaseFiles::opened(&path).map_err(|error| unusable_file(&path, &error))?;
    // Each connection has a thread, which inherits the priority of the thread that opens it. All are opened here, so that
    // none inherits the lower priority of a request.
    let read =
        clean_pool(MAX_READERS).min_connections(MAX_READERS).connect_with(reader).await.map_err(connection_error)?;
    let writer = guard_commits(clean_pool(1), files.clone());
    let write = writer.connect_with(options.pragma("cache_size", WRITER_CACHE)).await.map_err(connection_error)?;
    Ok(SqlitePools {
        write: write.into(),
        read: read.into(),
        gate: Arc::new(StatementGuard::of_files(files)),
        anchor: KeepAliveConnection(Arc::new(Mutex::new(Some(anchor)))),
    })
}

fn configure(options: SqliteConnectOptions, synchronous: CommitDurability) -> SqliteConnectOptions {
    options
        // A file that is deleted later must not be created again, because it would be empty.
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(match synchronous {
            CommitDurability::Full => SqliteSynchronous::Full,
            CommitDurability::Normal => SqliteSynchronous::Normal,
        })
        .busy_timeout(ACQUIRE_TIMEOUT)
        .row_buffer_size(ROWS_AHEAD)
        .foreign_keys(true)
        .pragma("temp_store", "memory")
        // Written pages are copied to the file once for several batches (in pages of 4 KiB).
        .pragma("wal_autocheckpoint", "32768")
        .statement_cache_capacity(CACHED_STATEMENTS)
        .disable_statement_logging()
}

/// A connection that has read once, so that all files exist.
async fn open_anchor(options: &SqliteConnectOptions) -> sqlx::Result<SqliteConnection> {
    let mut connection = options.connect().await?;
    connection.execute("SELECT count(*) FROM sqlite_master").await?;
    Ok(connection)
}

/// A pool that reuses no connection in a transaction. When `SQLite` rolls back by itself, as on a full disk, the driver
/// still counts a transaction. The next statements on that connection would belong to a transaction that is never committed.
fn clean_pool(connections: u32) -> PoolOptions<Sqlite> {
    pool_options(connections).after_release(|connection: &mut SqliteConnection, _| {
        Box::pin(async move {
            if connection.is_in_transaction() {
                // A rollback may still be in progress.
                connection.ping().await?;
            }
            Ok(!connection.is_in_transaction())
        })
    })
}

/// Refuses commits unless the files are those that were opened.
fn guard_commits(pool: PoolOptions<Sqlite>, files: DatabaseFiles) -> PoolOptions<Sqlite> {
    pool.after_connect(move |connection, _| {
        let files = files.clone();
        Box::pin(async move {
            connection.lock_handle().await?.set_commit_hook(move || files.replaced().is_none());
            Ok(())
        })
    })
}

/// Fails at once if the process may not write; otherwise only the first write would fail.
fn check_rights(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    access(path, Access::READ_OK | Access::WRITE_OK).map_err(|error| {
        StoreError::Unusable(format!("the file {} cannot be written: {}", path.display(), io_error(error)))
    })?;
    access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        let folder = folder.display();
        StoreError::Unusable(format!(
            "SQLite keeps files beside it, and the folder {folder} cannot be written: {}",
            io_error(error)
        ))
    })
}

fn io_error(error: rustix::io::Errno) -> std::io::Error {
    error.into()
}

fn unusable_file(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unusable(format!("the file {} cannot be made or seen: {error}", path.display()))
}

/// An explanation of an error with the file, where the message of `SQLite` is unclear.
fn explain_error(path: &Path, error: sqlx::Error) -> StoreError {
    const CORRUPT_CODE: &str = "11";
    const NOT_A_DATABASE: &str = "26";
    let sqlite = error.as_database_error().filter(|e| e.try_downcast_ref::<SqliteError>().is_some());
    let code = sqlite.and_then(DatabaseError::code).map(Cow::into_owned);
    match code.as_deref() {
        Some(NOT_A_DATABASE) => StoreError::Unusable(format!("the file {} is not an SQLite database", path.display())),
        Some(CORRUPT_CODE) => StoreError::Unusable(format!("the file {} is damaged", path.display())),
        _ => connection_error(error).into(),
    }
}

fn connection_error(error: sqlx::Error) -> DbErr {
    DbErr::Conn(RuntimeErr::SqlxError(error.into()))
}
