//! Kernels as GraphQL shows them.

use std::sync::Arc;

use async_graphql::SimpleObject;

use crate::domain::ids::KernelKey;
use crate::domain::kernel::Kernel;
use crate::graphql::scalars::{DateTime, JsonString, Uuid};
use crate::service::Caller;
use crate::service::people::Directory;

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
    agent_id: Option<String>,
    queue: Option<String>,
    priority: i32,
    preemptible: bool,
    /// Kernels of the group ascend by it in the order in which they became known, which decides between equal pending
    /// kernels; null for keys of users.
    known_order: Option<i64>,
}

impl KernelNode {
    pub fn new(kernel: Kernel, people: &Directory, caller: &Caller) -> Self {
        // It would reveal how many kernels others have.
        let known_order = kernel.key.filter(|_| caller.only_user().is_none()).map(KernelKey::in_group);
        let report = kernel.report;
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
            agent_id: report.traits.agent_id,
            queue: report.traits.queue,
            priority: report.traits.priority,
            preemptible: report.traits.preemptible,
            known_order,
        }
    }
}
