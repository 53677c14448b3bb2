//! An identity that was proved, with its rights.

use std::sync::Arc;

use uuid::Uuid;

use super::role::Role;
use crate::domain::ids::UserId;
use crate::domain::time::Timestamp;

/// The client that permits, rates and limits are counted for. All sessions of a key are one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientId {
    /// The service itself, and commands on its machine.
    Local,
    /// The holder of the API key with this id.
    Key(Uuid),
}

impl ClientId {
    /// The id of a client from outside; `None` for [`ClientId::Local`].
    pub fn id(self) -> Option<Uuid> {
        match self {
            Self::Local => None,
            Self::Key(id) => Some(id),
        }
    }
}

/// An identity, whichever way it was proved, and its rights.
#[derive(Clone, Debug)]
pub struct Principal {
    pub client: ClientId,
    /// The name in the audit log: a key's label, or `cli:` and a user of the system, or the name of a job.
    pub actor: Arc<str>,
    pub role: Role,
    /// The user whose rows a principal with the role `user` may see.
    pub user: Option<UserId>,
    /// The only resource groups that it reaches; `None` for all.
    pub groups: Option<Arc<[String]>>,
    /// The end of its validity.
    pub expires_at: Option<Timestamp>,
}

impl Principal {
    /// The service or a command on its machine, with the rights of an admin.
    pub fn local(actor: Arc<str>) -> Self {
        Self { client: ClientId::Local, actor, role: Role::Admin, user: None, groups: None, expires_at: None }
    }

    /// The same principal, valid until `end` at the latest.
    #[must_use]
    pub fn until(self, end: Timestamp) -> Self {
        Self { expires_at: Some(self.expires_at.map_or(end, |at| at.min(end))), ..self }
    }
}
