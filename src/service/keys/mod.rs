//! API keys: 32 random bytes, shown once and stored as SHA-256.

mod revocation;
pub mod sessions;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::access::{ClientId, Principal};
use super::{Caller, Error, Result, Role, Service};
use crate::domain::ids::UserId;
use crate::domain::names::{check_label, check_name};
use crate::domain::time::Timestamp;
use crate::engine::audit::{self, AuditedChange};
use crate::engine::keys::table::KnownKey;
use crate::engine::work::run_to_completion;
use crate::process::random;
use crate::store::{self, StoreError};

pub use crate::store::keys::StoredKey;

/// The prefix of every key, by which a leaked key can be recognised.
const KEY_PREFIX: &str = "fsk_";
/// The time for which keys in memory are accepted while the database cannot be read.
pub const DEFAULT_GRACE: Duration = Duration::from_hours(24);
/// The largest number of resource groups in one key.
const MAX_GROUPS: usize = 1_000;

/// The properties of a new key.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub role: Role,
    pub label: String,
    /// Required for the role `user`, and not allowed for other roles.
    pub user: Option<UserId>,
    pub expires_at: Option<Timestamp>,
    /// The only resource groups that the key reaches; they need not exist yet. `None` for all.
    pub groups: Option<Vec<String>>,
}

impl Service {
    /// Creates a key. The returned text is its only copy.
    #[tracing::instrument(name = "service.keys.create_key", level = "debug", skip_all, err(level = "debug"))]
    pub async fn create_key(self: &Arc<Self>, caller: Caller, new: NewKey) -> Result<(String, StoredKey)> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        check_label(&new.label).map_err(|error| Error::about("/label", "invalid_label", error))?;
        let refused_user = match (new.role, new.user) {
            (Role::User, None) => Some("is missing: a key with the role `user` is for one user"),
            (Role::User, Some(_)) | (_, None) => None,
            (_, Some(_)) => Some("belongs to a key with the role `user` only"),
        };
        if let Some(said) = refused_user {
            return Err(Error::about("/user_uuid", "invalid_user", said));
        }
        if new.expires_at.is_some_and(|t| t <= self.clock().now()) {
            return Err(Error::about("/expires_at", "expired", "has passed already"));
        }
        let groups = new.groups.map(check_groups).transpose()?;
        if new.role == Role::Connector && groups.is_none() {
            let detail = "is missing: a key with the role `connector` is for the resource groups of its cluster";
            return Err(Error::about("/resource_groups", "missing_field", detail));
        }
        let mut bytes = [0u8; 32];
        random::secret(&mut bytes).map_err(|e| Error::failed("there is no randomness", e))?;
        let text = format!("{KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
        let service = Arc::clone(self);
        run_to_completion(async move {
            let now = service.clock().now();
            let key = StoredKey {
                id: random::dated_id(),
                role: new.role.as_str().to_owned(),
                label: new.label.into(),
                user: new.user,
                created_at: now,
                expires_at: new.expires_at,
                revoked_at: None,
                last_used_at: None,
                groups,
            };
            let tx = service.store().begin().await?;
            let key_hash = hash(&text);
            store::keys::insert(&tx, &key, key_hash.clone()).await?;
            let after = Some(
                json!({"role": key.role, "label": key.label, "user_uuid": key.user, "expires_at": key.expires_at, "resource_groups": key.groups.as_deref()}),
            );
            let change = AuditedChange {
                action: "key.create",
                target: key.id.to_string(),
                before: None,
                after,
                reason: None,
            };
            audit::write(&tx, &caller.author(), change, None, now).await?;
            tx.commit().await.map_err(store::StoreError::from)?;
            service.engine.keys.created(&key_hash, &key);
            Ok((text, key))
        })
        .await
    }

