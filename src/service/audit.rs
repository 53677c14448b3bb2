//! Who changed what, when and why.

use sea_orm::ConnectionTrait;
use serde_json::Value;

use super::caller::Caller;
use super::error::Result;
use super::page::{Cursor, Key, Page, Window};
use super::{Error, Service};
use crate::domain::time::Timestamp;
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

/// A list that is paged by a descending number.
pub(super) fn id_page<T>(
    list: &str,
    rows: Vec<T>,
    id: impl Fn(&T) -> i64,
    limit: u32,
    total: u64,
    first: bool,
) -> Page<T> {
    let mut rows: Vec<_> =
        rows.into_iter().map(|row| (Cursor::new(list, vec![Key::Number(id(&row).unsigned_abs())]), row)).collect();
    let has_next = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    Page { rows, has_next, has_previous: !first, total }
}

/// The number that a cursor of such a list holds.
pub(super) fn id_below(window: &Window) -> Result<Option<i64>> {
    match window.after.as_ref().map(|c| c.key.as_slice()) {
        None => Ok(None),
        Some([Key::Number(n)]) => Ok(i64::try_from(*n).ok()),
        Some(_) => Err(Error::invalid("cursor", "invalid_cursor", "not a cursor of this list")),
    }
}

impl Service {
    /// The name in cursors of the audit log.
    pub const AUDIT_LIST: &'static str = "audit-log";

    /// Entries by their ids, as far as they are there.
    pub async fn audit_entries(&self, caller: &Caller, ids: impl IntoIterator<Item = i64>) -> Result<Vec<Entry>> {
        caller.require_admin()?;
        Ok(audit::by_ids(self.store().read(), ids).await?)
    }

    /// Newest first.
    pub async fn audit_log(&self, caller: &Caller, filter: &AuditFilter, window: &Window) -> Result<Page<Entry>> {
        caller.require_admin()?;
        let below = id_below(window)?;
        let (rows, total) = audit::page(self.store().read(), filter, below, u64::from(window.limit) + 1).await?;
        Ok(id_page(Self::AUDIT_LIST, rows, |e| e.id, window.limit, total, below.is_none()))
    }
}
