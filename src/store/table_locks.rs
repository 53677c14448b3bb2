//! Locks of other programs on the server's tables: `LOCK TABLE` or `ALTER TABLE` in a shell, `VACUUM FULL`.
//!
//! While such a lock blocks writes, `PostgreSQL` lets each write wait, up to `lock_timeout`. Clients must get an answer
//! sooner, so the watcher of the database looks for such locks, and waiting writes are given up.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::DbErr;
use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{self, Row};
use tokio::sync::watch;
use tokio::time::sleep;

use super::fault::Fault;

/// The time for which a statement may continue while a lock is held, because most statements use other tables and end within
/// it.
const GRACE: Duration = Duration::from_millis(500);

/// Locks that block writes, held by sessions of other programs.
const HELD: &str = "SELECT c.relname, l.mode, l.pid, coalesce(a.application_name, '') AS program \
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation LEFT JOIN pg_stat_activity a ON a.pid = l.pid \
    WHERE l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND c.relkind IN ('r', 'p') AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
    AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') \
    AND coalesce(a.application_name, '') NOT LIKE 'fairshared %' ORDER BY c.relname, l.pid LIMIT 1";

/// A lock that another program holds on one of the server's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLock {
    table: String,
    mode: String,
    pid: i32,
    program: String,
}

impl TableLock {
    /// Looks for a lock that blocks writes.
    pub(super) async fn find(connection: &mut PgConnection) -> sqlx::Result<Option<Self>> {
        let Some(row) = sqlx::query(HELD).fetch_optional(connection).await? else { return Ok(None) };
        Ok(Some(Self {
            table: row.try_get("relname")?,
            mode: row.try_get("mode")?,
            pid: row.try_get("pid")?,
            program: row.try_get("program")?,
        }))
    }

    /// A message about the lock for an administrator.
    pub fn describe(&self) -> String {
        let Self { table, mode, pid, program } = self;
        let program = if program.is_empty() { "another program" } else { program };
        format!(
            "{program} holds a lock on the table {table} ({mode}, process {pid} of PostgreSQL); writes are refused until it \
             ends, or until pg_terminate_backend({pid}) ends it"
        )
    }
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
            sleep(GRACE).await;
        };
        tokio::select! {
            biased;
            outcome = statement => outcome,
            () = given_up => Err(Fault::Busy.refusal()),
        }
    }
}
