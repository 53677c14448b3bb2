//! The caller of a use-case and its rights (access rules of `docs/API.md`).

use std::sync::Arc;

use uuid::Uuid;

use super::principal::{ClientId, Principal};
use super::role::Role;
use crate::domain::ids::UserId;
use crate::domain::slots::SlotNameSource;
use crate::engine::audit::AuditAuthor;
use crate::engine::error::{Error, Result};
use crate::process::random;

/// The rights of a caller, and the rows that it may see.
#[derive(Clone, Copy, Debug)]
pub struct CallerAccess {
    role: Role,
    user: Option<UserId>,
    client: ClientId,
}

impl CallerAccess {
    pub fn require_admin(self) -> Result<()> {
        self.require(&[Role::Admin])
    }

    /// Checks the right to ask for plans, and to read what follows from them.
    pub fn require_scheduler(self) -> Result<()> {
        self.require(&[Role::Admin, Role::Scheduler])
    }

    /// Checks the right to ingest and to order workloads.
    pub fn require_reporter(self) -> Result<()> {
        self.require(&[Role::Admin, Role::Scheduler, Role::Connector])
    }

    /// Checks the right to set agents and to bring the tree of people.
    pub fn require_connector(self) -> Result<()> {
        self.require(&[Role::Admin, Role::Connector])
    }

    /// Checks the right to read data that is not about one user.
    pub fn require_reader(self) -> Result<()> {
        self.require(&[Role::Admin, Role::Scheduler, Role::Viewer])
    }

    /// Checks the right to read the tree of people: that of a reader, or of a connector, which brings it.
    pub fn require_tree_reader(self) -> Result<()> {
        self.require(&[Role::Admin, Role::Scheduler, Role::Connector, Role::Viewer])
    }

    /// The client whose permits the caller uses.
    pub fn client(self) -> ClientId {
        self.client
    }

    /// The only user whose rows may be seen; `None` for all users.
    pub fn only_user(self) -> Option<UserId> {
        // A key with the role `user` but without a user sees no rows, and neither does a connector.
        matches!(self.role, Role::User | Role::Connector).then(|| self.user.unwrap_or(UserId(Uuid::nil())))
    }

    /// Refuses data about `user` to the key of another user.
    pub fn require_user(self, user: UserId) -> Result<()> {
        match self.only_user() {
            Some(own) if own != user => Err(Error::Forbidden(match self.role {
                Role::Connector => "a key with the role connector may not see rows of users".to_owned(),
                _ => "the key may only see its own user's rows".to_owned(),
            })),
            _ => Ok(()),
        }
    }

    fn require(self, roles: &[Role]) -> Result<()> {
        if roles.contains(&self.role) {
            return Ok(());
        }
        let names: Vec<_> = roles.iter().map(|r| r.as_str()).collect();
        Err(Error::Forbidden(format!("the key has the role {}; this needs {}", self.role.as_str(), names.join(" or "))))
    }
}

/// True if `groups`, the only ones that a key reaches, contain `group`; `None` stands for all groups.
fn has_group(groups: Option<&[String]>, group: &str) -> bool {
    groups.is_none_or(|groups| groups.iter().any(|name| name == group))
}

/// The resource groups that a key reaches, and the only user whose rows it may see.
#[derive(Clone, Debug)]
pub struct KeyReach {
    groups: Option<Arc<[String]>>,
    own_user: Option<UserId>,
}

impl KeyReach {
    /// True if the key does not reach every group.
    pub fn is_limited(&self) -> bool {
        self.groups.is_some()
    }

    pub fn has_group(&self, group: &str) -> bool {
        has_group(self.groups.as_deref(), group)
    }

    /// The user of a key with the role `user`.
    pub fn own_user(&self) -> Option<UserId> {
        self.own_user
    }
}

/// The sender of a request, or the command or job that runs in this process.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Principal,
    pub request_id: Arc<str>,
}

impl Caller {
    /// The service or the command line, which need no key.
    pub fn internal(actor: impl Into<Arc<str>>) -> Self {
        Self::internal_in(actor, random::dated_name())
    }

    /// The same, for a request that has an id already.
    pub fn internal_in(actor: impl Into<Arc<str>>, request_id: Arc<str>) -> Self {
        Self { principal: Principal::local(actor.into()), request_id }
    }

    /// A job. It leaves no entry in the audit log.
    pub fn job() -> Self {
        Self::internal("job")
    }

    /// The caller as the author of changes.
    pub fn author(&self) -> AuditAuthor {
        AuditAuthor {
            actor: Arc::clone(&self.principal.actor),
            key_id: self.client().id(),
            request_id: Arc::clone(&self.request_id),
        }
    }

    /// The source that new slot names of the caller in a resource group count for.
    pub fn slot_name_source(&self, group: &str) -> SlotNameSource {
        self.author().slot_name_source(group)
    }

    /// The client whose permits and limits the caller uses.
    pub fn client(&self) -> ClientId {
        self.principal.client
    }

    pub fn key_reach(&self) -> KeyReach {
        KeyReach { groups: self.principal.groups.clone(), own_user: self.only_user() }
    }

    /// The rights of the caller in the groups that its key reaches.
    pub fn access(&self) -> CallerAccess {
        let Principal { client, role, user, .. } = self.principal;
        CallerAccess { role, user, client }
    }

    pub fn require_admin(&self) -> Result<()> {
        self.access().require_admin()
    }

    /// Checks the right to ask for plans, and to read what follows from them.
    pub fn require_scheduler(&self) -> Result<()> {
        self.access().require_scheduler()
    }

    /// Checks the right to ingest and to order workloads.
    pub fn require_reporter(&self) -> Result<()> {
        self.access().require_reporter()
    }

    /// Checks the right to set agents and to bring the tree of people.
    pub fn require_connector(&self) -> Result<()> {
        self.access().require_connector()
    }

    /// Checks the right to read data that is not about one user.
    pub fn require_reader(&self) -> Result<()> {
        self.access().require_reader()
    }

    /// The only user whose rows this caller may see; `None` for all users.
    pub fn only_user(&self) -> Option<UserId> {
        self.access().only_user()
    }

    /// Refuses data about `user` to the key of another user.
    pub fn require_user(&self, user: UserId) -> Result<()> {
        self.access().require_user(user)
    }

    /// True if the key reaches the resource group.
    pub fn reaches(&self, group: &str) -> bool {
        has_group(self.principal.groups.as_deref(), group)
    }

    /// Refuses a resource group that the key does not reach.
    pub fn require_group(&self, group: &str) -> Result<()> {
        match &self.principal.groups {
            Some(groups) if !self.reaches(group) => Err(Error::Forbidden(format!(
                "this key is limited to {}, and does not reach the resource group {group:?}",
                groups.join(", ")
            ))),
            _ => Ok(()),
        }
    }

    /// Checks that the key reaches all groups, for requests that concern the whole server.
    pub fn require_all_groups(&self) -> Result<()> {
        match &self.principal.groups {
            Some(groups) => Err(Error::Forbidden(format!(
                "this needs a key that reaches all resource groups; yours is limited to {}",
                groups.join(", ")
            ))),
            None => Ok(()),
        }
    }
}
