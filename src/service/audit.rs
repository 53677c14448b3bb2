//! What use-cases tell the audit log.

use std::sync::Arc;

use serde_json::Value;

use super::input::caller::Caller;
use super::input::error::Result;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::time::Timestamp;
use crate::store::ConnectionTrait;
use crate::store::audit::{self, Entry};

/// The action under which the audit log counts what is delivered.
pub const INGEST: &str = "kernels.ingest";
/// The action under which the audit log tells of ends that were inferred.
pub const INFERRED: &str = "kernels.end_inferred";

/// A change as its use-case describes it.
pub struct Change {
    /// `resource.verb`, like `weights.put`.
    pub action: &'static str,
    pub target: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub reason: Option<String>,
}

/// Returns the id of the entry.
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

/// How the audit log names an entity.
pub fn label(entity: &Owner) -> String {
    match entity {
        Owner::Domain(name) => format!("domain:{name}"),
        Owner::Project(id) => format!("project:{id}"),
        Owner::User(m) => format!("user:{}/{}", m.user, m.project),
    }
}

/// The entity that [`label`] names so.
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

/// How the audit log names an option, and the scheduler, when it is among what an entry has changed.
pub fn option_label(key: &str) -> String {
    format!("option:{key}")
}

const QUEUE: &str = "queue:";

/// How the audit log names a queue, when it is among what an entry has changed.
pub fn queue_label(name: &str) -> String {
    format!("{QUEUE}{name}")
}

/// The queue that [`queue_label`] names so.
pub fn queue_of(label: &str) -> Option<&str> {
    label.strip_prefix(QUEUE)
}
