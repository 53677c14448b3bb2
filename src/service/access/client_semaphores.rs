//! A semaphore for each client, which limits the use of a shared resource by one client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::principal::ClientId;

/// Semaphores by client.
#[derive(Debug)]
pub struct ClientSemaphores {
    permits: usize,
    by_client: Mutex<HashMap<ClientId, Arc<Semaphore>>>,
}

impl ClientSemaphores {
    /// `permits` is the number of permits of each client.
    pub fn new(permits: usize) -> Self {
        Self { permits, by_client: Mutex::default() }
    }

    /// The semaphore of a client. Unused semaphores are dropped when another client needs its first one.
    pub fn semaphore_of(&self, client: ClientId) -> Arc<Semaphore> {
        let mut by_client = self.by_client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = by_client.get(&client) {
            return Arc::clone(semaphore);
        }
        by_client.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        let semaphore = Arc::new(Semaphore::new(self.permits));
        by_client.insert(client, Arc::clone(&semaphore));
        semaphore
    }
}
