//! The key of the request, as REST shows it.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::time::Timestamp;
use crate::service::Caller;
use crate::service::people::PeopleDirectory;

/// The key that asks.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "key_id": "019b76da-2c00-7d7e-9c35-0d6a7c4f2b11", "label": "slurm bridge", "role": "scheduler", "user_uuid": null,
    "resource_groups": ["gpu-cluster"], "expires_at": null
}))]
pub struct WhoAmI {
    pub key_id: Option<Uuid>,
    /// How the audit log names it.
    pub label: String,
    /// `admin`, `scheduler`, `connector`, `viewer` or `user`.
    pub role: &'static str,
    /// The user whose rows it may see, for the role `user`.
    pub user_uuid: Option<Uuid>,
    /// The name to show beside the UUID, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub user_name: Option<Arc<str>>,
    /// The only resource groups that it reaches; `null`: all.
    #[schema(value_type = Option<Vec<String>>)]
    pub resource_groups: Option<Arc<[String]>>,
    /// When it ends; `null`: never.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
}

impl WhoAmI {
    pub fn new(caller: Caller, people: &PeopleDirectory) -> Self {
        Self {
            key_id: caller.client().id(),
            role: caller.principal.role.as_str(),
            user_uuid: caller.principal.user.map(|user| user.0),
            user_name: caller.principal.user.and_then(|user| people.user_name(user)),
            resource_groups: caller.principal.groups,
            expires_at: caller.principal.expires_at,
            label: caller.principal.actor.to_string(),
        }
    }
}
