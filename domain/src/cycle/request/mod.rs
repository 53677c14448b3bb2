//! The request of a cycle (CYCLE §1): a snapshot of a group with the workloads that wait in it.

mod faults;
mod one_or_list;
pub mod options;
pub mod workloads;

use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use crate::fault::Fault;
use crate::placement_rules::AGENT_ID_LABEL;
use crate::queues::{DEFAULT_QUEUE, MAX_QUEUES, QueueSpec};
use crate::reading::{at_most, at_most_if_any};
use crate::reclaim::ReclaimOptions;
use crate::reclaim::input::{MAX_AGENTS, MAX_RUNNING_MEMBERS};
use crate::slots::SlotAmounts;
use crate::time::Timestamp;
pub use one_or_list::OneOrList;
use options::CycleOptions;
use workloads::{CycleAgent, CyclePending, CycleRunning, MAX_PENDING_MEMBERS, WorkloadOwner};

/// The largest number of pending workloads.
const MAX_PENDING: usize = 500_000;

/// The pending workloads of a request.
pub type PendingList = OneOrList<CyclePending, MAX_PENDING>;

/// A snapshot of a group, and the workloads that wait in it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "algorithm": "quota_over_quota", "capacity": {"gpu": 4}, "now": "2026-01-13T10:00:00Z",
    "queues": [{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 2}}],
    "agents": [{"agent_id": "n1", "available_slots": {"gpu": 4}}],
    "running": [{"workload_id": "w0", "queue": "b", "expected_seconds": 3600, "started_at": "2026-01-13T09:30:00Z",
        "members": [{"kernel_id": "k1", "slots": {"gpu": 3}, "agent_id": "n1"}]}],
    "pending": [
        {"workload_id": "w1", "queue": "b", "members": [{"slots": {"gpu": 1}}]},
        {"workload_id": "w2", "queue": "a", "gang_min": 1, "members": [{"slots": {"gpu": 1}, "count": 3}]}
    ],
    "cycle": {"actions": ["allocate", "backfill"], "order": "queues"}
}))]
pub struct CycleSimulation {
    pub capacity: SlotAmounts,
    #[schema(schema_with = crate::schemas::algorithm)]
    pub algorithm: String,
    #[serde(default)]
    pub options: ReclaimOptions,
    #[serde(deserialize_with = "at_most::<MAX_QUEUES, _, _>")]
    #[schema(max_items = 100_000)]
    pub queues: Vec<QueueSpec>,
    /// Absent: the group is one agent, and only totals count.
    #[serde(default, deserialize_with = "at_most_if_any::<MAX_AGENTS, _, _>")]
    #[schema(max_items = 50_000)]
    pub agents: Option<Vec<CycleAgent>>,
    #[serde(deserialize_with = "at_most::<MAX_RUNNING_MEMBERS, _, _>")]
    #[schema(max_items = 500_000)]
    pub running: Vec<CycleRunning>,
    /// A list of workloads; one object is a list of one.
    pub pending: PendingList,
    /// The moment of the cycle and of its starts; absent: now.
    #[serde(default)]
    pub now: Option<Timestamp>,
    #[serde(default)]
    pub cycle: CycleOptions,
    /// True for a `trace` of every decision.
    #[serde(default)]
    pub explain: bool,
}

/// How many members workloads have with counts expanded, at most about as many as a request may have.
pub fn count_members(pending: &PendingList) -> usize {
    let members = pending.elements.iter().flat_map(|workload| &workload.members);
    let counts = members.map(|member| usize::try_from(member.count).unwrap_or_default());
    counts.fold(0, usize::saturating_add).min(MAX_PENDING_MEMBERS)
}

impl CycleSimulation {
    /// How many pending members there are with counts expanded, at most about as many as a request may have.
    pub fn members(&self) -> usize {
        count_members(&self.pending)
    }

    /// Gives each agent the label with its own id.
    pub(super) fn label_agents(&mut self) {
        for agent in self.agents.iter_mut().flatten() {
            agent.labels.insert(AGENT_ID_LABEL.to_owned(), agent.agent_id.to_string());
        }
    }

    /// Gives every workload that names no queue its own (DIVISION §1), and adds `default` if one belongs there.
    pub(super) fn assign_queues(&mut self) {
        let names: std::collections::HashSet<&str> = self.queues.iter().map(|spec| spec.config.name.as_str()).collect();
        let find = |owner: &WorkloadOwner| {
            let named = |name: &Option<String>| name.as_deref().filter(|name| names.contains(name)).map(Arc::from);
            named(&owner.project).or_else(|| named(&owner.domain)).unwrap_or_else(|| Arc::from(DEFAULT_QUEUE))
        };
        let mut adds_default = false;
        let running = self.running.iter_mut().map(|workload| (&mut workload.queue, &workload.owner));
        let pending = self.pending.elements.iter_mut().map(|workload| (&mut workload.queue, &workload.owner));
        for (queue, owner) in running.chain(pending).filter(|(queue, _)| queue.is_none()) {
            let found = find(owner);
            adds_default |= !names.contains(&*found);
            *queue = Some(found);
        }
        if adds_default {
            self.queues.push(QueueSpec::named(DEFAULT_QUEUE));
        }
    }

    /// The faults of everything but the queues and the options, at most as many as an answer has.
    pub(super) fn faults(&self) -> Vec<Fault> {
        faults::find(self)
    }
}
