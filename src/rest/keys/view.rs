//! Keys as REST shows them, and the body of a new one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::ids::UserId;
use crate::domain::time::Timestamp;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::service::keys::{NewKey, StoredKey};
use crate::service::{Error, Role};

/// A key, without its text.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKey, example = json!({
    "id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11", "role": "scheduler", "label": "slurm bridge", "user_uuid": null,
    "created_at": "2026-01-13T10:00:00Z", "expires_at": "2027-01-01T00:00:00Z", "revoked_at": null,
    "resource_groups": ["gpu-cluster"], "last_used_at": null
}))]
pub struct KeyView {
    pub id: Uuid,
    /// `admin`, `scheduler`, `connector`, `viewer` or `user`.
    pub role: String,
    #[schema(value_type = String)]
    pub label: Arc<str>,
    /// The user whose rows a key with the role `user` may see.
    pub user_uuid: Option<Uuid>,
    /// The name to show beside the UUID, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub user_name: Option<Arc<str>>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
    /// The only resource groups that the key reaches; `null`: all.
    #[schema(value_type = Option<Vec<String>>)]
    pub resource_groups: Option<Arc<[String]>>,
    /// To about a minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
}

impl KeyView {
    pub fn new(key: StoredKey, people: &PeopleDirectory) -> Self {
        let StoredKey { id, role, label, user, created_at, expires_at, revoked_at, last_used_at, groups } = key;
        let (user_uuid, resource_groups) = (user.map(|u| u.0), groups);
        let user_name = user.and_then(|user| people.user_name(user));
        Self {
            id,
            role,
            label,
            user_uuid,
            user_name,
            created_at,
            expires_at,
            revoked_at,
            resource_groups,
            last_used_at,
        }
    }
}

/// A new key.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedKey {
    /// The only copy there will ever be.
    #[schema(example = "fsk_4nQ1wVbKe0Yx7mPz2RrT5uH8sJd3LfAcGiEoBkNvXyQ")]
    pub key: String,
    #[serde(flatten)]
    pub row: KeyView,
}

/// The properties of a new key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"role": "scheduler", "label": "slurm bridge", "expires_at": "2027-01-01T00:00:00Z"}))]
pub struct KeyRequest {
    /// `admin`, `scheduler`, `connector`, `viewer` or `user`.
    pub role: String,
    pub label: String,
    /// Required for, and only for, the role `user`: this or `user`.
    pub user_uuid: Option<Uuid>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// The only resource groups that it reaches, which need not be there yet; absent or `null`: all. Required for the role `connector`.
    pub resource_groups: Option<Vec<String>>,
}

impl KeyRequest {
    pub fn into_key(self, people: &PeopleDirectory) -> Result<NewKey, Error> {
        let known: Vec<_> = Role::ALL.into_iter().map(Role::as_str).collect();
        let said = || format!("is not one of {}", known.join(", "));
        let role = Role::parse(&self.role).ok_or_else(|| Error::about("/role", "unknown_role", said()))?;
        let user = lookup::some_user(people, self.user_uuid.map(UserId), self.user.as_deref());
        let user = user.map_err(|fault| Error::Invalid(vec![fault]))?;
        Ok(NewKey { role, label: self.label, user, expires_at: self.expires_at, groups: self.resource_groups })
    }
}
