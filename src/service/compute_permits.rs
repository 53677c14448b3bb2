//! Permits for long computations, which scan, compare or write out whole groups, or simulate.
//!
//! With 100,000 users one such computation takes between 50 ms and several seconds of one core. Without a limit a few
//! clients could occupy all cores, and the scheduler's sequence would wait for them. So there are fewer permits than
//! cores, and no client has more than half of them at a time, rounded up. A request beyond the client's share waits for that
//! client's own work first, and only then for a permit. So a client with many requests waits in the common queue with its
//! share only, and another one waits for one computation of each client before it instead of all of them.
//!
//! Sequences, reports of kernels, health and sign-in take no permit. Neither do reads of few rows, which take less time
//! than a change of threads.
//!
//! Reports and audits, which read much of the database, have permits of their own, so that a slow database does not
//! block computations from memory.
//!
//! Work with a permit runs on the thread of the request, and the runtime moves the other tasks of that thread to
//! another one. A request that is cancelled while it waits leaves the queue. Work that has begun keeps its permit to
//! its end.

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::access::ClientId;
use super::access::client_semaphores::ClientSemaphores;
use crate::engine::error::{Error, Result};
use crate::engine::work::run_blocking;

/// Work on fewer rows needs no permit, because it ends within about a millisecond.
const PERMIT_MIN_ROWS: usize = 2_000;

/// The permits of one service, given in the order of requests within the shares of clients.
#[derive(Debug)]
pub struct ComputePermits {
    all: Semaphore,
    shares: ClientSemaphores,
}

/// The right to compute until it is dropped.
#[derive(Debug)]
pub struct ComputePermit<'a> {
    _permit: SemaphorePermit<'a>,
    _turn: OwnedSemaphorePermit,
}

impl Default for ComputePermits {
    /// One permit less than the machine has cores, but at least one.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new(cores.saturating_sub(1).max(1))
    }
}

impl ComputePermits {
    pub fn new(count: usize) -> Self {
        Self { all: Semaphore::new(count), shares: ClientSemaphores::new(count.div_ceil(2)) }
    }

    /// The number of free permits.
    pub fn count_free(&self) -> usize {
        self.all.available_permits()
    }

    /// Waits for a permit for `client`.
    pub async fn acquire(&self, client: ClientId) -> Result<ComputePermit<'_>> {
        let closed = |error| Error::failed("no permit to compute", error);
        let turn = self.shares.semaphore_of(client).acquire_owned().await.map_err(closed)?;
        let permit = self.all.acquire().await.map_err(closed)?;
        Ok(ComputePermit { _permit: permit, _turn: turn })
    }

    /// Waits for a permit to read `rows` rows; `None` for few rows, which need none.
    pub async fn acquire_for(&self, client: ClientId, rows: usize) -> Result<Option<ComputePermit<'_>>> {
        if rows < PERMIT_MIN_ROWS { Ok(None) } else { self.acquire(client).await.map(Some) }
    }

    /// Runs a long computation for `client`.
    pub async fn run<T: Send>(&self, client: ClientId, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let _permit = self.acquire(client).await?;
        run_blocking(work)
    }

    /// Runs work that reads `rows` rows, with a permit if they are many.
    pub async fn scan<T: Send>(
        &self,
        client: ClientId,
        rows: usize,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        let permit = self.acquire_for(client, rows).await?;
        if permit.is_some() { run_blocking(work) } else { work() }
    }
}
