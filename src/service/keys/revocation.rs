//! Revocation of keys. The last admin key that can create others is kept unless the request has `force`. Without such a
//! key no request can create keys, only a command on the server's machine.

use std::sync::Arc;

use uuid::Uuid;

use super::StoredKey;
use crate::domain::time::Timestamp;
use crate::engine::audit::{self, AuditedChange};
use crate::engine::work::run_to_completion;
use crate::service::{Caller, Error, Result, Role, Service};
use crate::store;

/// True for a key that may create and revoke keys now: it has not expired, and reaches all resource groups.
fn manages_keys(key: &StoredKey, now: Timestamp) -> bool {
    key.groups.is_none() && key.expires_at.is_none_or(|at| at > now)
}

/// Refuses to revoke the last admin key that can create others.
fn require_another(admins: &[StoredKey], id: Uuid, now: Timestamp) -> Result<()> {
    let mut managing = admins.iter().filter(|key| manages_keys(key, now));
    match (managing.next(), managing.next()) {
        (Some(last), None) if last.id == id => Err(Error::Conflict {
            code: "last_admin_key",
            detail: format!(
                "the key {id} is the last valid admin key that reaches all resource groups; without it no request can make \
                 a key again. Make another one first, or repeat with force=true"
            ),
        }),
        _ => Ok(()),
    }
}

impl Service {
    /// Revokes a key; with `force` even the last valid admin key that reaches all resource groups.
    #[tracing::instrument(name = "service.keys.revoke_key", level = "debug", skip_all, err(level = "debug"))]
    pub async fn revoke_key(self: &Arc<Self>, caller: Caller, id: Uuid, force: bool) -> Result<()> {
        caller.require_admin()?;
        caller.require_all_groups()?;
        let service = Arc::clone(self);
        run_to_completion(async move {
            let now = service.clock().now();
            let tx = service.store().begin().await?;
            if !force {
                let admins = store::keys::lock_unrevoked(&tx, Role::Admin.as_str()).await?;
                require_another(&admins, id, now)?;
            }
            if !store::keys::revoke(&tx, id, now).await? {
                return Err(Error::NotFound { code: "unknown_key", detail: format!("there is no valid key {id}") });
            }
            let change =
                AuditedChange { action: "key.revoke", target: id.to_string(), before: None, after: None, reason: None };
            audit::write(&tx, &caller.author(), change, None, now).await?;
            tx.commit().await.map_err(store::StoreError::from)?;
            service.engine.keys.revoked(id, now);
            Ok(())
        })
        .await
    }
}
