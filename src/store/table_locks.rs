//! Locks on the server's tables that other programs hold: `LOCK TABLE` or `ALTER TABLE` in a shell, `VACUUM FULL`.
//!
//! While one of them keeps rows from being written, `PostgreSQL` lets each write wait, up to `lock_timeout`. Clients get an answer
//! sooner: the watcher of the database looks for such locks, and writes that wait then are given up.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::DbErr;
use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{self, Row};
use tokio::sync::watch;
use tokio::time::sleep;

use super::fault::Fault;

/// How long a statement may go on while a lock is held: most statements touch other tables and end meanwhile.
const GRACE: Duration = Duration::from_millis(500);

/// Locks that keep others from writing, held by sessions that are not of this program.
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
    /// Looks for a lock that keeps rows from being written.
    pub(super) async fn find(connection: &mut PgConnection) -> sqlx::Result<Option<Self>> {
        let Some(row) = sqlx::query(HELD).fetch_optional(connection).await? else { return Ok(None) };
        Ok(Some(Self {
            table: row.try_get("relname")?,
            mode: row.try_get("mode")?,
            pid: row.try_get("pid")?,
            program: row.try_get("program")?,
        }))
    }

    /// The lock in a sentence for an administrator.
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
    /// Tells when a lock is taken or released.
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

    /// What a statement that writes answers, unless it still waits some time after a lock is held.
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
