//! Kernels as GraphQL shows them.

use std::sync::Arc;

use async_graphql::SimpleObject;

use crate::domain::ids::KernelKey;
use crate::domain::kernel::Kernel;
use crate::engine::people::PeopleDirectory;
use crate::graphql::scalars::{DateTime, JsonString, Uuid};
use crate::service::Caller;

/// A kernel as it is known.
#[derive(SimpleObject)]
#[graphql(name = "Kernel", rename_fields = "snake_case")]
pub struct KernelNode {
    kernel_id: Uuid,
    session_id: Uuid,
    user_uuid: Uuid,
    /// The name to show beside the id, if there is one.
    user_name: Option<Arc<str>>,
    project_id: Uuid,
    /// The name to show beside the id, if there is one.
    project_name: Option<Arc<str>>,
    domain_name: String,
    occupied_slots: JsonString,
    /// `PENDING`, `RUNNING`, `SUSPENDED` or `TERMINATED`.
    status: &'static str,
    started_at: Option<DateTime>,
    terminated_at: Option<DateTime>,
    /// How long it was said to run from its start; null: no report said so.
    expected_seconds: Option<u32>,
    /// The charge class that usage is recorded with from now on; empty: none.
    charge_class: String,
    /// Null: no report said so.
    submitted_at: Option<DateTime>,
    /// Texts by name.
    labels: JsonString,
    /// The taints of agents on which it may start all the same.
    tolerations: JsonString,
    /// The agents that it needs, and the workloads that it has to be near to or away from; null: none.
    affinity: Option<JsonString>,
    /// Where it runs, if that is one agent; null: several, or not reported.
    agent_id: Option<String>,
    /// All agents that it runs on, in the order of the report.
    agent_ids: Vec<String>,
    queue: Option<String>,
    priority: i32,
    preemptible: bool,
    gang_id: Option<String>,
    /// The number of kernels of the gang that have to run together; null: all.
    gang_min: Option<u32>,
    /// Kernels of the group ascend by it in the order in which they became known, which decides between equal pending
    /// kernels; null for keys of users.
    known_order: Option<i64>,
}

impl KernelNode {
    pub fn new(kernel: Kernel, people: &PeopleDirectory, caller: &Caller) -> Self {
        // It would reveal how many kernels others have.
        let known_order = kernel.key.filter(|_| caller.only_user().is_none()).map(KernelKey::in_group);
        let report = kernel.report;
        let rules = report.rules.as_deref().cloned().unwrap_or_default();
        let (user_name, project_name) = people.names(report.owner);
        Self {
            kernel_id: Uuid(report.id.0),
            session_id: Uuid(report.session.0),
            user_uuid: Uuid(report.owner.user.0),
            user_name,
            project_id: Uuid(report.owner.project.0),
            project_name,
            domain_name: report.domain,
            occupied_slots: JsonString::of(&report.slots),
            status: report.phase.as_str(),
            started_at: report.started_at.map(DateTime),
            terminated_at: report.terminated_at.map(DateTime),
            expected_seconds: report.expected_seconds,
            charge_class: report.charge_class.unwrap_or_default(),
            submitted_at: report.submitted_at.map(DateTime),
            labels: JsonString::of(&rules.labels),
            tolerations: JsonString::of(&rules.tolerations),
            affinity: (!rules.affinity.is_empty()).then(|| JsonString::of(&rules.affinity)),
            agent_id: report.traits.agents.only().cloned(),
            agent_ids: report.traits.agents.names().to_vec(),
            queue: report.traits.queue,
            priority: report.traits.priority,
            preemptible: report.traits.preemptible,
            gang_id: report.traits.gang_id,
            gang_min: report.traits.gang_min,
            known_order,
        }
    }
}
