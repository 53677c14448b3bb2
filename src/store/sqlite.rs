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

use super::files::Files;
use super::statement_guard::StatementGuard;
use super::{ACQUIRE_TIMEOUT, Result, StoreError, pool_options};

/// What a connection keeps of the database, in KiB: a batch touches index pages all over, and they stay in memory until it is
/// complete. An idle connection gives back what it keeps. Readers find pages in the system's cache.
const WRITER_CACHE: &str = "-40960";
const READER_CACHE: &str = "-2048";
pub const READERS: u32 = 4;
/// How many rows a connection reads ahead. It has a thread of its own; with few rows the two threads wait for each other all
/// the time.
const ROWS_AHEAD: usize = 4096;

/// How many statements a connection keeps. Those of many rows take 200 KiB each, and there is one for every number of rows.
const STATEMENTS: usize = 24;

/// What a commit waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// For the disk: what was acknowledged outlasts a power cut.
    #[default]
    Full,
    /// For the system only: a power cut may take the last moments.
    Normal,
}

impl FromStr for Synchronous {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "full" => Ok(Self::Full),
            "normal" => Ok(Self::Normal),
            _ => Err(format!("{text:?} is neither full nor normal")),
        }
    }
}

pub struct Pools {
    pub write: DatabaseConnection,
    pub read: DatabaseConnection,
    pub gate: Arc<StatementGuard>,
    pub anchor: KeepAliveConnection,
}

/// A connection that is never used: while it is open, `SQLite` keeps its files, however often the others are made again.
#[derive(Clone, Default)]
pub struct KeepAliveConnection(Arc<Mutex<Option<SqliteConnection>>>);

impl KeepAliveConnection {
    /// Writes what the log holds into the database file that this connection has open, wherever that is now.
    pub async fn checkpoint(&self) -> Result<()> {
        if let Some(connection) = self.0.lock().await.as_mut() {
            connection.execute("PRAGMA wal_checkpoint").await.map_err(connecting)?;
        }
        Ok(())
    }

    /// The last connection that closes writes the log into the database file.
    pub async fn release(&self) -> Result<()> {
        match self.0.lock().await.take() {
            Some(connection) => Ok(connection.close().await.map_err(connecting)?),
            None => Ok(()),
        }
    }
}

pub async fn connect(options: SqliteConnectOptions, synchronous: Synchronous) -> Result<Pools> {
    let path = options.get_filename().to_owned();
    Files::prepare(&path).map_err(|error| unusable(&path, &error))?;
    check_rights(&path)?;
    let options = configured(options, synchronous);
    // What shrinks a file later is settled when it is made. Where it stands already, every connection would write it again,
    // and on a full disk none could be opened.
    let is_new = path.metadata().is_ok_and(|file| file.len() == 0);
    let options = if is_new { options.auto_vacuum(SqliteAutoVacuum::Incremental) } else { options };
    let reader = options.clone().pragma("cache_size", READER_CACHE);
    let anchor = anchored(&reader).await.map_err(|error| explained(&path, error))?;
    let files = Files::opened(&path).map_err(|error| unusable(&path, &error))?;
    // Each connection has a thread, which takes over the priority of the thread that opens the connection. All are opened here,
    // so that none belongs to a request whose threads have a lower priority.
    let read = clean(READERS).min_connections(READERS).connect_with(reader).await.map_err(connecting)?;
    let writer = guarded(clean(1), files.clone());
    let write = writer.connect_with(options.pragma("cache_size", WRITER_CACHE)).await.map_err(connecting)?;
    Ok(Pools {
        write: write.into(),
        read: read.into(),
        gate: Arc::new(StatementGuard::of_files(files)),
        anchor: KeepAliveConnection(Arc::new(Mutex::new(Some(anchor)))),
    })
}

fn configured(options: SqliteConnectOptions, synchronous: Synchronous) -> SqliteConnectOptions {
    options
        // A file that is deleted later must not come back empty.
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(match synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
        })
        .busy_timeout(ACQUIRE_TIMEOUT)
        .row_buffer_size(ROWS_AHEAD)
        .foreign_keys(true)
        .pragma("temp_store", "memory")
        // Written pages reach the file once for several batches (in pages of 4 KiB).
        .pragma("wal_autocheckpoint", "32768")
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging()
}

/// A connection that has read, so that all files are there.
async fn anchored(options: &SqliteConnectOptions) -> sqlx::Result<SqliteConnection> {
    let mut connection = options.connect().await?;
    connection.execute("SELECT count(*) FROM sqlite_master").await?;
    Ok(connection)
}

/// A pool that uses no connection again that is not cleanly outside of a transaction. When `SQLite` rolls back by itself,
/// as on a full disk, the driver goes on counting the transaction. What came next on that connection would be a part of
/// a transaction that is never committed.
fn clean(connections: u32) -> PoolOptions<Sqlite> {
    pool_options(connections).after_release(|connection: &mut SqliteConnection, _| {
        Box::pin(async move {
            if connection.is_in_transaction() {
                // A rollback that was asked for may still be under way.
                connection.ping().await?;
            }
            Ok(!connection.is_in_transaction())
        })
    })
}

/// Lets connections commit only into the files that were opened.
fn guarded(pool: PoolOptions<Sqlite>, files: Files) -> PoolOptions<Sqlite> {
    pool.after_connect(move |connection, _| {
        let files = files.clone();
        Box::pin(async move {
            connection.lock_handle().await?.set_commit_hook(move || files.replaced().is_none());
            Ok(())
        })
    })
}

/// Fails at once where the process may not write; otherwise only the first write would show it.
fn check_rights(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    access(path, Access::READ_OK | Access::WRITE_OK).map_err(|error| {
        StoreError::Unusable(format!("the file {} cannot be written: {}", path.display(), said(error)))
    })?;
    access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        let folder = folder.display();
        StoreError::Unusable(format!(
            "SQLite keeps files beside it, and the folder {folder} cannot be written: {}",
            said(error)
        ))
    })
}

fn said(error: rustix::io::Errno) -> std::io::Error {
    error.into()
}

fn unusable(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unusable(format!("the file {} cannot be made or seen: {error}", path.display()))
}

/// What is wrong with the file, where `SQLite` says it only in its own words.
fn explained(path: &Path, error: sqlx::Error) -> StoreError {
    const CORRUPT: &str = "11";
    const NOT_A_DATABASE: &str = "26";
    let sqlite = error.as_database_error().filter(|e| e.try_downcast_ref::<SqliteError>().is_some());
    let code = sqlite.and_then(DatabaseError::code).map(Cow::into_owned);
    match code.as_deref() {
        Some(NOT_A_DATABASE) => StoreError::Unusable(format!("the file {} is not an SQLite database", path.display())),
        Some(CORRUPT) => StoreError::Unusable(format!("the file {} is damaged", path.display())),
        _ => connecting(error).into(),
    }
}

fn connecting(error: sqlx::Error) -> DbErr {
    DbErr::Conn(RuntimeErr::SqlxError(error.into()))
}
