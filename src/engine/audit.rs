//! The entries of the audit log, and their authors.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use crate::domain::choices::NamedChoice;
use crate::domain::ids::{Member, Owner, ProjectId, UserId};
use crate::domain::slots::SlotNameSource;
use crate::domain::time::Timestamp;
use crate::engine::error::Result;
use crate::process::random;
use crate::store::ConnectionTrait;
use crate::store::audit::{self, StoredEntry};

const fn choice(name: &'static str, summary: &'static str) -> NamedChoice {
    NamedChoice { name, summary }
}

/// The actions of all entries, each in a word or two. A new action needs a line here.
pub const ACTIONS: [NamedChoice; 31] = [
    choice("weights.put", "Weights"),
    choice("scheduler_options.patch", "Options"),
    choice("configuration.apply", "Applied changes"),
    choice("audit_log.undo", "Undo"),
    choice("queues.put", "Queues"),
    choice("queue.put", "Queue"),
    choice("queue.delete", "Queue removed"),
    choice("resource_group.put", "Resource group"),
    choice("resource_group.create", "Resource group made"),
    choice("resource_group.delete", "Resource group removed"),
    choice("capacities.give", "Capacities of past days"),
    choice("agents.put", "Agents"),
    choice("agent.put", "Agent"),
    choice("agent.delete", "Agent removed"),
    choice("domain.put", "Domain"),
    choice("domain.restored", "Domain back from the archive"),
    choice("project.put", "Project"),
    choice("project.moved", "Project moved"),
    choice("project.restored", "Project back from the archive"),
    choice("user.put", "User"),
    choice("user.restored", "User back from the archive"),
    choice("key.create", "Key made"),
    choice("key.revoke", "Key revoked"),
    choice("kernels.ingest", "Reports of kernels"),
    choice("kernels.end_inferred", "Ends of kernels inferred"),
    choice("usage_history.put", "Usage of past days imported"),
    choice("usage_history.delete", "Usage of past days removed"),
    choice("connector.put", "Connector"),
    choice("connector.delete", "Connector forgotten"),
    choice("people_tree.put", "Tree of people"),
    choice("clock.trust", "Clock trusted"),
];

/// The action of the counts of delivered reports.
pub const INGEST_ACTION: &str = "kernels.ingest";
/// The action of inferred ends.
pub const INFERRED_END_ACTION: &str = "kernels.end_inferred";

/// The author of changes, as audit entries name it.
#[derive(Clone, Debug)]
pub struct AuditAuthor {
    /// A key's label, or `cli:` and a user of the system, or the name of a job.
    pub actor: Arc<str>,
    /// The key of a client from outside.
    pub key_id: Option<Uuid>,
    pub request_id: Arc<str>,
}

impl AuditAuthor {
    /// The engine itself, which needs no key.
    pub fn internal(actor: &str) -> Self {
        Self { actor: Arc::from(actor), key_id: None, request_id: random::dated_name() }
    }

    /// A job. It leaves no entry in the audit log.
    pub fn job() -> Self {
        Self::internal("job")
    }

    /// The source that new slot names of the author in a resource group count for.
    pub fn slot_name_source(&self, group: &str) -> SlotNameSource {
        SlotNameSource { client: self.key_id, group: Some(Arc::from(group)), is_about_agents: false }
    }
}

/// A change as a use-case describes it.
pub struct AuditedChange {
    /// `resource.verb`, such as `weights.put`.
    pub action: &'static str,
    pub target: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub reason: Option<String>,
}

/// Writes an entry. Returns its id. Its action is one of [`ACTIONS`].
pub(crate) async fn write(
    db: &impl ConnectionTrait,
    author: &AuditAuthor,
    change: AuditedChange,
    group: Option<&str>,
    now: Timestamp,
) -> Result<i64> {
    debug_assert!(ACTIONS.iter().any(|known| known.name == change.action), "{} is in no list", change.action);
    let entry = StoredEntry {
        id: 0,
        at: now,
        actor: author.actor.to_string(),
        key_id: author.key_id,
        request_id: author.request_id.to_string(),
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

const QUEUE_PREFIX: &str = "queue:";

/// The name of a queue among the items that an entry has changed.
pub fn queue_label(name: &str) -> String {
    format!("{QUEUE_PREFIX}{name}")
}

/// The queue of a name from [`queue_label`].
pub fn queue_of(label: &str) -> Option<&str> {
    label.strip_prefix(QUEUE_PREFIX)
}
