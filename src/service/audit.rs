//! The entries that use-cases write into the audit log.

use std::sync::Arc;

use serde_json::Value;

use super::input::caller::Caller;
use super::input::error::Result;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::time::Timestamp;
use crate::store::ConnectionTrait;
use crate::store::audit::{self, Entry};

/// The action of the counts of delivered reports.
pub const INGEST: &str = "kernels.ingest";
/// The action of inferred ends.
pub const INFERRED: &str = "kernels.end_inferred";

/// A change as a use-case describes it.
pub struct Change {
    /// `resource.verb`, such as `weights.put`.
    pub action: &'static str,
    pub target: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub reason: Option<String>,
}

/// Writes an entry. Returns its id.
pub(super) async fn write(
    db: &impl ConnectionTrait,
    caller: &Caller,
    change: Change,
    group: Option<&str>,
    now: Timestamp,
) -> Result<i64> {
    let entry = Entry {
        id: 0,
        at: now,
        actor: caller.actor.to_string(),
        key_id: caller.key_id,
        request_id: caller.request_id.to_string(),
        action: change.action.to_owned(),
        resource_group: group.map(str::to_owned),
        target: change.target,
        before: change.before,
        after: change.after,
        reason: change.reason,
    };
    Ok(audit::add(db, entry).await?)
}

/// The name of an owner in the audit log.
pub fn label(entity: &Owner) -> String {
    match entity {
        Owner::Domain(name) => format!("domain:{name}"),
        Owner::Project(id) => format!("project:{id}"),
        Owner::User(m) => format!("user:{}/{}", m.user, m.project),
    }
}

/// The owner of a name from [`label`].
pub fn owner_of(label: &str) -> Option<Owner> {
    let (kind, id) = label.split_once(':')?;
    match kind {
        "domain" => Some(Owner::Domain(Arc::from(id))),
        "project" => Some(Owner::Project(ProjectId(id.parse().ok()?))),
        "user" => {
            let (user, project) = id.split_once('/')?;
            let (user, project) = (UserId(user.parse().ok()?), ProjectId(project.parse().ok()?));
            Some(Owner::User(Member { user, project }))
        }
        _ => None,
    }
}

/// The name of an option, or of the scheduler, among the items that an entry has changed.
pub fn option_label(key: &str) -> String {
    format!("option:{key}")
}

const QUEUE: &str = "queue:";

/// The name of a queue among the items that an entry has changed.
pub fn queue_label(name: &str) -> String {
    format!("{QUEUE}{name}")
}

/// The queue of a name from [`queue_label`].
pub fn queue_of(label: &str) -> Option<&str> {
    label.strip_prefix(QUEUE)
}
