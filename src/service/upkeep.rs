//! What a serving process does beside requests and jobs.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Service;

/// A key that another process revoked is refused after about this time.
const READ_KEYS_EVERY: Duration = Duration::from_secs(2);
const STORE_USES_EVERY: Duration = Duration::from_secs(10);

impl Service {
    /// Keeps keys in memory as they are stored, and stores their uses. Never ends by itself.
    pub async fn keep_up(self: Arc<Self>) {
        tokio::join!(self.keep_reading_keys(), self.keep_storing_uses());
    }

    async fn keep_reading_keys(&self) {
        loop {
            sleep(READ_KEYS_EVERY).await;
            if let Err(error) = self.refresh_keys().await {
                tracing::debug!(%error, "keys not read");
            }
        }
    }

    /// Apart from reading, because it may wait for other writers.
    async fn keep_storing_uses(&self) {
        loop {
            sleep(STORE_USES_EVERY).await;
            if let Err(error) = self.store_key_uses().await {
                tracing::debug!(%error, "last uses of keys not stored");
            }
        }
    }
}
