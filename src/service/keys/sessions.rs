//! Sessions of the web pages. The browser keeps a random id, which stands for a key that was entered once.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use super::{KnownKey, hash, key_refusal};
use crate::domain::time::MICROS_PER_SECOND;
use crate::engine::work::run_to_completion;
use crate::process::random;
use crate::service::access::Principal;
use crate::service::{Error, Result, Service};
use crate::store::ui_sessions::UiSession;
use crate::store::{self, StoreError};

/// The length of a session, in seconds.
pub const SESSION_SECONDS: i64 = 12 * 3_600;
/// The number of sessions that one key may have at a time. A further one replaces the oldest.
const SESSIONS_OF_A_KEY: u64 = 100;

impl Service {
    /// Signs in the holder of the key `text`. The returned id is its only copy.
    #[tracing::instrument(name = "service.keys.open_session", level = "debug", skip_all, err(level = "debug"))]
    pub async fn open_session(self: &Arc<Self>, text: &str) -> Result<String> {
        let holder = self.authenticate(text).await?;
        let key = holder.client.id().ok_or_else(|| Error::internal("a caller without a key"))?;
        let mut bytes = [0u8; 32];
        random::secret(&mut bytes).map_err(|e| Error::failed("there is no randomness", e))?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let (service, session_hash) = (Arc::clone(self), hash(&id));
        run_to_completion(async move {
            let now = service.clock().now();
            let session =
                UiSession { key, created_at: now, expires_at: now.plus_micros(SESSION_SECONDS * MICROS_PER_SECOND) };
            let tx = service.store().begin().await?;
            store::ui_sessions::tidy(&tx, key, SESSIONS_OF_A_KEY - 1, now).await?;
            store::ui_sessions::insert(&tx, session_hash.clone(), session).await?;
            tx.commit().await.map_err(StoreError::from)?;
            service.engine.sessions.change(|all| {
                all.insert(session_hash.clone(), session);
            });
            Ok(())
        })
        .await?;
        Ok(id)
    }

    /// Signs out. An unknown session counts as already ended.
    #[tracing::instrument(name = "service.keys.close_session", level = "debug", skip_all, err(level = "debug"))]
    pub async fn close_session(self: &Arc<Self>, id: &str) -> Result<()> {
        let (service, session_hash) = (Arc::clone(self), hash(id));
        run_to_completion(async move {
            store::ui_sessions::delete(service.store().write(), &session_hash).await?;
            service.engine.sessions.change(|all| {
                all.remove(&session_hash);
            });
            Ok(())
        })
        .await
    }

    /// The holder of the session `id`: that of its key, until the session or the key ends.
    #[tracing::instrument(name = "service.keys.resume_session", level = "debug", skip_all, err(level = "debug"))]
    pub async fn resume_session(&self, id: &str) -> Result<Principal> {
        let session = self.find_session(&hash(id)).await?;
        if session.expires_at <= self.clock().now() {
            return Err(key_refusal("expired_session", "the session has ended; sign in again"));
        }
        let known = self.key_of(session.key).await?;
        Ok(self.admit(&known)?.until(session.expires_at))
    }

    /// Finds a session. One that another process may have just opened is looked up in the database.
    async fn find_session(&self, session_hash: &str) -> Result<UiSession> {
        let unknown = || key_refusal("unknown_session", "this session is unknown or has ended; sign in again");
        if let Some(session) = self.engine.sessions.get(session_hash) {
            return Ok(session);
        }
        let changes = self.engine.sessions.changes();
        let session = match store::ui_sessions::find(self.store().read(), session_hash).await {
            Ok(found) => found.ok_or_else(unknown)?,
            // All sessions were known when the database was last read.
            Err(StoreError::Unavailable { .. }) if self.engine.keys.age().is_some() => return Err(unknown()),
            Err(error) => return Err(error.into()),
        };
        self.engine.sessions.take(changes, |all| {
            all.insert(session_hash.to_owned(), session);
        });
        Ok(session)
    }

    /// The key of a session, which another process may have just created.
    async fn key_of(&self, id: Uuid) -> Result<Arc<KnownKey>> {
        if let Some(known) = self.engine.keys.by_id(id) {
            return Ok(known);
        }
        self.refresh_keys().await?;
        self.engine.keys.by_id(id).ok_or_else(|| key_refusal("unknown_key", "the key of this session is not known"))
    }
}
