//! The key of a request and its rights.

use std::sync::Arc;

use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

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

/// The rights of a key, as clients read them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KeyRights {
    pub role: String,
    /// The only groups that it reaches; `None`: all.
    pub resource_groups: Option<Vec<String>>,
    /// The time of the server at its answer, in whole seconds; `None`: the answer does not say it.
    #[serde(skip)]
    pub answered_at: Option<Timestamp>,
}

impl KeyRights {
    /// True if the key may set agents and bring the tree of people.
    pub fn is_of_connector(&self) -> bool {
        ["admin", "connector"].contains(&self.role.as_str())
    }
}
