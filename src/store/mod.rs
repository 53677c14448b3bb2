//! The only layer with SQL: connections, and one file for each aggregate.
//!
//! Functions take a connection, so that a use-case decides the extent of its transaction. Rows become domain types here; the
//! layers above know no columns.

#![allow(clippy::disallowed_methods, reason = "SQL lives here")]

pub mod address;
pub mod agents;
pub mod audit;
pub mod audit_targets;
mod availability;
mod backup;
pub mod bucket_list;
pub mod buckets;
mod bulk;
pub mod capacity;
pub mod clock;
mod connection;
pub mod connectors;
pub mod cursors;
pub mod day_rows;
pub mod day_totals;
mod decode;
pub mod disk;
pub mod division_days;
pub mod entity;
mod error;
pub mod fairness_days;
pub mod fault;
mod files;
pub mod forecasts;
pub mod groups;
pub mod holders;
pub mod jobs;
mod kernel_keys;
pub mod kernels;
pub mod key_list;
pub mod keys;
pub mod leases;
pub mod live_kernels;
mod nullable;
pub mod open_kernels;
pub mod origin;
mod partitions;
pub mod people;
mod pool;
mod postgres;
pub mod queues;
pub mod records;
pub mod retention;
pub mod revision;
pub mod rights;
pub mod run_times;
pub mod running;
pub mod runs;
pub mod shadow_reports;
pub mod share_days;
pub mod shares;
pub mod slice_kinds;
mod space;
pub mod sqlite;
mod statement_guard;
pub mod table_locks;
pub mod ui_sessions;
mod watcher;
pub mod workloads;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use migration::Schema;
use sea_orm::sqlx::Database;
use sea_orm::sqlx::pool::PoolOptions;
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
pub use sea_orm::{ConnectionTrait, StreamTrait};
use sea_orm::{DatabaseConnection, DbBackend, SqliteTransactionMode, TransactionOptions};

use address::DatabaseAddress;
pub use availability::DatabaseAvailability;
pub use connection::{ClientReadLimit, StoreConnection, Tx};
pub use error::{Result, StoreError};
pub use fault::TransientFault;
use pool::ConnectionPool;
pub use pool::LOCK_PAUSE;
pub use sqlite::CommitDurability;
use statement_guard::StatementGuard;
pub use statement_guard::WriteRefusal;
use table_locks::TableLocks;
use watcher::{DatabaseWatcher, WatchedAddress};

/// Connections to one database: on `SQLite` one writer and several readers, on `PostgreSQL` one pool.
#[derive(Clone)]
pub struct Store {
    write: StoreConnection,
    read: StoreConnection,
    gate: Arc<StatementGuard>,
    availability: DatabaseAvailability,
    table_locks: TableLocks,
    watched_address: Arc<WatchedAddress>,
    statements: Arc<AtomicU64>,
    anchor: sqlite::KeepAliveConnection,
    partitions: partitions::KnownPartitions,
    /// True while [`Store::watch`] runs, because clients wait for answers.
    is_watched: Arc<AtomicBool>,
    /// True if the role may not read the timeline of `PostgreSQL`.
    origin_is_hidden: Arc<AtomicBool>,
}

const ACQUIRE_TIMEOUT: Duration = Duration::from_mins(1);
/// Replaced connections are left for this time to the tasks that use them, and may then take up to [`END_TIMEOUT`] to end.
const LEFT_ALONE: Duration = Duration::from_secs(5);
const END_TIMEOUT: Duration = Duration::from_mins(1);

impl Store {
    /// Opens the database at `url`; a missing `SQLite` file is created.
    pub async fn connect(url: &str) -> Result<Self> {
        Self::connect_with(url, CommitDurability::default()).await
    }

