//! The parameters that several endpoints have in common.

use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::domain::ids::{ProjectId, UserId};
use crate::engine::people::{is_text_of_id, lookup};
use crate::service::people::PeopleFilter;
use crate::service::{Error, Result, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct GroupPath {
    /// Name of the resource group.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub rg: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct AgentPath {
    /// Name of the resource group.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub rg: String,
    #[param(example = "node-01", min_length = 1, max_length = 64)]
    pub agent_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct QueuePath {
    /// Name of the resource group.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub rg: String,
    /// Name of the queue.
    #[param(example = "vision", min_length = 1, max_length = 64)]
    pub queue: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct KernelPath {
    /// Name of the resource group.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub rg: String,
    #[param(example = "2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b")]
    pub kernel_id: Uuid,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct WorkloadPath {
    /// Name of the resource group.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub rg: String,
    /// The gang, the session where there is no gang, or one of the kernels.
    #[param(example = "training-7", min_length = 1, max_length = 64)]
    pub workload_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ConnectorPath {
    /// Name of the cluster whose scheduler the connector reads.
    #[param(example = "linux", min_length = 1, max_length = 64)]
    pub cluster: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct JobPath {
    /// Name of the job.
    #[param(example = "aggregate")]
    pub name: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct KeyPath {
    #[param(example = "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11")]
    pub id: Uuid,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct AuditPath {
    /// The entry of the audit log.
    #[param(example = 7)]
    pub id: i64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct DomainPath {
    /// Name of the domain.
    #[param(example = "research", min_length = 1, max_length = 64)]
    pub name: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProjectPath {
    /// UUID of the project, or its name.
    #[param(example = "3c463428-9408-5142-b5df-ec68e15a9e35")]
    pub id: String,
}

impl ProjectPath {
    pub fn project(&self, service: &Service) -> Result<ProjectId> {
        lookup::project_of_text(&service.people(), &self.id, "/id").map_err(|fault| Error::Invalid(vec![fault]))
    }

    /// The name in the path, if the project does not have a name yet.
    pub fn given_name(&self, service: &Service, id: ProjectId) -> Option<String> {
        let is_named = service.people().project(id).is_some_and(|project| project.name.is_some());
        (!is_named && !is_text_of_id(&self.id, id.0)).then(|| self.id.clone())
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct UserPath {
    /// UUID of the user, or the name.
    #[param(example = "b6023f13-2722-5f04-ba17-970481079475")]
    pub uuid: String,
}

impl UserPath {
    pub fn user(&self, service: &Service) -> Result<UserId> {
        lookup::user_of_text(&service.people(), &self.uuid, "/uuid").map_err(|fault| Error::Invalid(vec![fault]))
    }

    /// The name in the path, if the user does not have a name yet.
    pub fn given_name(&self, service: &Service, id: UserId) -> Option<String> {
        let is_named = service.people().user(id).is_some_and(|user| user.name.is_some());
        (!is_named && !is_text_of_id(&self.uuid, id.0)).then(|| self.uuid.clone())
    }
}

/// Which domains or users a list shows.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PeopleQuery {
    /// `true`: those that are archived instead of those that are not.
    pub archived: Option<bool>,
    /// A part of the name or the display name, in either case.
    pub search: Option<String>,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl From<PeopleQuery> for PeopleFilter {
    fn from(query: PeopleQuery) -> Self {
        Self { archived: query.archived.unwrap_or(false), search: query.search }
    }
}

/// Refuses a body that is about another resource than its path.
pub fn same_as_path<T: PartialEq + ?Sized>(pointer: &str, named: Option<&T>, path: &T) -> Result<()> {
    match named {
        Some(other) if other != path => Err(Error::about(pointer, "contradiction", "is not the one of the path")),
        _ => Ok(()),
    }
}

/// The parameters of a removal, which has no body.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReasonQuery {
    /// Why, for the audit log.
    pub reason: Option<String>,
}
