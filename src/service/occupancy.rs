//! The slots that running kernels hold now, and those that are free, by domain, project, user, queue or agent.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Caller, Result, Service};
use crate::domain::ids::Member;
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::domain::queues::LiveKernel;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::domain::workloads::occupancy::{CapacityHolder, HolderSums, OccupancyBy, sum_holders};
use crate::engine::group::live_kernels::LiveKernelList;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;

/// The slots that are held and those that are free.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "by": "user",
    "items": [{
        "name": "alice", "id": "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69", "held": {"cpu": "4", "cuda.device": "1"},
        "share": {"cpu": "0.0625", "cuda.device": "0.125"}, "running": 1, "pending": 2
    }],
    "capacity": {"cpu": "64", "cuda.device": "8"}, "held": {"cpu": "4", "cuda.device": "1"},
    "free": {"cpu": "60", "cuda.device": "7"}, "as_of": "2026-01-13T10:00:00Z"
}))]
pub struct GroupOccupancy {
    pub by: OccupancyBy,
    /// The one with the largest share of a slot first, then by name.
    pub items: Vec<OccupancyItem>,
    #[schema(value_type = BTreeMap<String, String>)]
    pub capacity: SlotAmounts,
    #[schema(value_type = BTreeMap<String, String>)]
    pub held: SlotAmounts,
    #[schema(value_type = BTreeMap<String, String>)]
    pub free: SlotAmounts,
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
}

/// The slots that one holder holds.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OccupancyItem {
    /// `null`: kernels of which no agent is reported.
    pub name: Option<String>,
    /// The UUID of a project or user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub id: Option<Uuid>,
    #[schema(value_type = BTreeMap<String, String>)]
    pub held: SlotAmounts,
    /// The held part of the group's capacity, by slot.
    #[schema(value_type = BTreeMap<String, String>)]
    pub share: BTreeMap<&'static str, String>,
    /// Kernels that run. One over several agents counts at each of them.
    pub running: u64,
    /// Kernels that wait.
    pub pending: u64,
    /// The slots of an agent that nothing holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>, nullable = false)]
    pub free: Option<SlotAmounts>,
    /// True if an agent is up and takes work.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub schedulable: Option<bool>,
}

impl Service {
    /// The slots that running kernels of the group hold, summed by `by`. A kernel counts once; each of its agents holds a part of it.
    #[tracing::instrument(
        name = "service.occupancy.occupancy",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn occupancy(&self, caller: &Caller, group: &str, by: OccupancyBy) -> Result<GroupOccupancy> {
        let group = self.group_for_readers(caller, group)?;
        let kernels = self.live_kernels(group.published()).await?;
        let as_of = self.clock().now();
        let work = || {
            let facts = group.facts();
            let names = self.holder_names(by, &kernels);
            let empty =
                facts.agents.iter().filter(|_| by == OccupancyBy::Agent).map(|agent| named_holder(&agent.agent_id));
            let parts_of = |kernel| held_parts(facts, &names, by, kernel);
            let rows = sum_holders(kernels.iter().map(|kernel| &**kernel), empty, parts_of, &facts.capacity);
            let mut held = SlotAmounts::default();
            for (_, sums) in &rows {
                held.add(&sums.held);
            }
            let free = free(&facts.capacity, &held);
            let agents: BTreeMap<&str, &_> = facts.agents.iter().map(|agent| (&*agent.agent_id, agent)).collect();
            let item = |(CapacityHolder { name, id }, sums): (CapacityHolder, HolderSums)| {
                let agent = name.as_deref().and_then(|name| agents.get(name)).filter(|_| by == OccupancyBy::Agent);
                OccupancyItem {
                    share: sums.shares(&facts.capacity),
                    free: agent.map(|agent| self::free(&agent.available_slots, &sums.held)),
                    schedulable: agent.map(|agent| agent.offers()),
                    name,
                    id,
                    held: sums.held,
                    running: sums.running,
                    pending: sums.pending,
                }
            };
            let items = rows.into_iter().map(item).collect();
            Ok(GroupOccupancy { by, items, capacity: facts.capacity.clone(), held, free, as_of })
        };
        self.permits.run(group.access().client(), work).await
    }
}

/// The names of projects or users by id; those that are absent have none.
type HolderNames = HashMap<Uuid, Arc<str>>;

impl Service {
    /// The names of the projects or users of these kernels. They are looked up before kernels are summed, so that the directory
    /// is locked only for a moment.
    fn holder_names(&self, by: OccupancyBy, kernels: &LiveKernelList) -> HolderNames {
        let owners: HashSet<Member> = kernels.iter().map(|kernel| kernel.owner).collect();
        let people = self.people();
        let name = |owner: Member| match by {
            OccupancyBy::Project => Some((owner.project.0, people.project_name(owner.project)?)),
            OccupancyBy::User => Some((owner.user.0, people.user_name(owner.user)?)),
            OccupancyBy::Domain | OccupancyBy::Queue | OccupancyBy::Agent => None,
        };
        owners.into_iter().filter_map(name).collect()
    }
}

fn free(total: &SlotAmounts, held: &SlotAmounts) -> SlotAmounts {
    let mut free = total.clone();
    free.subtract(held);
    free
}

fn named_holder(name: &str) -> CapacityHolder {
    CapacityHolder { name: Some(name.to_owned()), id: None }
}

/// The parts of a kernel, each with the holder that it counts for. An agent has a part; all other holders have whole kernels.
fn held_parts<'k>(
    facts: &'k GroupSnapshotData,
    names: &'k HolderNames,
    by: OccupancyBy,
    kernel: &'k LiveKernel,
) -> impl Iterator<Item = (CapacityHolder, Cow<'k, SlotAmounts>)> {
    let agents = if by == OccupancyBy::Agent { &kernel.agents } else { &KernelAgents::Unknown };
    agents.parts(&kernel.slots).map(move |part| (holder(facts, names, by, kernel, part.agent), part.slots))
}

/// The holder that the part of a kernel on `agent` counts for.
fn holder(
    facts: &GroupSnapshotData,
    names: &HolderNames,
    by: OccupancyBy,
    kernel: &LiveKernel,
    agent: Option<&str>,
) -> CapacityHolder {
    let owner = kernel.owner;
    let named = |id: Uuid| CapacityHolder {
        name: Some(names.get(&id).map_or_else(|| id.to_string(), ToString::to_string)),
        id: Some(id),
    };
    match by {
        OccupancyBy::Domain => {
            let row = facts.rows.project(owner.project);
            named_holder(row.map_or(UNKNOWN_DOMAIN, |row| &row.domain_name))
        }
        OccupancyBy::Project => named(owner.project.0),
        OccupancyBy::User => named(owner.user.0),
        OccupancyBy::Queue => named_holder(facts.queue_of(kernel.queue.as_deref(), owner.project)),
        OccupancyBy::Agent => CapacityHolder { name: agent.map(str::to_owned), id: None },
    }
}
