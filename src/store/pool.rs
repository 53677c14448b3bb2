//! A pool of connections of one kind: a limited number at a time, first come first served, as long as the database answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, QueryStream, Statement, StreamTrait,
    TransactionOptions, TransactionTrait,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::availability::DatabaseAvailability;
use super::fault::TransientFault;

/// The longest wait of a transaction for the lock of another process while a client waits for its answer.
pub const LOCK_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The time for which others do not wait for a lock after a task has waited for it in vain.
pub const LOCK_PAUSE: Duration = Duration::from_millis(500);

pub struct ConnectionPool {
    inner: ArcSwap<DatabaseConnection>,
    /// A task waits here while tasks of this process use all connections, which is no fault, however long it takes. The pool
    /// itself is only asked for a connection that is free or can be opened.
    turns: Arc<Semaphore>,
    pub availability: DatabaseAvailability,
    /// The time at which a task last waited in vain for a connection, or for the file lock of another process.
    in_vain: Mutex<Option<Instant>>,
}

impl ConnectionPool {
    pub fn new(inner: DatabaseConnection, connections: u32, availability: DatabaseAvailability) -> Arc<Self> {
        Arc::new(Self {
            inner: ArcSwap::from_pointee(inner),
            turns: Arc::new(Semaphore::new(usize::try_from(connections).unwrap_or(1))),
            availability,
            in_vain: Mutex::default(),
        })
    }

    pub fn backend(&self) -> DbBackend {
        ConnectionTrait::get_database_backend(&**self.inner.load())
    }

    pub fn inner(&self) -> Arc<DatabaseConnection> {
        self.inner.load_full()
    }

    /// Replaces the connections for all users of this value. Returns the previous ones.
    pub fn replace(&self, inner: DatabaseConnection) -> Arc<DatabaseConnection> {
        self.inner.swap(Arc::new(inner))
    }

    /// Shortens the wait of statements for the lock of another process on an `SQLite` file.
    pub async fn shorten_lock_timeout(&self) -> Result<(), DbErr> {
        let _turn = self.acquire_turn().await?;
        let inner = self.inner();
        let pragma = format!("PRAGMA busy_timeout = {}", LOCK_TIMEOUT.as_millis());
        inner.execute_unprepared(&pragma).await?;
        // New connections must have the setting too.
        let pool = inner.get_sqlite_connection_pool();
        pool.set_connect_options(pool.connect_options().as_ref().clone().busy_timeout(LOCK_TIMEOUT));
        Ok(())
    }

    /// Waits for the turn to use a connection.
    async fn acquire_turn(&self) -> Result<OwnedSemaphorePermit, DbErr> {
        self.check()?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| TransientFault::Unreachable.refusal())?;
        self.check()?;
        Ok(turn)
    }

    /// The turn to use a connection, if one is free now.
    pub fn try_turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).try_acquire_owned().ok()
    }

    /// Refuses to wait if another task has just waited in vain. Otherwise many tasks, one after the other, would wait for
    /// long.
    fn check(&self) -> Result<(), DbErr> {
        let in_vain = self.in_vain.lock().unwrap_or_else(PoisonError::into_inner);
        if in_vain.is_some_and(|at| at.elapsed() < LOCK_PAUSE) && !self.has_idle() {
            return Err(TransientFault::Busy.refusal());
        }
        Ok(())
    }

    fn has_idle(&self) -> bool {
        self.backend() == DbBackend::Postgres && self.inner().get_postgres_connection_pool().num_idle() > 0
    }

    fn note<T>(&self, outcome: &Result<T, DbErr>) {
        let Err(error) = outcome else { return };
        let locked = self.backend() == DbBackend::Sqlite && TransientFault::of(error) == Some(TransientFault::Busy);
        if locked || matches!(error, DbErr::ConnectionAcquire(_)) {
            *self.in_vain.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    /// Runs a single statement in its turn.
    pub async fn run<T>(&self, statement: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let in_turn = async {
            let _turn = self.acquire_turn().await?;
            let outcome = statement.await;
            self.note(&outcome);
            outcome
        };
        self.availability.race(in_turn).await
    }

    /// Runs a single statement whose rows are read one by one. The turn lasts as long as the returned permit.
    pub async fn stream(&self, statement: Statement) -> Result<(QueryStream, OwnedSemaphorePermit), DbErr> {
        let in_turn = async {
            let turn = self.acquire_turn().await?;
            Ok((self.inner().stream_raw(statement).await?, turn))
        };
        self.availability.race(in_turn).await
    }

    pub async fn begin(
        &self,
        options: TransactionOptions,
    ) -> Result<(DatabaseTransaction, OwnedSemaphorePermit), DbErr> {
        let in_turn = async {
            let turn = self.acquire_turn().await?;
            let begun = self.inner().begin_with_options(options).await;
            self.note(&begun);
            Ok((begun?, turn))
        };
        self.availability.race(in_turn).await
    }
}
