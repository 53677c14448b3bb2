//! Places for what computes long: as many at once as there are, first come first served.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::error::{Error, Result};

/// Whoever only reads, writes or sequences takes no place, so nobody of them waits for one.
#[derive(Debug)]
pub struct Places(Arc<Semaphore>);

impl Default for Places {
    /// As many as the machine has cores.
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

impl Places {
    pub fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count)))
    }

    /// How many are free now.
    pub fn free(&self) -> usize {
        self.0.available_permits()
    }

    /// Runs what computes long where it holds no request's thread. Whoever goes away while it waits leaves the queue;
    /// work that has begun keeps its place to its end, because nothing can stop it.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let internal = |detail: String| Error::Internal(detail);
        let place = Arc::clone(&self.0).acquire_owned().await.map_err(|e| internal(e.to_string()))?;
        let work = move || {
            let _place = place;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|e| internal(e.to_string()))?
    }
}
