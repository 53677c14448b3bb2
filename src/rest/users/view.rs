//! Users as REST shows them, and the body that creates or changes one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api::input_warning::InputWarning;
use crate::domain::ids::UserId;
use crate::domain::reading::ReadOnly;
use crate::domain::time::Timestamp;
use crate::rest::paths::same_as_path;
use crate::service::Result;
use crate::service::people::{KeyUpdate, User, UserChange};

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User, example = json!({
    "user_uuid": "b6023f13-2722-5f04-ba17-970481079475", "name": "alice", "display_name": "Alice Liddell",
    "archived": false, "archived_at": null, "created_at": "2026-01-13T10:00:00Z"
}))]
pub struct UserView {
    pub user_uuid: Uuid,
    /// The name by which `user` may give them wherever a UUID is accepted; unique in the server.
    #[schema(value_type = Option<String>)]
    pub name: Option<Arc<str>>,
    #[schema(value_type = Option<String>)]
    pub display_name: Option<Arc<str>>,
    /// Hidden from lists and rankings; weights, history and everybody's numbers are as before.
    pub archived: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub archived_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<Arc<User>> for UserView {
    fn from(user: Arc<User>) -> Self {
        Self {
            user_uuid: user.id.0,
            name: user.name.clone(),
            display_name: user.display_name.clone(),
            archived: user.archived_at.is_some(),
            archived_at: user.archived_at,
            created_at: user.created_at,
        }
    }
}

/// A user after its write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "user_uuid": "b6023f13-2722-5f04-ba17-970481079475", "name": "alice", "display_name": "Alice Liddell",
    "archived": false, "archived_at": null, "created_at": "2026-01-13T10:00:00Z"
}))]
pub struct UserWritten {
    #[serde(flatten)]
    pub user: UserView,
    /// Likely mistakes; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}

/// The new properties of a user. The answer of a GET can be sent back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "alice", "display_name": "Alice Liddell"}))]
pub struct UserRequest {
    /// If given, the same as in the path.
    pub user_uuid: Option<Uuid>,
    /// Unique among users; `null` takes it away.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub name: KeyUpdate<String>,
    /// Shown where there is no name; `null` takes it away.
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

impl UserRequest {
    /// `path_name` is the name in the path, if the user does not have a name yet.
    pub fn into_change(self, id: UserId, path_name: Option<String>) -> Result<UserChange> {
        same_as_path("/user_uuid", self.user_uuid.as_ref(), &id.0)?;
        let Self { display_name, archived, reason, .. } = self;
        Ok(UserChange { name: self.name.or(path_name), display_name, archived, reason })
    }
}
