//! Connections and transactions of the store.
//!
//! Every use of the database must obey rules that the ORM does not know. No statement may go to files that have replaced the
//! database. No statement may wait for a database that does not answer, or for long while another program holds a lock.
//! Refusals of the database must be noted, so that the service can report them.
//!
//! Therefore the store never hands out connections of the ORM. [`StoreConnection`] is for single statements, [`Tx`] for
//! transactions, and [`FetchedRows`] for rows that are read one by one. The first two implement the traits of the ORM. Every
//! statement passes the [`StatementGuard`], the availability of the database and the table locks.
//!
//! This is not the pool: `pool.rs` limits the connections in use and the time of waiting for one.
//!
//! Invariants:
//! - A transaction that is dropped is rolled back.
//! - A transaction takes no further statement after one has failed.
//! - Only statements on [`StoreConnection::pool`] bypass the checks. It is for migrations, for idle connections and for closing.
//!
//! See "The database at arm's length" in ARCHITECTURE.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::future::{BoxFuture, Fuse, FusedFuture};
use futures::{FutureExt, Stream, ready};
use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, ExecResult, IsolationLevel,
    QueryResult, RuntimeErr, Statement, StreamTrait, TransactionOptions,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use super::availability::DatabaseAvailability;
use super::fault::TransientFault;
use super::pool::ConnectionPool;
use super::statement_guard::StatementGuard;
use super::table_locks::TableLocks;

/// Connections for single statements.
#[derive(Clone)]
pub struct StoreConnection {
    pool: Arc<ConnectionPool>,
    gate: Arc<StatementGuard>,
    /// The locks of other programs for which writes do not wait; `None` for connections that only read.
    table_locks: Option<TableLocks>,
    /// The limit of reads for a client; `None` for the server's own work.
    limit: Option<ClientReadLimit>,
}

/// The limit of connections that reads for clients use at the same time.
#[derive(Clone)]
pub struct ClientReadLimit {
    /// The turns of this client.
    pub of_client: Arc<Semaphore>,
    /// The turns of all clients.
    pub of_all: Arc<Semaphore>,
}

/// The turns of one read for a client, held until this is dropped.
pub struct ClientReadTurn {
    _of_client: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl ClientReadLimit {
    /// Waits for a turn of the client first, so that its other requests wait in no queue that others wait in.
    async fn acquire(&self) -> Result<ClientReadTurn, DbErr> {
        let closed = |_| TransientFault::Unreachable.refusal();
        let of_client = Arc::clone(&self.of_client).acquire_owned().await.map_err(closed)?;
        let of_all = Arc::clone(&self.of_all).acquire_owned().await.map_err(closed)?;
        Ok(ClientReadTurn { _of_client: of_client, _of_all: of_all })
    }
}

impl StoreConnection {
    pub fn new(pool: Arc<ConnectionPool>, gate: Arc<StatementGuard>, table_locks: Option<TableLocks>) -> Self {
        Self { pool, gate, table_locks, limit: None }
    }

    /// The same connections, of which no more than `limit` allows are used at the same time.
    #[must_use]
    pub fn limited(&self, limit: ClientReadLimit) -> Self {
        Self { limit: Some(limit), ..self.clone() }
    }

    /// Waits for the turn of a read for a client; the server's own work needs none.
    async fn acquire_turn(&self) -> Result<Option<ClientReadTurn>, DbErr> {
        match &self.limit {
            Some(limit) => self.pool.availability.race(limit.acquire()).await.map(Some),
            None => Ok(None),
        }
    }

    /// The pool itself, whose statements bypass the guard.
    pub fn pool(&self) -> Arc<DatabaseConnection> {
        self.pool.inner()
    }

    /// Replaces the connections for all users of this value. Returns the previous ones.
    pub(super) fn renew(&self, pool: DatabaseConnection) -> Arc<DatabaseConnection> {
        self.pool.replace(pool)
    }

