//! The only place that knows SQL: connections, and one file for each aggregate.
//!
//! Functions take a connection, so that a use-case decides what is one transaction. Rows become
//! domain types here; nothing above sees a column.

#![allow(clippy::disallowed_methods, reason = "SQL lives here")]

pub mod agents;
pub mod audit;
pub mod bucket_list;
pub mod buckets;
mod bulk;
pub mod capacity;
mod decode;
pub mod division_days;
pub mod entity;
pub mod groups;
pub mod holders;
pub mod jobs;
pub mod kernels;
pub mod key_list;
pub mod keys;
pub mod leases;
pub mod live_kernels;
pub mod people;
pub mod queues;
pub mod records;
pub mod runs;
pub mod shares;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use migration::{Migrator, MigratorTrait};
use sea_orm::{
    ConnectOptions, Database, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, IsolationLevel,
    SqliteTransactionMode, TransactionOptions, TransactionTrait,
};
pub use sea_orm::{ConnectionTrait, StreamTrait};

use crate::process::priority::give_way;

/// An open write transaction. Dropping it rolls back.
pub type Tx = DatabaseTransaction;

/// What can go wrong below the service.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the database cannot be reached or is overloaded: {0}")]
    Unavailable(String),
    #[error("database: {0}")]
    Database(DbErr),
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    #[error("{0} is not a database address; use sqlite://FILE or postgres://HOST/NAME")]
    Address(String),
}

impl From<DbErr> for StoreError {
    fn from(error: DbErr) -> Self {
        match &error {
            DbErr::ConnectionAcquire(_) | DbErr::Conn(_) => Self::Unavailable(error.to_string()),
            other if is_passing(&other.to_string()) => Self::Unavailable(error.to_string()),
            _ => Self::Database(error),
        }
    }
}

/// Faults that a later try may not meet: a lock held too long, a deadlock, a server going away.
fn is_passing(message: &str) -> bool {
    [
        "database is locked",
        "deadlock detected",
        "terminating connection",
        "the database system is",
        "Connection refused",
    ]
    .iter()
    .any(|part| message.contains(part))
}

pub type Result<T> = std::result::Result<T, StoreError>;

/// Connections to one database: on `SQLite` one writer beside several readers, on `PostgreSQL` one pool.
#[derive(Clone)]
pub struct Store {
    write: DatabaseConnection,
    read: DatabaseConnection,
    statements: Arc<AtomicU64>,
}

/// What an `SQLite` connection keeps of the database, in KiB: a batch touches index pages all over, and they stay in
/// memory until it is complete; readers find pages in the system's cache.
const WRITER_CACHE: &str = "-8192";
const READER_CACHE: &str = "-2048";
const ACQUIRE_TIMEOUT: Duration = Duration::from_mins(1);

