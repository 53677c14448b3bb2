//! Entries of the audit log as REST shows them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::time::Timestamp;
use crate::engine::people::PeopleDirectory;
use crate::service::audit_log::AuditEntry;
use crate::service::audit_names::names_by_id;
use crate::service::undo::is_undoable;

/// One change.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditEntry, example = json!({
    "id": 7, "at": "2026-01-13T10:00:00Z", "actor": "ops", "key_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11",
    "request_id": "0198f9d0-7a10-7b3c-8f21-3c5d7e9f1a2b", "action": "weights.put", "resource_group": "gpu-cluster",
    "target": "gpu-cluster", "before": {"domain:research": null}, "after": {"domain:research": "2"}, "reason": "new grant",
    "names": {}, "undoable": true
}))]
pub struct AuditEntryView {
    pub id: i64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The label of the key, `cli:` and the user of the system, or the job.
    pub actor: String,
    pub key_id: Option<Uuid>,
    pub request_id: String,
    /// `resource.verb`.
    pub action: String,
    pub resource_group: Option<String>,
    pub target: String,
    #[schema(value_type = Option<Object>)]
    pub before: Option<Value>,
    #[schema(value_type = Option<Object>)]
    pub after: Option<Value>,
    pub reason: Option<String>,
    /// The names of the users and projects that `target`, `before` and `after` call by their ids.
    pub names: BTreeMap<String, String>,
    /// True if this kind of change can be undone. The undo is still refused if a later change concerns the same.
    pub undoable: bool,
}

impl AuditEntryView {
    pub fn new(entry: AuditEntry, people: &PeopleDirectory) -> Self {
        let (names, undoable) = (names_by_id(&entry, people), is_undoable(&entry));
        let AuditEntry { id, at, actor, key_id, request_id, action, resource_group, target, before, after, reason } =
            entry;
        Self {
            id,
            at,
            actor,
            key_id,
            request_id,
            action,
            resource_group,
            target,
            before,
            after,
            reason,
            names,
            undoable,
        }
    }
}
