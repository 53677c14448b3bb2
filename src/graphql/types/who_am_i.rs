//! The key of the request or of the session, as GraphQL shows it.

use std::sync::Arc;

use async_graphql::SimpleObject;

use crate::engine::people::PeopleDirectory;
use crate::graphql::scalars::{DateTime, Uuid};
use crate::service::Caller;

/// The key that asks, or that signed in.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct WhoAmI {
    /// Null: a command on the server's machine asks.
    pub key_id: Option<Uuid>,
    /// How the audit log names it.
    pub label: String,
    /// `admin`, `scheduler`, `connector`, `viewer` or `user`.
    pub role: &'static str,
    /// The user whose rows it may see, for the role `user`.
    pub user_uuid: Option<Uuid>,
    /// The name to show beside the id, if there is one.
    pub user_name: Option<Arc<str>>,
    /// The only resource groups that it reaches; null: all.
    pub resource_groups: Option<Vec<String>>,
    /// When the key or the session ends, whichever comes first; null: never.
    pub expires_at: Option<DateTime>,
}

impl WhoAmI {
    pub fn new(caller: &Caller, people: &PeopleDirectory) -> Self {
        Self {
            key_id: caller.client().id().map(Uuid),
            label: caller.principal.actor.to_string(),
            role: caller.principal.role.as_str(),
            user_uuid: caller.principal.user.map(|user| Uuid(user.0)),
            user_name: caller.principal.user.and_then(|user| people.user_name(user)),
            resource_groups: caller.principal.groups.as_ref().map(|groups| groups.to_vec()),
            expires_at: caller.principal.expires_at.map(DateTime),
        }
    }
}
