//! Entries of the audit log as GraphQL shows them.

use async_graphql::{Context, ID, Object, SimpleObject};

use crate::graphql::global_id;
use crate::graphql::query::service;
use crate::graphql::scalars::{DateTime, JsonString, Uuid};
use crate::service::audit_names::names_by_id;
use crate::service::undo::is_undoable;
use crate::service::{Error, Result, audit_log};

/// The id or text by which an entry names a user or a project, and its name.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct LabelName {
    label: String,
    name: String,
}

/// One change: who, what, when and why.
pub struct AuditEntry(pub audit_log::AuditEntry);

impl AuditEntry {
    pub const KIND: &str = "AuditEntry";

    /// The number of the entry that an id means: a global one, or the number itself.
    pub fn number(id: &ID) -> Result<i64> {
        let number = match global_id::decode(id) {
            Some((kind, key)) if kind == Self::KIND => key.first().and_then(|number| number.parse().ok()),
            _ => id.parse().ok(),
        };
        number.ok_or_else(|| Error::about("/id", "invalid_value", "is not the id of an entry of the audit log"))
    }
}

#[Object(rename_fields = "snake_case")]
impl AuditEntry {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.0.id.to_string()])
    }

    async fn at(&self) -> DateTime {
        DateTime(self.0.at)
    }

    /// The label of the key, `cli:` and the user of the system, or the job.
    async fn actor(&self) -> &str {
        &self.0.actor
    }

    async fn key_id(&self) -> Option<Uuid> {
        self.0.key_id.map(Uuid)
    }

    async fn request_id(&self) -> &str {
        &self.0.request_id
    }

    async fn action(&self) -> &str {
        &self.0.action
    }

    async fn resource_group(&self) -> Option<&str> {
        self.0.resource_group.as_deref()
    }

    async fn target(&self) -> &str {
        &self.0.target
    }

    async fn before(&self) -> Option<JsonString> {
        self.0.before.clone().map(JsonString)
    }

    async fn after(&self) -> Option<JsonString> {
        self.0.after.clone().map(JsonString)
    }

    async fn reason(&self) -> Option<&str> {
        self.0.reason.as_deref()
    }

    /// The names of the users and projects that `target`, `before` and `after` call by their ids.
    async fn names(&self, ctx: &Context<'_>) -> Result<Vec<LabelName>> {
        let service = service(ctx)?;
        let found = names_by_id(&self.0, &service.people());
        Ok(found.into_iter().map(|(label, name)| LabelName { label, name }).collect())
    }

    /// True if this kind of change can be undone. The undo is still refused if a later change concerns the same.
    async fn undoable(&self) -> bool {
        is_undoable(&self.0)
    }
}
