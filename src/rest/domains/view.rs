//! Domains as REST shows them, and the body that creates or changes one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::input_warning::InputWarning;
use crate::domain::reading::ReadOnly;
use crate::domain::time::Timestamp;
use crate::rest::paths::same_as_path;
use crate::service::Result;
use crate::service::people::{Domain, DomainChange, KeyUpdate};

/// A domain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Domain, example = json!({
    "name": "research", "display_name": "Research", "archived": false, "archived_at": null, "created_at": "2026-01-13T10:00:00Z"
}))]
pub struct DomainView {
    #[schema(value_type = String)]
    pub name: Arc<str>,
    #[schema(value_type = Option<String>)]
    pub display_name: Option<Arc<str>>,
    /// Hidden from lists and rankings; weights, history and everybody's numbers are as before.
    pub archived: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub archived_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<Arc<Domain>> for DomainView {
    fn from(domain: Arc<Domain>) -> Self {
        Self {
            name: Arc::clone(&domain.name),
            display_name: domain.display_name.clone(),
            archived: domain.archived_at.is_some(),
            archived_at: domain.archived_at,
            created_at: domain.created_at,
        }
    }
}

/// A domain after its write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "name": "research", "display_name": "Research", "archived": false, "archived_at": null, "created_at": "2026-01-13T10:00:00Z"
}))]
pub struct DomainWritten {
    #[serde(flatten)]
    pub domain: DomainView,
    /// Likely mistakes; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}

/// The new properties of a domain. The answer of a GET can be sent back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"display_name": "Research", "reason": "institute founded"}))]
pub struct DomainRequest {
    /// If given, the same as in the path.
    pub name: Option<String>,
    /// Shown beside the name; `null` takes it away.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub display_name: KeyUpdate<String>,
    pub archived: Option<bool>,
    #[serde(default)]
    #[schema(inline)]
    pub archived_at: ReadOnly,
    #[serde(default)]
    #[schema(inline)]
    pub created_at: ReadOnly,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

impl DomainRequest {
    pub fn into_change(self, name: &str) -> Result<DomainChange> {
        same_as_path("/name", self.name.as_deref(), name)?;
        Ok(DomainChange { display_name: self.display_name, archived: self.archived, reason: self.reason })
    }
}
