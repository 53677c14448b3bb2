//! The connections of one kind: so many at once, first come first served, as long as the database is within reach.

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
use super::fault::Fault;

/// How long a transaction waits for the lock of another process while a client waits for its answer.
pub const PATIENCE: Duration = Duration::from_millis(1_500);
/// After one has waited in vain, others do not wait for the same for so long.
pub const PAUSE: Duration = Duration::from_millis(500);

pub struct Pool {
    inner: ArcSwap<DatabaseConnection>,
    /// Those that wait here wait for others of this process, which is no fault, however long it takes: the pool itself is
    /// only ever asked for a connection that is free or can be made.
    turns: Arc<Semaphore>,
    pub reach: DatabaseAvailability,
    /// When one last waited in vain for a connection, or for the lock of another process on a file.
    in_vain: Mutex<Option<Instant>>,
}

impl Pool {
    pub fn new(inner: DatabaseConnection, connections: u32, reach: DatabaseAvailability) -> Arc<Self> {
        Arc::new(Self {
            inner: ArcSwap::from_pointee(inner),
            turns: Arc::new(Semaphore::new(usize::try_from(connections).unwrap_or(1))),
            reach,
            in_vain: Mutex::default(),
        })
    }

    pub fn backend(&self) -> DbBackend {
        ConnectionTrait::get_database_backend(&**self.inner.load())
    }

    pub fn inner(&self) -> Arc<DatabaseConnection> {
        self.inner.load_full()
    }

    /// Replaces the connections for all that use them. Returns those so far.
    pub fn replace(&self, inner: DatabaseConnection) -> Arc<DatabaseConnection> {
        self.inner.swap(Arc::new(inner))
    }

    /// From here on a statement does not wait long for a lock that another process holds on an `SQLite` file.
    pub async fn shorten_lock_timeout(&self) -> Result<(), DbErr> {
        let _turn = self.turn().await?;
        let inner = self.inner();
        let pragma = format!("PRAGMA busy_timeout = {}", PATIENCE.as_millis());
        inner.execute_unprepared(&pragma).await?;
        // A connection that was given up has a successor.
        let pool = inner.get_sqlite_connection_pool();
        pool.set_connect_options(pool.connect_options().as_ref().clone().busy_timeout(PATIENCE));
        Ok(())
    }

    /// A connection's turn.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, DbErr> {
        self.check()?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Fault::Unreachable.refusal())?;
        self.check()?;
        Ok(turn)
    }

    /// Refuses to wait for what another has just waited for in vain: one after the other they would wait long.
    fn check(&self) -> Result<(), DbErr> {
        let in_vain = self.in_vain.lock().unwrap_or_else(PoisonError::into_inner);
        if in_vain.is_some_and(|at| at.elapsed() < PAUSE) && !self.has_idle() {
            return Err(Fault::Busy.refusal());
        }
        Ok(())
    }

    fn has_idle(&self) -> bool {
        self.backend() == DbBackend::Postgres && self.inner().get_postgres_connection_pool().num_idle() > 0
    }

    fn note<T>(&self, outcome: &Result<T, DbErr>) {
        let Err(error) = outcome else { return };
        let locked = self.backend() == DbBackend::Sqlite && Fault::of(error) == Some(Fault::Busy);
        if locked || matches!(error, DbErr::ConnectionAcquire(_)) {
            *self.in_vain.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    /// A single statement in its turn.
    pub async fn run<T>(&self, statement: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let in_turn = async {
            let _turn = self.turn().await?;
            let outcome = statement.await;
            self.note(&outcome);
            outcome
        };
        self.reach.race(in_turn).await
    }

    /// A single statement whose rows come one by one, with the turn that lasts as long.
    pub async fn stream(&self, statement: Statement) -> Result<(QueryStream, OwnedSemaphorePermit), DbErr> {
        let in_turn = async {
            let turn = self.turn().await?;
            Ok((self.inner().stream_raw(statement).await?, turn))
        };
        self.reach.race(in_turn).await
    }

    pub async fn begin(
        &self,
        options: TransactionOptions,
    ) -> Result<(DatabaseTransaction, OwnedSemaphorePermit), DbErr> {
        let in_turn = async {
            let turn = self.turn().await?;
            let begun = self.inner().begin_with_options(options).await;
            self.note(&begun);
            Ok((begun?, turn))
        };
        self.reach.race(in_turn).await
    }
}
