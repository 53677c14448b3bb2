//! Keys and their roles as GraphQL shows them.

use std::sync::Arc;

use async_graphql::{Enum, SimpleObject};

use crate::engine::people::PeopleDirectory;
use crate::graphql::scalars::{DateTime, Uuid};
use crate::service::Role;
use crate::service::keys;

/// The rights of a key.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(rename_items = "SCREAMING_SNAKE_CASE")]
pub enum KeyRole {
    /// Everything.
    Admin,
    /// Report, ask for orders and plans, read.
    Scheduler,
    /// Report, ask for orders, set agents and bring the tree of people.
    Connector,
    /// Read.
    Viewer,
    /// Read one user's own rows.
    User,
}

impl From<KeyRole> for Role {
    fn from(role: KeyRole) -> Self {
        match role {
            KeyRole::Admin => Self::Admin,
            KeyRole::Scheduler => Self::Scheduler,
            KeyRole::Connector => Self::Connector,
            KeyRole::Viewer => Self::Viewer,
            KeyRole::User => Self::User,
        }
    }
}

/// An API key, without its text.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct ApiKey {
    pub key_id: Uuid,
    /// `admin`, `scheduler`, `connector`, `viewer` or `user`.
    pub role: String,
    pub label: String,
    /// The user whose rows a key with the role `user` may see.
    pub user_uuid: Option<Uuid>,
    /// The name to show beside the id, if there is one.
    pub user_name: Option<Arc<str>>,
    pub created_at: DateTime,
    /// Null: never.
    pub expires_at: Option<DateTime>,
    pub revoked_at: Option<DateTime>,
    /// To about a minute.
    pub last_used_at: Option<DateTime>,
    /// The only resource groups that the key reaches; null: all.
    pub resource_groups: Option<Vec<String>>,
}

impl ApiKey {
    pub fn new(key: keys::StoredKey, people: &PeopleDirectory) -> Self {
        Self {
            key_id: Uuid(key.id),
            role: key.role,
            label: key.label.to_string(),
            user_uuid: key.user.map(|user| Uuid(user.0)),
            user_name: key.user.and_then(|user| people.user_name(user)),
            created_at: DateTime(key.created_at),
            expires_at: key.expires_at.map(DateTime),
            revoked_at: key.revoked_at.map(DateTime),
            last_used_at: key.last_used_at.map(DateTime),
            resource_groups: key.groups.map(|groups| groups.to_vec()),
        }
    }
}

/// A new key.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct CreatedKey {
    /// The only copy there will ever be.
    pub key: String,
    pub row: ApiKey,
}
