//! Who changed what, when and why.

use serde_json::Value;

use super::Service;
use super::caller::Caller;
use super::error::Result;
use super::inferred::INFERRED;
use super::ingest::INGEST;
use super::page::{Page, Window, id_page, id_window};
use crate::domain::time::Timestamp;
use crate::store::ConnectionTrait;
use crate::store::audit::{self, Entry};

pub use crate::store::audit::{AuditFilter, Entry as AuditEntry};

/// A change as its use-case describes it.
pub struct Change<'a> {
    pub caller: &'a Caller,
    /// `resource.verb`, like `weights.put`.
    pub action: &'static str,
    pub target: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub reason: Option<String>,
}

pub(super) async fn write(
    db: &impl ConnectionTrait,
    change: Change<'_>,
    group: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    let entry = Entry {
        id: 0,
        at: now,
        actor: change.caller.actor.clone(),
        key_id: change.caller.key_id,
        request_id: change.caller.request_id.clone(),
        action: change.action.to_owned(),
        resource_group: group.map(str::to_owned),
        target: change.target,
        before: change.before,
        after: change.after,
        reason: change.reason,
    };
    Ok(audit::add(db, entry).await?)
}

impl Service {
    /// The name in cursors of the audit log.
    pub const AUDIT_LIST: &'static str = "audit-log";

    /// Entries by their ids, as far as they are there.
    pub async fn audit_entries(&self, caller: &Caller, ids: impl IntoIterator<Item = i64>) -> Result<Vec<Entry>> {
        caller.require_admin()?;
        Ok(audit::by_ids(self.store().read(), caller.groups.as_deref(), ids).await?)
    }

    /// Removes what was counted of ingests, and inferred ends, before so many days. Returns how many entries that was.
    pub async fn purge_ingest_audit(&self, keep_days: u32) -> Result<u64> {
        let before = self.clock().now().day().plus(-keep_days.cast_signed()).start();
        Ok(audit::purge(self.store().write(), &[INGEST, INFERRED], before).await?)
    }

    /// Newest first. A key that is limited to groups sees the entries of those groups.
    pub async fn audit_log(&self, caller: &Caller, filter: &AuditFilter, window: &Window) -> Result<Page<Entry>> {
        caller.require_admin()?;
        if let Some(group) = &filter.resource_group {
            caller.require_group(group)?;
        }
        let filter = AuditFilter { groups: caller.groups.clone(), ..filter.clone() };
        let found = audit::page(self.store().read(), &filter, &id_window(window)?).await?;
        Ok(id_page(Self::AUDIT_LIST, found, |e| e.id, window))
    }
}
