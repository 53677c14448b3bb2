//! Work that no request waits for: its threads give way to those that answer.

use std::future::Future;
use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};

use super::{Result, ended};
use crate::process::priority::give_way;

/// One for the process, like its threads; without it work runs beside the requests.
static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).div_ceil(2);
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("fairshared-background")
        .enable_all()
        .on_thread_start(give_way)
        .build()
        .inspect_err(|error| tracing::warn!(%error, "no threads for work in the background"))
        .ok()
});

/// Runs a job's work to its end on threads of low priority.
pub async fn background<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    ended(match &*RUNTIME {
        Some(runtime) => runtime.spawn(work).await,
        None => tokio::spawn(work).await,
    })
}
