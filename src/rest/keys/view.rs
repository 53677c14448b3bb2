use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::ids::UserId;
use crate::domain::time::Timestamp;
use crate::service::keys::{ApiKey, NewKey};
use crate::service::{Error, Role};

/// A key, without its text.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub struct KeyView {
    pub id: Uuid,
    /// `admin`, `scheduler`, `viewer` or `user`.
    pub role: String,
    pub label: String,
    /// Whose rows a key with the role `user` may see.
    pub user_uuid: Option<Uuid>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
    /// To about a minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
}

impl From<ApiKey> for KeyView {
    fn from(key: ApiKey) -> Self {
        let ApiKey { id, role, label, user, created_at, expires_at, revoked_at, last_used_at } = key;
        Self { id, role, label, user_uuid: user.map(|u| u.0), created_at, expires_at, revoked_at, last_used_at }
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

/// What a new key should be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"role": "scheduler", "label": "slurm bridge", "expires_at": "2027-01-01T00:00:00Z"}))]
pub struct KeyRequest {
    /// `admin`, `scheduler`, `viewer` or `user`.
    pub role: String,
    pub label: String,
    /// Required for, and only for, the role `user`.
    pub user_uuid: Option<Uuid>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
}

impl TryFrom<KeyRequest> for NewKey {
    type Error = Error;

    fn try_from(request: KeyRequest) -> Result<Self, Error> {
        let known: Vec<_> = Role::ALL.into_iter().map(Role::as_str).collect();
        let said = || format!("is not one of {}", known.join(", "));
        let role = Role::parse(&request.role).ok_or_else(|| Error::about("/role", "unknown_role", said()))?;
        Ok(Self { role, label: request.label, user: request.user_uuid.map(UserId), expires_at: request.expires_at })
    }
}
