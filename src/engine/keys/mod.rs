//! The keys and sessions of the database in memory, so that requests with a known one do not need the database.

pub(crate) mod sessions;
pub(crate) mod table;

use super::FairShareEngine;
use super::error::Result;
use crate::store;

impl FairShareEngine {
    /// Reads all keys and sessions again, so that what another process created or revoked takes effect.
    #[tracing::instrument(name = "engine.keys.refresh_keys", level = "debug", skip_all, err(level = "debug"))]
    pub(crate) async fn refresh_keys(&self) -> Result<()> {
        let (changes, known) = (self.keys.changes(), self.keys.snapshot());
        let rows = store::keys::keys_by_hash(self.store.read()).await?;
        if known.is_contradicted_by(&rows) {
            self.rewinds.note_keys();
        }
        self.keys.replace(&rows, changes);
        self.refresh_sessions().await
    }

    /// Reads all sessions again.
    async fn refresh_sessions(&self) -> Result<()> {
        let changes = self.sessions.changes();
        let rows = store::ui_sessions::sessions_by_hash(self.store.read()).await?;
        self.sessions.take(changes, |all| *all = rows.iter().cloned().collect());
        Ok(())
    }

    /// Stores the times at which keys were last used, if they are not stored yet. No request waits for it.
    #[tracing::instrument(name = "engine.keys.store_key_uses", level = "debug", skip_all, err(level = "debug"))]
    pub(crate) async fn store_key_uses(&self) -> Result<()> {
        let uses = self.keys.unstored_uses();
        if !uses.is_empty() {
            store::keys::store_uses(self.store.write(), &uses).await?;
        }
        Ok(())
    }
}