impl Store {
    /// Opens the database at `url`; a missing `SQLite` file is created.
    pub async fn connect(url: &str) -> Result<Self> {
        let statements = Arc::new(AtomicU64::new(0));
        let count = |mut connection: DatabaseConnection| {
            let counter = Arc::clone(&statements);
            connection.set_metric_callback(move |_| {
                counter.fetch_add(1, Ordering::Relaxed);
            });
            connection
        };
        if url.starts_with("sqlite:") {
            let write = count(connect_giving_way(sqlite_options(url, 1, WRITER_CACHE)).await?);
            let read = count(Database::connect(sqlite_options(url, 4, READER_CACHE)).await?);
            Ok(Self { write, read, statements })
        } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            let pool = count(Database::connect(postgres_options(url)).await?);
            Ok(Self { write: pool.clone(), read: pool, statements })
        } else {
            Err(StoreError::Address(url.split(':').next().unwrap_or_default().to_owned()))
        }
    }

    /// Applies every missing migration.
    pub async fn migrate_up(&self) -> Result<()> {
        Ok(Migrator::up(&self.write, None).await?)
    }

    /// Reverts the last `steps` migrations.
    pub async fn migrate_down(&self, steps: u32) -> Result<()> {
        Ok(Migrator::down(&self.write, Some(steps)).await?)
    }

    /// Names of the migrations that are applied and of those that are pending.
    pub async fn migration_status(&self) -> Result<(Vec<String>, Vec<String>)> {
        Ok(migration::status(&self.write).await?)
    }

    /// A connection for statements that only read.
    pub fn read(&self) -> &DatabaseConnection {
        &self.read
    }

    /// A connection for a single writing statement.
    pub fn write(&self) -> &DatabaseConnection {
        &self.write
    }

    /// Starts a write transaction; on `SQLite` it holds the write lock from here on.
    pub async fn begin(&self) -> Result<Tx> {
        let sqlite_transaction_mode = (self.backend() == DbBackend::Sqlite).then_some(SqliteTransactionMode::Immediate);
        let options = TransactionOptions { sqlite_transaction_mode, ..TransactionOptions::default() };
        Ok(self.write.begin_with_options(options).await?)
    }

    /// Starts a transaction that reads everything as of one moment. Dropping it ends it.
    pub async fn begin_snapshot(&self) -> Result<Tx> {
        let isolation_level = (self.backend() == DbBackend::Postgres).then_some(IsolationLevel::RepeatableRead);
        let options = TransactionOptions { isolation_level, ..TransactionOptions::default() };
        Ok(self.read.begin_with_options(options).await?)
    }

    pub fn backend(&self) -> DbBackend {
        self.write.get_database_backend()
    }

    /// How many long writes are worth beginning at once: `SQLite` has one writer; on `PostgreSQL` most connections are
    /// left to requests.
    pub fn runs_at_once(&self) -> usize {
        if self.backend() == DbBackend::Sqlite { 1 } else { 3 }
    }

    /// SQL statements sent so far, for tests and metrics.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    pub async fn close(self) -> Result<()> {
        self.read.close().await?;
        Ok(self.write.close().await?)
    }
}

/// Connects where the thread that `SQLite` starts for the connection inherits a low priority: what it writes is
/// awaited by nobody who needs an answer within milliseconds.
async fn connect_giving_way(options: ConnectOptions) -> Result<DatabaseConnection> {
    let (runtime, (done, connected)) = (tokio::runtime::Handle::current(), tokio::sync::oneshot::channel());
    let connect = move || {
        give_way();
        let _ = done.send(runtime.block_on(Database::connect(options)));
    };
    let refused = |error: std::io::Error| StoreError::Unavailable(error.to_string());
    std::thread::Builder::new().spawn(connect).map_err(refused)?;
    let lost = |_| StoreError::Unavailable("the thread that connects ended".to_owned());
    Ok(connected.await.map_err(lost)??)
}

fn base_options(url: &str, connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        // With a minimum the pool connects by itself, on a thread of its choice.
        .min_connections(0)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .sqlx_logging(false);
    options
}

fn sqlite_options(url: &str, connections: u32, cache_size: &'static str) -> ConnectOptions {
    use sea_orm::sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
    let mut options = base_options(url, connections);
    options.map_sqlx_sqlite_opts(move |sqlite| {
        sqlite
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(ACQUIRE_TIMEOUT)
            .foreign_keys(true)
            .pragma("temp_store", "memory")
            .pragma("cache_size", cache_size)
            // Written pages reach the file once for several batches (in pages of 4 KiB).
            .pragma("wal_autocheckpoint", "8192")
    });
    options
}

fn postgres_options(url: &str) -> ConnectOptions {
    let mut options = base_options(url, 10);
    options.map_sqlx_postgres_pool_opts(|pool| {
        // A `begin` that was cancelled half-way leaves its transaction open on the connection.
        pool.after_release(|connection, _| {
            Box::pin(async move {
                sea_orm::sqlx::Executor::execute(connection, "ROLLBACK").await?;
                Ok(true)
            })
        })
    });
    options
}
