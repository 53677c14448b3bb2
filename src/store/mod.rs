//! The only place that knows SQL: connections, and one file for each aggregate.
//!
//! Functions take a connection, so that a use-case decides what is one transaction. Rows become
//! domain types here; nothing above sees a column.

#![allow(clippy::disallowed_methods, reason = "SQL lives here")]

pub mod address;
pub mod agents;
pub mod audit;
mod backup;
pub mod bucket_list;
pub mod buckets;
mod bulk;
pub mod capacity;
mod connection;
mod decode;
pub mod division_days;
pub mod entity;
mod error;
pub mod fault;
mod files;
mod gate;
pub mod groups;
pub mod holders;
pub mod jobs;
pub mod kernels;
pub mod key_list;
pub mod keys;
pub mod leases;
pub mod live_kernels;
pub mod people;
mod postgres;
pub mod queues;
pub mod records;
pub mod runs;
pub mod shares;
pub mod sqlite;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use migration::{Migrator, MigratorTrait, Schema};
use sea_orm::sqlx::Database;
use sea_orm::sqlx::pool::PoolOptions;
pub use sea_orm::{ConnectionTrait, StreamTrait};
use sea_orm::{DatabaseConnection, DbBackend, IsolationLevel, SqliteTransactionMode, TransactionOptions};

use address::Address;
pub use connection::{Connection, Tx};
pub use error::{Result, StoreError};
pub use fault::Fault;
use gate::Gate;
pub use gate::Trouble;
pub use sqlite::Synchronous;

/// Connections to one database: on `SQLite` one writer beside several readers, on `PostgreSQL` one pool.
#[derive(Clone)]
pub struct Store {
    write: Connection,
    read: Connection,
    gate: Arc<Gate>,
    statements: Arc<AtomicU64>,
    anchor: sqlite::Anchor,
}

const ACQUIRE_TIMEOUT: Duration = Duration::from_mins(1);

impl Store {
    /// Opens the database at `url`; a missing `SQLite` file is created.
    pub async fn connect(url: &str) -> Result<Self> {
        Self::connect_with(url, Synchronous::default()).await
    }

    /// Opens the database at `url`, and tells `SQLite` what a commit waits for.
    pub async fn connect_with(url: &str, synchronous: Synchronous) -> Result<Self> {
        let statements = Arc::new(AtomicU64::new(0));
        let count = |mut pool: DatabaseConnection| {
            let counter = Arc::clone(&statements);
            pool.set_metric_callback(move |_| {
                counter.fetch_add(1, Ordering::Relaxed);
            });
            pool
        };
        let (gate, write, read, anchor) = match Address::parse(url)? {
            Address::Sqlite(options) => {
                let pools = sqlite::connect(*options, synchronous).await?;
                (pools.gate, count(pools.write), count(pools.read), pools.anchor)
            }
            Address::Postgres(options) => {
                let pool = count(postgres::connect(*options).await?);
                (Arc::default(), pool.clone(), pool, sqlite::Anchor::default())
            }
        };
        let write = Connection::new(write, Arc::clone(&gate), true);
        let read = Connection::new(read, Arc::clone(&gate), false);
        Ok(Self { write, read, gate, statements, anchor })
    }

    /// Applies every missing migration.
    pub async fn migrate_up(&self) -> Result<()> {
        self.schema().await?;
        Ok(Migrator::up(self.write.pool(), None).await?)
    }

    /// Reverts the last `steps` migrations.
    pub async fn migrate_down(&self, steps: u32) -> Result<()> {
        self.schema().await?;
        Ok(Migrator::down(self.write.pool(), Some(steps)).await?)
    }

    /// The migrations that are applied and those that are pending. A schema that a newer version made is refused.
    pub async fn schema(&self) -> Result<Schema> {
        let schema = migration::schema(&self.write).await?;
        if schema.unknown.is_empty() { Ok(schema) } else { Err(StoreError::NewerSchema(schema.unknown)) }
    }

    /// Connections for statements that only read.
    pub fn read(&self) -> &Connection {
        &self.read
    }

    /// Connections for single writing statements.
    pub fn write(&self) -> &Connection {
        &self.write
    }

    /// Starts a write transaction; on `SQLite` it holds the write lock from here on.
    pub async fn begin(&self) -> Result<Tx> {
        let sqlite_transaction_mode = (self.backend() == DbBackend::Sqlite).then_some(SqliteTransactionMode::Immediate);
        let options = TransactionOptions { sqlite_transaction_mode, ..TransactionOptions::default() };
        Ok(self.write.begin(options).await?)
    }

    /// Starts a transaction that reads everything as of one moment. Dropping it ends it.
    pub async fn begin_snapshot(&self) -> Result<Tx> {
        let isolation_level = (self.backend() == DbBackend::Postgres).then_some(IsolationLevel::RepeatableRead);
        let options = TransactionOptions { isolation_level, ..TransactionOptions::default() };
        Ok(self.read.begin(options).await?)
    }

    pub fn backend(&self) -> DbBackend {
        self.write.backend()
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

    /// Why the database does not take writes now; empty while it does.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.gate.troubles()
    }

    /// Brings what was acknowledged from the log into the file that was opened, so that whoever has either has it.
    pub async fn save_log(&self) -> Result<()> {
        if self.gate.may_save() { self.anchor.checkpoint().await } else { Ok(()) }
    }

    pub async fn close(self) -> Result<()> {
        self.read.pool().clone().close().await?;
        self.write.pool().clone().close().await?;
        self.anchor.release().await
    }
}

/// What the pools of both databases have in common.
fn pool_options<DB: Database>(connections: u32) -> PoolOptions<DB> {
    PoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
}