    pub(super) async fn shorten_lock_timeout(&self) -> Result<(), DbErr> {
        self.pool.shorten_lock_timeout().await
    }

    pub fn backend(&self) -> DbBackend {
        self.pool.backend()
    }

    /// The turn to use a connection, if one is free now.
    pub(super) fn try_turn(&self) -> Option<OwnedSemaphorePermit> {
        self.pool.try_turn()
    }

    pub async fn begin(&self, options: TransactionOptions) -> Result<Tx, DbErr> {
        self.gate.admit()?;
        let client_turn = self.acquire_turn().await?;
        let begun = self.pool.begin(options).await;
        self.gate.note(&begun, false);
        let (inner, turn) = begun?;
        Ok(Tx {
            inner,
            gate: Arc::clone(&self.gate),
            availability: self.pool.availability.clone(),
            table_locks: self.table_locks.clone(),
            failed: AtomicBool::new(false),
            _turns: (turn, client_turn),
        })
    }

    /// Starts a transaction that reads all data as of one moment. Dropping it ends it.
    pub async fn begin_snapshot(&self) -> Result<Tx, DbErr> {
        let isolation_level = (self.backend() == DbBackend::Postgres).then_some(IsolationLevel::RepeatableRead);
        self.begin(TransactionOptions { isolation_level, ..TransactionOptions::default() }).await
    }

    async fn pass<T>(&self, statement: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        self.gate.admit()?;
        let _client_turn = self.acquire_turn().await?;
        let outcome = unless_locked(self.table_locks.as_ref(), self.pool.run(statement)).await;
        self.gate.note(&outcome, self.table_locks.is_some());
        outcome
    }
}

#[async_trait]
impl ConnectionTrait for StoreConnection {
    fn get_database_backend(&self) -> DbBackend {
        self.backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let pool = self.pool();
        self.pass(pool.execute_raw(statement)).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let pool = self.pool();
        self.pass(pool.execute_unprepared(sql)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let pool = self.pool();
        self.pass(pool.query_one_raw(statement)).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let pool = self.pool();
        self.pass(pool.query_all_raw(statement)).await
    }
}

impl StreamTrait for StoreConnection {
    type Stream<'a> = FetchedRows<<DatabaseConnection as StreamTrait>::Stream<'a>, &'a Self>;

    fn get_database_backend(&self) -> DbBackend {
        self.backend()
    }

    fn stream_raw(&self, statement: Statement) -> BoxFuture<'_, Result<Self::Stream<'_>, DbErr>> {
        Box::pin(async move {
            self.gate.admit()?;
            let client_turn = self.acquire_turn().await?;
            let started = self.pool.stream(statement).await;
            self.gate.note(&started, false);
            let (rows, turn) = started?;
            Ok(FetchedRows::new(rows, self, &self.pool.availability, Some((turn, client_turn))))
        })
    }
}

/// An open transaction. Dropping it rolls back. It refuses every statement after one that failed: PostgreSQL would refuse
/// them too, and `SQLite`, which may have rolled back by itself, would commit each of them at once.
pub struct Tx {
    inner: DatabaseTransaction,
    gate: Arc<StatementGuard>,
    availability: DatabaseAvailability,
    table_locks: Option<TableLocks>,
    failed: AtomicBool,
    _turns: HeldTurns,
}

/// The turn to use a connection, and that of the client for which it is used.
type HeldTurns = (OwnedSemaphorePermit, Option<ClientReadTurn>);

impl Tx {
    pub async fn commit(self) -> Result<(), DbErr> {
        self.check()?;
        let outcome = self.availability.race(self.inner.commit()).await;
        self.gate.note(&outcome, self.table_locks.is_some());
        outcome
    }

    async fn pass<T>(&self, statement: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        self.check()?;
        let outcome = unless_locked(self.table_locks.as_ref(), self.availability.race(statement)).await;
        self.settle(&outcome);
        outcome
    }

