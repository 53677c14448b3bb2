//! A plan that needs no server: the request of the stateless endpoint and of the command line.

use std::collections::HashSet;

use serde::Deserialize;
use utoipa::ToSchema;

use super::input::{
    MAX_AGENTS, MAX_CHOICES, MAX_RUNNING_MEMBERS, PendingGang, ReclaimAgent, ReclaimInput, RunningMember,
    RunningWorkload, first_parts,
};
use super::observe::observed_tree;
use super::outcome::ReclaimPlan;
use super::plan::plan;
use super::settings::ReclaimOptions;
use crate::division::{DivisionResult, DivisionTrace, lint};
use crate::fault::{Fault, MAX_FAULTS};
use crate::maps::FastMap;
use crate::names::check_name;
use crate::queues::{MAX_QUEUES, QueueSpec};
use crate::reading::{at_most, at_most_if_any};
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// A snapshot with the workload that wants to run in it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "algorithm": "quota_over_quota", "options": {}, "capacity": {"gpu": 4},
    "queues": [{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 2}}],
    "running": [{"workload_id": "w1", "queue": "b", "priority": 0, "preemptible": true, "gang_min": 2, "members": [
        {"kernel_id": "k1", "slots": {"gpu": 2}}, {"kernel_id": "k2", "slots": {"gpu": 1}}, {"kernel_id": "k3", "slots": {"gpu": 1}}
    ]}],
    "pending": {"workload_id": "w2", "queue": "a", "priority": 0, "preemptible": true, "members": [{"slots": {"gpu": 1}}]}
}))]
pub struct ReclaimSimulation {
    pub capacity: SlotAmounts,
    #[schema(schema_with = crate::schemas::algorithm)]
    pub algorithm: String,
    #[serde(default)]
    pub options: ReclaimOptions,
    #[serde(deserialize_with = "at_most::<MAX_QUEUES, _, _>")]
    #[schema(max_items = 100_000)]
    pub queues: Vec<QueueSpec>,
    /// Absent: only totals count.
    #[serde(default, deserialize_with = "at_most_if_any::<MAX_AGENTS, _, _>")]
    #[schema(max_items = 50_000)]
    pub agents: Option<Vec<ReclaimAgent>>,
    #[serde(deserialize_with = "at_most::<MAX_RUNNING_MEMBERS, _, _>")]
    #[schema(max_items = 500_000)]
    pub running: Vec<RunningWorkload>,
    pub pending: PendingGang,
    /// The moment of the plan, for minimum runtimes; absent: now.
    #[serde(default)]
    pub now: Option<Timestamp>,
}

impl ReclaimSimulation {
    /// Divides and plans. Every fault of the input names its place.
    pub fn run(self, clock: Timestamp) -> Result<ReclaimPlan, Vec<Fault>> {
        let mut faults = self.faults();
        let algorithm = self.options.check(&self.algorithm);
        let tree = observed_tree(&self.queues, &self.capacity, &self.running, Some(&self.pending));
        let (algorithm, tree) = match (algorithm, tree) {
            (Ok(algorithm), Ok(tree)) if faults.is_empty() => (algorithm, tree),
            (algorithm, tree) => {
                let others = [algorithm.err().unwrap_or_default(), tree.err().unwrap_or_default()].concat();
                faults.splice(0..0, others);
                faults.truncate(MAX_FAULTS);
                return Err(faults);
            }
        };
        let ReclaimOptions { division: options, plan: plan_options } = &self.options;
        let DivisionResult { fair_share, warnings, .. } = algorithm.divide(&tree, options, &mut DivisionTrace::off());
        let mut plan = plan(&ReclaimInput {
            tree: &tree,
            fair_share: &fair_share,
            running: &self.running,
            pending: &self.pending,
            agents: self.agents.as_deref(),
            options: plan_options,
            now: self.now.unwrap_or(clock),
        })?;
        plan.warnings = [lint(&tree, algorithm, options), warnings, plan.warnings].concat();
        Ok(plan)
    }

    fn faults(&self) -> Vec<Fault> {
        let agents = self.agents.as_deref().unwrap_or_default();
        let mut faults = Vec::new();
        let mut limit = |pointer: &str, count: usize, most: usize, what: &str| {
            if count > most {
                let detail = format!("the request has {count} {what}; at most {most} can be planned with");
                faults.push(Fault::new(pointer, "too_many", detail));
            }
        };
        let kinds: HashSet<_> = self.pending.members.iter().map(|m| (&m.slots, &m.labels)).collect();
        let members = self.running.iter().map(|w| w.members.len()).sum();
        limit("/running", members, MAX_RUNNING_MEMBERS, "running members");
        limit("/pending/members", kinds.len() * agents.len(), MAX_CHOICES, "pairs of a kind of member and an agent");
        let agent_ids =
            agents.iter().enumerate().map(|(at, a)| (&*a.agent_id, move || format!("/agents/{at}/agent_id")));
        find_duplicates(agent_ids, &mut faults);
        find_duplicates_in_running(self.running.iter().map(|w| (&*w.workload_id, &*w.members)), &mut faults);
        faults.extend(self.wrong_names().take(MAX_FAULTS.saturating_sub(faults.len())));
        faults
    }

    /// Faults for names of agents that are not allowed as names.
    fn wrong_names(&self) -> impl Iterator<Item = Fault> {
        let wrong = |name: &str| check_name(name).err();
        let fault = |error, place: String| Fault::about(place, "invalid_name", error);
        let agents = self.agents.iter().flatten().enumerate();
        let members =
            self.running.iter().enumerate().flat_map(|(at, w)| w.members.iter().enumerate().map(move |m| (at, m)));
        let of_agents =
            agents.filter_map(move |(at, a)| Some(fault(wrong(&a.agent_id)?, format!("/agents/{at}/agent_id"))));
        let of_members = members.filter_map(move |(at, (member, m))| {
            Some(fault(wrong(m.agent_id.as_deref()?)?, format!("/running/{at}/members/{member}/agent_id")))
        });
        of_agents.chain(of_members)
    }
}

/// Adds a fault for every running workload that is listed again, and for every kernel that is. Further parts of a kernel on several
/// agents are no repetition. Each workload is given as its id and its members.
pub fn find_duplicates_in_running<'a>(
    workloads: impl Iterator<Item = (&'a str, &'a [RunningMember])> + Clone,
    faults: &mut Vec<Fault>,
) {
    let ids = workloads.clone().enumerate();
    find_duplicates(ids.map(|(at, (id, _))| (id, move || format!("/running/{at}/workload_id"))), faults);
    let kernels = workloads.enumerate().flat_map(|(at, (_, members))| {
        let pointer = move |member: usize| move || format!("/running/{at}/members/{member}/kernel_id");
        first_parts(members).map(move |(member, m)| (&*m.kernel_id, pointer(member)))
    });
    find_duplicates(kernels, faults);
}

/// Adds a fault for every name that occurs again, at the place of the repetition.
pub fn find_duplicates<'a, P: Fn() -> String>(ids: impl Iterator<Item = (&'a str, P)>, faults: &mut Vec<Fault>) {
    let mut seen: FastMap<&str, P> = FastMap::default();
    for (id, pointer) in ids {
        if faults.len() >= MAX_FAULTS {
            return;
        }
        if let Some(first) = seen.get(id) {
            let detail = format!("the id {id:?} is named twice, first at {}", first());
            faults.push(Fault::new(pointer(), "duplicate_id", detail));
        } else {
            seen.insert(id, pointer);
        }
    }
}
