//! API keys: 32 random bytes, shown once, stored as sha256.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::audit::{self, Change};
use super::{Caller, Error, Result, Role, Service, detached};
use crate::domain::ids::UserId;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::store;

pub use crate::store::keys::ApiKey;

/// How every key begins, so that a leaked one is recognised.
const PREFIX: &str = "fsk_";
/// How long a key's row is believed before it is read again: a revocation by another process takes
/// effect within this time.
const CACHE_MICROS: i64 = 5 * MICROS_PER_SECOND;
/// How often `last_used_at` is written.
const TOUCH_MICROS: i64 = 60 * MICROS_PER_SECOND;
const CACHED_KEYS: usize = 10_000;

#[derive(Default)]
pub(super) struct KeyCache(Mutex<HashMap<String, Cached>>);

#[derive(Clone)]
struct Cached {
    key: ApiKey,
    read_at: Timestamp,
}

/// What a new key should be.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub role: Role,
    pub label: String,
    /// Required for, and only for, the role `user`.
    pub user: Option<UserId>,
    pub expires_at: Option<Timestamp>,
}

impl Service {
    /// Creates a key. The text is the only copy there will ever be.
    pub async fn create_key(self: &Arc<Self>, caller: Caller, new: NewKey) -> Result<(String, ApiKey)> {
        caller.require_admin()?;
        if new.label.is_empty() || new.label.chars().count() > 255 || new.label.chars().any(char::is_control) {
            return Err(Error::invalid("/label", "invalid_label", "a label has 1 to 255 printable characters"));
        }
        if (new.role == Role::User) != new.user.is_some() {
            return Err(Error::invalid(
                "/user_uuid",
                "invalid_user",
                "a key with the role user, and no other, names its user",
            ));
        }
        if new.expires_at.is_some_and(|t| t <= self.clock.now()) {
            return Err(Error::invalid("/expires_at", "expired", "this time has passed already"));
        }
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|e| Error::Internal(format!("no randomness: {e}")))?;
        let text = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
        let service = Arc::clone(self);
        detached(async move {
            let now = service.clock.now();
            let key = ApiKey {
                id: Uuid::now_v7(),
                role: new.role.as_str().to_owned(),
                label: new.label,
                user: new.user,
                created_at: now,
                expires_at: new.expires_at,
                revoked_at: None,
                last_used_at: None,
            };
            let tx = service.store.begin().await?;
            store::keys::insert(&tx, &key, hash(&text)).await?;
            let after = Some(
                json!({"role": key.role, "label": key.label, "user_uuid": key.user, "expires_at": key.expires_at}),
            );
            let change = Change {
                caller: &caller,
                action: "key.create",
                target: key.id.to_string(),
                before: None,
                after,
                reason: None,
            };
            audit::write(&tx, change, None, now).await?;
            tx.commit().await.map_err(store::StoreError::from)?;
            Ok((text, key))
        })
        .await
    }

    /// All keys by creation, without their texts.
    pub async fn keys(&self, caller: &Caller) -> Result<Vec<ApiKey>> {
        caller.require_admin()?;
        Ok(store::keys::list(self.store().read()).await?)
    }

    pub async fn revoke_key(self: &Arc<Self>, caller: Caller, id: Uuid) -> Result<()> {
        caller.require_admin()?;
        let service = Arc::clone(self);
        detached(async move {
            let now = service.clock.now();
            let tx = service.store.begin().await?;
            if !store::keys::revoke(&tx, id, now).await? {
                return Err(Error::NotFound { code: "unknown_key", detail: format!("there is no valid key {id}") });
            }
            let change = Change {
                caller: &caller,
                action: "key.revoke",
                target: id.to_string(),
                before: None,
                after: None,
                reason: None,
            };
            audit::write(&tx, change, None, now).await?;
            tx.commit().await.map_err(store::StoreError::from)?;
            service.keys.lock().retain(|_, cached| cached.key.id != id);
            Ok(())
        })
        .await
    }

    /// Who holds the key `text`.
    pub async fn authenticate(&self, text: &str, request_id: String) -> Result<Caller> {
        let refuse = |code, detail: &str| Error::Unauthorized { code, detail: detail.to_owned() };
        let now = self.clock.now();
        let key_hash = hash(text);
        let cached = self
            .keys
            .lock()
            .get(&key_hash)
            .filter(|c| (now.micros() - c.read_at.micros()).abs() < CACHE_MICROS)
            .cloned();
        let key = match cached {
            Some(cached) => cached.key,
            None => {
                self.read_key(&key_hash, now).await?.ok_or_else(|| refuse("unknown_key", "the key is not known"))?
            }
        };
        if key.revoked_at.is_some() {
            return Err(refuse("revoked_key", "the key was revoked"));
        }
        if key.expires_at.is_some_and(|t| t <= now) {
            return Err(refuse("expired_key", "the key has expired"));
        }
        let role =
            Role::parse(&key.role).ok_or_else(|| Error::Internal(format!("key {} has an unknown role", key.id)))?;
        Ok(Caller { actor: key.label, key_id: Some(key.id), role, user: key.user, request_id })
    }

    async fn read_key(&self, key_hash: &str, now: Timestamp) -> Result<Option<ApiKey>> {
        let Some(mut key) = store::keys::find_by_hash(self.store.read(), key_hash).await? else { return Ok(None) };
        if key.last_used_at.is_none_or(|t| now.micros() - t.micros() > TOUCH_MICROS) {
            key.last_used_at = Some(now);
            // Nobody should wait for a write lock to be let in.
            let (store, id) = (self.store.clone(), key.id);
            tokio::spawn(async move {
                if let Err(error) = store::keys::touch(store.write(), id, now).await {
                    tracing::debug!(%error, "last use of a key not stored");
                }
            });
        }
        let mut cache = self.keys.lock();
        if cache.len() >= CACHED_KEYS {
            cache.clear();
        }
        cache.insert(key_hash.to_owned(), Cached { key: key.clone(), read_at: now });
        Ok(Some(key))
    }
}

impl KeyCache {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Cached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(text: &str) -> String {
    use std::fmt::Write;
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