    /// Opens the database at `url`; `synchronous` is the setting of `SQLite` for commits.
    pub async fn connect_with(url: &str, synchronous: CommitDurability) -> Result<Self> {
        let (statements, availability, table_locks) =
            (Arc::default(), DatabaseAvailability::default(), TableLocks::default());
        let pool = |connections, count| {
            ConnectionPool::new(count_statements(connections, &statements), count, availability.clone())
        };
        let (gate, write, read, watched_address, anchor) = match DatabaseAddress::parse(url)? {
            DatabaseAddress::Sqlite(options) => {
                let watched_address = WatchedAddress::Sqlite(SqliteConnectOptions::clone(&options));
                let pools = sqlite::connect(*options, synchronous).await?;
                (pools.gate, pool(pools.write, 1), pool(pools.read, sqlite::MAX_READERS), watched_address, pools.anchor)
            }
            DatabaseAddress::Postgres(options) => {
                let source = postgres::PostgresSource::new(*options);
                let pool = pool(source.connect().await?, postgres::MAX_CONNECTIONS);
                (
                    Arc::default(),
                    Arc::clone(&pool),
                    pool,
                    WatchedAddress::Postgres(source),
                    sqlite::KeepAliveConnection::default(),
                )
            }
        };
        let write = StoreConnection::new(write, Arc::clone(&gate), Some(table_locks.clone()));
        let read = StoreConnection::new(read, Arc::clone(&gate), None);
        let partitions = partitions::KnownPartitions::default();
        Ok(Self {
            write,
            read,
            gate,
            availability,
            table_locks,
            watched_address: Arc::new(watched_address),
            statements,
            anchor,
            partitions,
            is_watched: Arc::default(),
            origin_is_hidden: Arc::default(),
        })
    }

    /// Watches the database for a server whose clients wait for answers. From here on statements fail within about 1.6 s if
    /// the database does not answer, and none waits longer than that for a connection or for a file lock of another process.
    /// Runs until it is dropped.
    pub async fn watch(&self) {
        self.renew();
        self.is_watched.store(true, Ordering::Relaxed);
        if self.backend() == DbBackend::Sqlite
            && let Err(error) = self.write.shorten_lock_timeout().await
        {
            tracing::warn!(%error, "writes wait for the locks of other processes");
        }
        DatabaseWatcher::new(self.clone()).watch().await;
    }

    /// The longest wait for a lock of another session of `PostgreSQL`, while clients wait for answers. `SQLite` has a
    /// setting of the connection for it.
    pub fn lock_timeout(&self) -> Option<Duration> {
        let is_limited = self.backend() == DbBackend::Postgres && self.is_watched.load(Ordering::Relaxed);
        is_limited.then_some(pool::LOCK_TIMEOUT)
    }

    /// The availability of the database, while [`Store::watch`] watches it.
    pub fn availability(&self) -> &DatabaseAvailability {
        &self.availability
    }

    /// Locks of other programs that block writes, while [`Store::watch`] watches the database.
    pub fn table_locks(&self) -> &TableLocks {
        &self.table_locks
    }

    /// Replaces all connections to `PostgreSQL`. The previous ones end when their users are done.
    fn renew(&self) {
        let WatchedAddress::Postgres(source) = &*self.watched_address else { return };
        let old = self.write.renew(count_statements(source.renewed(), &self.statements));
        tokio::spawn(async move {
            tokio::time::sleep(LEFT_ALONE).await;
            if tokio::time::timeout(END_TIMEOUT, old.close_by_ref()).await.is_err() {
                tracing::debug!("connections that were replaced do not end");
            }
        });
    }

    /// Applies every missing migration. A database of the last version 0.1 is taken over.
    pub async fn migrate_up(&self) -> Result<()> {
        let applied = async {
            if !self.schema().await?.pending.is_empty() {
                migration::up(&self.write.pool()).await?;
            }
            Ok(())
        };
        if let Err(error) = applied.await {
            return Err(rights::explain(&self.write, error).await);
        }
        self.let_shrink().await
    }

