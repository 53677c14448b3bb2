//! A semaphore for each key, which limits the use of a shared resource by one key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;
use uuid::Uuid;

/// Semaphores by the id of the key; `None` stands for the service itself and the command line.
#[derive(Debug)]
pub struct KeySemaphores {
    permits: usize,
    by_key: Mutex<HashMap<Option<Uuid>, Arc<Semaphore>>>,
}

impl KeySemaphores {
    /// `permits` is the number of permits of each key.
    pub fn new(permits: usize) -> Self {
        Self { permits, by_key: Mutex::default() }
    }

    /// The semaphore of a key. Unused semaphores are dropped when another key needs its first one.
    pub fn semaphore_of(&self, key: Option<Uuid>) -> Arc<Semaphore> {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = by_key.get(&key) {
            return Arc::clone(semaphore);
        }
        by_key.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        let semaphore = Arc::new(Semaphore::new(self.permits));
        by_key.insert(key, Arc::clone(&semaphore));
        semaphore
    }
}
