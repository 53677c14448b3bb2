//! The audit log as admins read it: who changed what, when and why.

use super::audit::{INFERRED, INGEST};
use super::input::page::{Page, Window, id_page, id_window};
use super::{Caller, Result, Service};
use crate::store::audit;

pub use crate::store::audit::{AuditFilter, Entry as AuditEntry};

impl Service {
    /// The name in cursors of the audit log.
    pub const AUDIT_LIST: &'static str = "audit-log";

    /// Entries by their ids, as far as they are there.
    #[tracing::instrument(name = "service.audit_log.audit_entries", level = "debug", skip_all, err(level = "debug"))]
    pub async fn audit_entries(&self, caller: &Caller, ids: impl IntoIterator<Item = i64>) -> Result<Vec<AuditEntry>> {
        caller.require_admin()?;
        Ok(audit::by_ids(self.store().read(), caller.groups.as_deref(), ids).await?)
    }

    /// Removes what was counted of ingests, and inferred ends, before so many days. Returns how many entries that was.
    #[tracing::instrument(
        name = "service.audit_log.purge_ingest_audit",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn purge_ingest_audit(&self, keep_days: u32) -> Result<u64> {
        let before = self.clock().now().day().plus(-keep_days.cast_signed()).start();
        Ok(audit::purge(self.store().write(), &[INGEST, INFERRED], before).await?)
    }

    /// Newest first. A key that is limited to groups sees the entries of those groups.
    #[tracing::instrument(name = "service.audit_log.audit_log", level = "debug", skip_all, err(level = "debug"))]
    pub async fn audit_log(&self, caller: &Caller, filter: &AuditFilter, window: &Window) -> Result<Page<AuditEntry>> {
        caller.require_admin()?;
        if let Some(group) = &filter.resource_group {
            caller.require_group(group)?;
        }
        let filter = AuditFilter { groups: caller.groups.clone(), ..filter.clone() };
        let found = audit::page(self.store().read(), &filter, &id_window(window)?).await?;
        Ok(id_page(Self::AUDIT_LIST, found, |e| e.id, window))
    }
}
