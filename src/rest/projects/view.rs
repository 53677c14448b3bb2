//! Projects as REST shows them, and the body that creates or changes one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api::input_warning::InputWarning;
use crate::domain::ids::ProjectId;
use crate::domain::reading::ReadOnly;
use crate::domain::time::Timestamp;
use crate::rest::paths::same_as_path;
use crate::service::Result;
use crate::service::people::{KeyUpdate, Project, ProjectChange};

/// A project with the domain that it is in now.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Project, example = json!({
    "project_id": "3c463428-9408-5142-b5df-ec68e15a9e35", "name": "climate", "display_name": null, "domain_name": "research",
    "domain_pinned": true, "archived": false, "archived_at": null, "created_at": "2026-01-13T10:00:00Z"
}))]
pub struct ProjectView {
    pub project_id: Uuid,
    /// The name by which `project` may give it wherever a UUID is accepted; unique in the server.
    #[schema(value_type = Option<String>)]
    pub name: Option<Arc<str>>,
    #[schema(value_type = Option<String>)]
    pub display_name: Option<Arc<str>>,
    #[schema(value_type = String)]
    pub domain_name: Arc<str>,
    /// An admin has set the domain: reports that name another count there, with a warning.
    pub domain_pinned: bool,
    /// Hidden from lists and rankings; weights, history and everybody's numbers are as before.
    pub archived: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub archived_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<Arc<Project>> for ProjectView {
    fn from(project: Arc<Project>) -> Self {
        Self {
            project_id: project.id.0,
            name: project.name.clone(),
            display_name: project.display_name.clone(),
            domain_name: Arc::clone(&project.domain_name),
            domain_pinned: project.domain_pinned,
            archived: project.archived_at.is_some(),
            archived_at: project.archived_at,
            created_at: project.created_at,
        }
    }
}

/// A project after its write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "project_id": "3c463428-9408-5142-b5df-ec68e15a9e35", "name": "climate", "display_name": null, "domain_name": "research",
    "domain_pinned": true, "archived": false, "archived_at": null, "created_at": "2026-01-13T10:00:00Z"
}))]
pub struct ProjectWritten {
    #[serde(flatten)]
    pub project: ProjectView,
    /// Likely mistakes; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}

/// The new properties of a project. The answer of a GET can be sent back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "climate", "domain_name": "research", "reason": "new institute"}))]
pub struct ProjectRequest {
    /// If given, the same as in the path.
    pub project_id: Option<Uuid>,
    /// Unique among projects; `null` takes it away.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub name: KeyUpdate<String>,
    /// Shown where there is no name; `null` takes it away.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub display_name: KeyUpdate<String>,
    /// Moves the project there and pins it, unless `domain_pinned` is false; `null` lets reports move it again. A new
    /// project needs one.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub domain_name: KeyUpdate<String>,
    /// True if reports may not move it; by default true where `domain_name` is given. `null` is false.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub domain_pinned: KeyUpdate<bool>,
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

impl ProjectRequest {
    /// `path_name` is the name in the path, if the project does not have a name yet.
    pub fn into_change(self, id: ProjectId, path_name: Option<String>) -> Result<ProjectChange> {
        same_as_path("/project_id", self.project_id.as_ref(), &id.0)?;
        Ok(ProjectChange {
            name: self.name.or(path_name),
            display_name: self.display_name,
            domain_name: self.domain_name,
            domain_pinned: match self.domain_pinned {
                KeyUpdate::Keep => None,
                KeyUpdate::Clear => Some(false),
                KeyUpdate::To(pinned) => Some(pinned),
            },
            archived: self.archived,
            reason: self.reason,
        })
    }
}