    /// All keys by creation, without their texts.
    #[tracing::instrument(name = "service.keys.keys", level = "debug", skip_all, err(level = "debug"))]
    pub async fn keys(&self, caller: &Caller) -> Result<Vec<StoredKey>> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        let mut keys = store::keys::list(&self.reads_for(caller.client())).await?;
        let uses = self.engine.keys.last_uses();
        for key in &mut keys {
            key.last_used_at = key.last_used_at.max(uses.get(&key.id).copied());
        }
        Ok(keys)
    }

    /// The holder of the key `text`. A key in memory needs no database.
    #[tracing::instrument(name = "service.keys.authenticate", level = "debug", skip_all, err(level = "debug"))]
    pub async fn authenticate(&self, text: &str) -> Result<Principal> {
        let key_hash = hash(text);
        let known = match self.engine.keys.get(&key_hash) {
            Some(known) => known,
            None => self.look_up(&key_hash).await?,
        };
        self.admit(&known)
    }

    /// The holder of a known key, unless the key has been revoked or has expired.
    fn admit(&self, known: &KnownKey) -> Result<Principal> {
        let (now, key) = (self.clock().now(), &known.key);
        if key.revoked_at.is_some() {
            return Err(key_refusal("revoked_key", "the key was revoked"));
        }
        if key.expires_at.is_some_and(|t| t <= now) {
            return Err(key_refusal("expired_key", "the key has expired"));
        }
        self.check_grace()?;
        known.used(now);
        let role =
            Role::parse(&key.role).ok_or_else(|| Error::internal(format!("key {} has an unknown role", key.id)))?;
        Ok(Principal {
            client: ClientId::Key(key.id),
            actor: Arc::clone(&key.label),
            role,
            user: key.user,
            groups: key.groups.clone(),
            expires_at: key.expires_at,
        })
    }

    /// Looks up a key that another process may have just created.
    async fn look_up(&self, key_hash: &str) -> Result<Arc<KnownKey>> {
        let changes = self.engine.keys.changes();
        match store::keys::find_by_hash(self.store().read(), key_hash).await {
            Ok(Some(key)) => Ok(self.engine.keys.learn(key_hash, &key, changes)),
            Ok(None) => Err(key_refusal("unknown_key", "the key is not known")),
            // All keys were known when the database was last read.
            Err(StoreError::Unavailable { .. }) if self.engine.keys.age().is_some() => {
                self.check_grace()?;
                Err(key_refusal("unknown_key", "the key is not known"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses all keys if keys have not been read for longer than the allowed time.
    fn check_grace(&self) -> Result<()> {
        let grace = self.key_grace.get().copied().unwrap_or(Some(DEFAULT_GRACE));
        match (self.engine.keys.age(), grace) {
            (Some(age), Some(grace)) if age > grace => {
                let detail = format!(
                    "keys could not be checked against the database for {} seconds, which is longer than \
                     `key_grace_seconds` allows",
                    age.as_secs()
                );
                Err(Error::not_now("key_check_unavailable", detail))
            }
            _ => Ok(()),
        }
    }

    /// Sets the time for which keys in memory are accepted while the database cannot be read; `None` for ever. The
    /// default is a day.
    pub fn set_key_grace(&self, grace: Option<Duration>) {
        if self.key_grace.set(grace).is_err() {
            tracing::warn!("the time for which keys are believed was set twice");
        }
    }
}

fn key_refusal(code: &'static str, detail: &str) -> Error {
    Error::Unauthorized { code, detail: detail.to_owned() }
}

/// The groups of a key without repetitions, by name. An empty list is refused, because it could mean all groups or
/// none.
fn check_groups(mut groups: Vec<String>) -> Result<Arc<[String]>> {
    if groups.is_empty() {
        return Err(Error::about(
            "/resource_groups",
            "empty",
            "is empty; leave it out for a key that reaches all groups",
        ));
    }
    for (at, name) in groups.iter().enumerate() {
        check_name(name).map_err(|e| Error::invalid_name(&format!("/resource_groups/{at}"), e))?;
    }
    if groups.len() > MAX_GROUPS {
        let detail = format!("a key is limited to at most {MAX_GROUPS} resource groups");
        return Err(Error::invalid("/resource_groups", "out_of_range", detail));
    }
    groups.sort_unstable();
    groups.dedup();
    Ok(Arc::from(groups))
}

/// The digest of a key in hexadecimal. Every request needs it, and `format!` would take longer than the digest.
fn hash(text: &str) -> String {
    const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        hex.extend([byte >> 4, byte & 15].map(|digit| char::from(HEX_DIGITS[usize::from(digit)])));
    }
    hex
}