    /// Reverts the last `steps` migrations.
    pub async fn migrate_down(&self, steps: u32) -> Result<()> {
        self.schema().await?;
        Ok(migration::down(&self.write.pool(), steps).await?)
    }

    /// The data that the reversal of a migration loses.
    pub fn migration_loses(name: &str) -> &'static str {
        migration::loses(name)
    }

    /// The applied and the pending migrations. A schema of a newer version is refused, and one that an earlier version has to
    /// complete before this version can take it over.
    pub async fn schema(&self) -> Result<Schema> {
        Self::schema_of(&self.write).await
    }

    /// [`Store::schema`] as a connection sees it.
    pub async fn schema_of(db: &impl ConnectionTrait) -> Result<Schema> {
        let schema = migration::schema(db).await?;
        if !schema.unknown.is_empty() {
            return Err(StoreError::NewerSchema(schema.unknown));
        }
        match schema.missing_of_version_0_1.as_ref().and_then(|missing| missing.first()) {
            Some(first) => Err(StoreError::OlderSchema(first.clone())),
            None => Ok(schema),
        }
    }

    /// Connections for statements that only read.
    pub fn read(&self) -> &StoreConnection {
        &self.read
    }

    /// Connections for single writing statements.
    pub fn write(&self) -> &StoreConnection {
        &self.write
    }

    /// Starts a write transaction; on `SQLite` it holds the write lock from here on.
    pub async fn begin(&self) -> Result<Tx> {
        let sqlite_transaction_mode = (self.backend() == DbBackend::Sqlite).then_some(SqliteTransactionMode::Immediate);
        let options = TransactionOptions { sqlite_transaction_mode, ..TransactionOptions::default() };
        Ok(self.write.begin(options).await?)
    }

    /// Starts a transaction that reads all data as of one moment. Dropping it ends it.
    pub async fn begin_snapshot(&self) -> Result<Tx> {
        Ok(self.read.begin_snapshot().await?)
    }

    pub fn backend(&self) -> DbBackend {
        self.write.backend()
    }

    /// The number of long writes that should run at a time: `SQLite` has one writer; on `PostgreSQL` most connections are
    /// left to requests.
    pub fn runs_at_once(&self) -> usize {
        if self.backend() == DbBackend::Sqlite { 1 } else { 3 }
    }

    /// The number of connections that reads for clients should use at a time. The others are left to reports of kernels,
    /// runs, sign-in and the server's own reads, which so find one free however many clients read long lists.
    pub fn client_reads_at_once(&self) -> usize {
        let most =
            if self.backend() == DbBackend::Sqlite { sqlite::MAX_READERS - 1 } else { postgres::MAX_CONNECTIONS / 2 };
        most as usize
    }

    /// SQL statements sent so far, for tests and metrics.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// The reasons why the database does not accept writes now; empty if it does.
    pub fn write_refusals(&self) -> Vec<WriteRefusal> {
        self.gate.write_refusals()
    }

    /// Writes acknowledged commits from the log into the database file that was opened, so that both have them.
    pub async fn save_log(&self) -> Result<()> {
        if self.gate.may_save() { self.anchor.checkpoint().await } else { Ok(()) }
    }

    /// Closes the connections once no statement runs on them.
    pub async fn close(self) -> Result<()> {
        if self.backend() == DbBackend::Postgres {
            postgres::wait_for_rollbacks(&self.write.pool()).await;
        }
        self.read.pool().close_by_ref().await?;
        self.write.pool().close_by_ref().await?;
        self.anchor.release().await
    }
}

/// Connections whose statements are counted.
fn count_statements(mut connections: DatabaseConnection, statements: &Arc<AtomicU64>) -> DatabaseConnection {
    let counter = Arc::clone(statements);
    connections.set_metric_callback(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    connections
}

/// The options that the pools of both databases share.
fn pool_options<DB: Database>(connections: u32) -> PoolOptions<DB> {
    PoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
}
