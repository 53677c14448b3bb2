//! Locks of other programs on the server's tables: `LOCK TABLE` or `ALTER TABLE` in a shell, `VACUUM FULL`, and on `SQLite` an
//! open transaction that writes.
//!
//! While such a lock blocks writes, the database lets each write wait, `PostgreSQL` up to `lock_timeout`. Clients must get an
//! answer sooner, so the watcher of the database looks for such locks, and waiting writes are given up.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::DbErr;
use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::sqlite::SqliteConnection;
use sea_orm::sqlx::{self, Executor, Row};
use tokio::sync::watch;
use tokio::time::sleep;

use super::fault::TransientFault;

/// The time for which a statement may continue while a lock is held, because most statements use other tables and end within
/// it.
const GRACE_TIME: Duration = Duration::from_millis(500);

/// Locks that block writes, held by sessions of other programs.
const BLOCKING_LOCKS_SQL: &str = "SELECT c.relname, l.mode, l.pid, coalesce(a.application_name, '') AS program \
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation LEFT JOIN pg_stat_activity a ON a.pid = l.pid \
    WHERE l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND c.relkind IN ('r', 'p') AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
    AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') \
    AND coalesce(a.application_name, '') NOT LIKE 'fairshared %' ORDER BY c.relname, l.pid LIMIT 1";

/// A lock with which another program keeps the server from writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableLock {
    /// A lock on one table of `PostgreSQL`.
    Table { table: String, mode: String, pid: i32, program: String },
    /// The write lock of an `SQLite` file, which has no name of its holder. The version changes with every commit of another
    /// connection, so that equal versions mean one transaction and not a sequence of short ones.
    File { data_version: i64 },
}

impl TableLock {
    /// Looks for a lock of another program on a table.
    pub(super) async fn find_on_table(connection: &mut PgConnection) -> sqlx::Result<Option<Self>> {
        let Some(row) = sqlx::query(BLOCKING_LOCKS_SQL).fetch_optional(connection).await? else { return Ok(None) };
        Ok(Some(Self::Table {
            table: row.try_get("relname")?,
            mode: row.try_get("mode")?,
            pid: row.try_get("pid")?,
            program: row.try_get("program")?,
        }))
    }

    /// Looks for a write lock of another program on the file, by taking it for a moment. The caller makes sure that this
    /// process does not write meanwhile.
    pub(super) async fn find_on_file(connection: &mut SqliteConnection) -> sqlx::Result<Option<Self>> {
        connection.execute("PRAGMA busy_timeout = 0").await?;
        match connection.execute("BEGIN IMMEDIATE").await {
            Ok(_) => {
                connection.execute("ROLLBACK").await?;
                Ok(None)
            }
            Err(error) if is_busy(&error) => {
                let row = sqlx::query("PRAGMA data_version").fetch_one(connection).await?;
                Ok(Some(Self::File { data_version: row.try_get(0)? }))
            }
            // Any other fault is found by those who write.
            Err(_) => Ok(None),
        }
    }

    /// A message about the lock for an administrator.
    pub fn describe(&self) -> String {
        match self {
            Self::Table { table, mode, pid, program } => {
                let program = if program.is_empty() { "another program" } else { program };
                format!(
                    "{program} holds a lock on the table {table} ({mode}, process {pid} of PostgreSQL); writes are refused \
                     until it ends, or until pg_terminate_backend({pid}) ends it"
                )
            }
            Self::File { .. } => {
                "another program has an open transaction that writes to the database file, such as a shell \
                                  after BEGIN IMMEDIATE; writes are refused until it ends"
                    .to_owned()
            }
        }
    }
}

fn is_busy(error: &sqlx::Error) -> bool {
    TransientFault::of_driver(error) == Some(TransientFault::Busy)
}

/// The lock that is held now, shared by all connections of a store.
#[derive(Clone, Debug)]
pub struct TableLocks(Arc<watch::Sender<Option<TableLock>>>);

impl Default for TableLocks {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl TableLocks {
    /// Receives every change of the lock.
    pub fn subscribe(&self) -> watch::Receiver<Option<TableLock>> {
        self.0.subscribe()
    }

    pub(super) fn set(&self, lock: Option<TableLock>) {
        self.0.send_if_modified(|held| {
            let is_news = *held != lock;
            *held = lock;
            is_news
        });
    }

    /// Awaits a statement that writes, unless it still waits some time after a lock was found.
    pub(super) async fn race<T>(&self, statement: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let mut held = self.subscribe();
        let given_up = async {
            if held.wait_for(Option::is_some).await.is_err() {
                std::future::pending::<()>().await;
            }
            sleep(GRACE_TIME).await;
        };
        tokio::select! {
            biased;
            outcome = statement => outcome,
            () = given_up => Err(TransientFault::Busy.refusal()),
        }
    }
}