    fn check(&self) -> Result<(), DbErr> {
        if self.failed.load(Ordering::Relaxed) {
            return Err(DbErr::Query(RuntimeErr::Internal("a statement of this transaction has failed".to_owned())));
        }
        Ok(())
    }
}

#[async_trait]
impl ConnectionTrait for Tx {
    fn get_database_backend(&self) -> DbBackend {
        ConnectionTrait::get_database_backend(&self.inner)
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.pass(self.inner.execute_raw(statement)).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.pass(self.inner.execute_unprepared(sql)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.pass(self.inner.query_one_raw(statement)).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.pass(self.inner.query_all_raw(statement)).await
    }
}

impl StreamTrait for Tx {
    type Stream<'a> = FetchedRows<<DatabaseTransaction as StreamTrait>::Stream<'a>, &'a Self>;

    fn get_database_backend(&self) -> DbBackend {
        ConnectionTrait::get_database_backend(self)
    }

    fn stream_raw(&self, statement: Statement) -> BoxFuture<'_, Result<Self::Stream<'_>, DbErr>> {
        Box::pin(async move {
            let rows = self.pass(self.inner.stream_raw(statement)).await?;
            Ok(FetchedRows::new(rows, self, &self.availability, None))
        })
    }
}

/// Awaits a statement. One that may write is given up while it waits for a lock of another program.
async fn unless_locked<T>(
    table_locks: Option<&TableLocks>,
    statement: impl Future<Output = Result<T, DbErr>>,
) -> Result<T, DbErr> {
    match table_locks {
        Some(table_locks) => table_locks.race(statement).await,
        None => statement.await,
    }
}

/// A receiver of the outcomes of statements.
pub trait StatementListener {
    fn settle<T>(&self, outcome: &Result<T, DbErr>);
}

impl StatementListener for StoreConnection {
    fn settle<T>(&self, outcome: &Result<T, DbErr>) {
        self.gate.note(outcome, false);
    }
}

impl StatementListener for Tx {
    fn settle<T>(&self, outcome: &Result<T, DbErr>) {
        self.gate.note(outcome, false);
        if outcome.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

/// After this number of rows the task yields. Otherwise rows that have arrived would keep their thread busy until the last
/// one is read, and other connections on that thread would wait.
const ROWS_IN_A_TURN: usize = 256;

/// Rows that are read one by one, as long as the database answers.
pub struct FetchedRows<S, L> {
    inner: S,
    of: L,
    read: usize,
    /// The yield to other tasks, until it has ended.
    others: Fuse<BoxFuture<'static, ()>>,
    lost: Fuse<BoxFuture<'static, ()>>,
    _turns: Option<HeldTurns>,
}

impl<S, L> FetchedRows<S, L> {
    fn new(inner: S, of: L, availability: &DatabaseAvailability, turns: Option<HeldTurns>) -> Self {
        let availability = availability.clone();
        let lost = async move { availability.is_lost().await }.boxed().fuse();
        Self { inner, of, read: 0, others: Fuse::terminated(), lost, _turns: turns }
    }
}

impl<S, L> Stream for FetchedRows<S, &L>
where
    S: Stream<Item = Result<QueryResult, DbErr>> + Unpin,
    L: StatementListener,
{
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.others.is_terminated() {
            ready!(self.others.poll_unpin(cx));
        }
        let next = match Pin::new(&mut self.inner).poll_next(cx) {
            Poll::Pending => self.lost.poll_unpin(cx).map(|()| Some(Err(TransientFault::Unreachable.refusal()))),
            next @ Poll::Ready(_) => next,
        };
        if let Poll::Ready(Some(row)) = &next {
            self.of.settle(row);
            self.read += 1;
            if self.read.is_multiple_of(ROWS_IN_A_TURN) {
                self.others = yield_now().boxed().fuse();
            }
        }
        next
    }
}
