//! The parameters that requests share.

use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::service::{Error, Result};

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
    #[param(example = "research", min_length = 1, max_length = 64)]
    pub queue: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct KernelPath {
    /// Name of the resource group.
    #[param(example = "gpu-cluster", min_length = 1, max_length = 64)]
    pub rg: String,
    pub kernel_id: Uuid,
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
    pub id: Uuid,
}

/// Refuses a body that names another resource than its path.
pub fn same_as_path(pointer: &str, named: Option<&str>, path: &str) -> Result<()> {
    match named {
        Some(other) if other != path => Err(Error::about(pointer, "contradiction", "is not the one of the path")),
        _ => Ok(()),
    }
}

/// What a removal may say, as it has no body.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReasonQuery {
    /// Why, for the audit log.
    pub reason: Option<String>,
}
