//! Work that no request waits for: its threads give way to those that answer.

use std::future::Future;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::{Result, ended};
use crate::process::priority::give_way;

/// How often, and for how long in all, a retired thing is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
const LOOKS: usize = 50;

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

fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    match &*RUNTIME {
        Some(runtime) => runtime.spawn(work),
        None => tokio::spawn(work),
    }
}

/// Runs a job's work to its end on threads of low priority.
pub async fn background<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    ended(spawn(work).await)
}

/// Frees something large once nobody else holds it: whoever does so last takes milliseconds, which no request shall.
pub fn retire<T: Send + Sync + 'static>(old: Arc<T>) {
    spawn(async move {
        for _ in 0..LOOKS {
            if Arc::strong_count(&old) == 1 {
                break;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    });
}
