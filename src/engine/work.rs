//! The ways to run work: to its end even if its request is cancelled (`run_to_completion`), on separate threads (`run_in_background`),
//! as a long computation within other work (`run_blocking`), or in parallel with the database (`join_with_compute`).
//! The permits of `service::compute_permits` limit what may compute at the same time.

use std::future::Future;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::Poll;

use futures::poll;
use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio::task::JoinError;
use tracing::Instrument;

use crate::domain::parallel;
use crate::engine::error::{Error, Result};

/// One runtime for the process. If it cannot be created, work runs on the threads of requests.
static JOB_RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).div_ceil(2);
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("fairshared-background")
        .enable_all()
        .build()
        .inspect_err(|error| tracing::warn!(%error, "no threads for work in the background"))
        .ok()
});

/// Runs a write to its end even if its request is cancelled, so that a transaction is never cut off.
pub async fn run_to_completion<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    spawn_use_case(work).await
}

/// Starts work whose result is awaited later.
pub fn spawn_use_case<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> impl Future<Output = Result<T>> {
    let task = tokio::spawn(work);
    async { join_result(task.await) }
}

/// The result of a task.
fn join_result<T>(task: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    match task {
        Ok(result) => result,
        Err(error) if error.is_panic() => Err(Error::failed("a use-case panicked", error)),
        Err(_) => Err(Error::unavailable("the service is shutting down")),
    }
}

/// Runs a job's work to its end on threads that requests do not need.
pub async fn run_in_background<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let task = match &*JOB_RUNTIME {
        Some(runtime) => runtime.spawn(work),
        None => tokio::spawn(work),
    };
    join_result(task.await)
}

/// Runs a long computation without blocking other tasks of the same thread.
pub fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|h| h.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Computes while the database works on `waiting`, with a thread for each. If `waiting` is ready at once, no thread is
/// started.
pub async fn join_with_compute<A: Send, B>(
    waiting: impl Future<Output = A> + Send,
    computing: impl FnOnce() -> B + Send,
) -> (A, B) {
    let mut waiting = pin!(waiting.in_current_span());
    if let Poll::Ready(done) = poll!(waiting.as_mut()) {
        return (done, run_blocking(computing));
    }
    let handle = Handle::current();
    if handle.runtime_flavor() != RuntimeFlavor::MultiThread {
        return (waiting.await, computing());
    }
    run_blocking(|| parallel::join_both(|| handle.block_on(waiting), computing))
}

/// Drops a large value on a thread that requests do not need.
pub fn drop_in_background<T: Send + 'static>(what: T) {
    if let Some(runtime) = &*JOB_RUNTIME {
        runtime.spawn_blocking(move || drop(what));
    }
}
