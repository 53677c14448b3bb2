//! The cluster of a request, in plain numbers.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cycle::world::{expanded, list};

/// By name, because the first slot by name is named where two are as scarce.
pub const SLOTS: [&str; 2] = ["cpu", "gpu"];
/// The end of a workload that never ends.
pub const NEVER: i64 = i64::MAX;

/// By slot.
pub type Amounts = [i64; SLOTS.len()];
pub type LabelMap = BTreeMap<String, String>;

pub struct NaiveAgent {
    pub id: String,
    pub total: Amounts,
    /// With `agent_id`.
    pub labels: LabelMap,
    pub schedulable: bool,
    /// The effects of its taints, all with the same key.
    pub taints: Vec<String>,
}

pub struct QueueBounds {
    pub parent: Option<String>,
    /// A slot without a limit has none.
    pub limit: [Option<i64>; SLOTS.len()],
    /// 0 for a slot without a quota.
    pub quota: Amounts,
}

/// Members that carry all labels, in the domain of a label of agents.
#[derive(Clone)]
pub struct NearTerm {
    pub labels: LabelMap,
    pub topology_key: String,
}

impl NearTerm {
    pub fn matches(&self, labels: &LabelMap) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

/// A member that holds room on an agent.
#[derive(Clone)]
pub struct OccupiedSeat {
    pub workload: String,
    pub queue: String,
    pub preemptible: bool,
    pub slots: Amounts,
    pub agent: usize,
    /// Seconds from now, or [`NEVER`].
    pub end: i64,
    pub labels: LabelMap,
    pub against: Vec<NearTerm>,
}

pub struct WaitingMember {
    pub number: usize,
    pub slots: Amounts,
    pub labels: LabelMap,
}

impl WaitingMember {
    pub fn is_like(&self, other: &Self) -> bool {
        (self.slots, &self.labels) == (other.slots, &other.labels)
    }
}

pub struct WaitingWorkload {
    pub id: String,
    pub queue: String,
    pub preemptible: bool,
    /// Members that have to run together, with those that run already.
    pub gang: usize,
    pub running: usize,
    /// How many of its waiting members may start.
    pub most: usize,
    pub seconds: Option<i64>,
    /// In task order.
    pub members: Vec<WaitingMember>,
    pub labels: LabelMap,
    /// Labels of agents with the values that are admitted.
    pub agents: Vec<(String, Vec<String>)>,
    pub tolerates: bool,
    pub with: Vec<NearTerm>,
    pub against: Vec<NearTerm>,
    pub max_per_agent: Option<usize>,
}

impl WaitingWorkload {
    /// How many members its minimum still needs before anything starts; at least one.
    pub fn minimum(&self) -> usize {
        self.gang.saturating_sub(self.running).max(1)
    }

    pub fn asks_for_nothing(&self) -> bool {
        self.members.iter().all(|member| member.slots == [0, 0])
    }
}

pub struct NaiveCluster {
    pub capacity: Amounts,
    /// By id.
    pub nodes: Vec<NaiveAgent>,
    pub queues: BTreeMap<String, QueueBounds>,
    pub running: Vec<OccupiedSeat>,
    /// In the group's own order.
    pub workloads: Vec<WaitingWorkload>,
    pub backfill: String,
}

impl NaiveCluster {
    pub fn read(document: &Value) -> Self {
        let nodes: Vec<NaiveAgent> = list(&document["agents"]).iter().map(node).collect();
        let running = list(&document["running"]).iter().flat_map(|workload| seats(workload, &nodes)).collect();
        let mut pending = expanded(document);
        pending.sort_by_key(order_key);
        Self {
            capacity: amounts(&document["capacity"]),
            nodes,
            queues: list(&document["queues"]).iter().map(queue).collect(),
            workloads: pending.iter().map(|workload| waiting(workload, &list(&document["running"]))).collect(),
            running,
            backfill: text(&document["cycle"]["backfill"]),
        }
    }

    /// The queue and those above it.
    pub fn ancestry(&self, queue: &str) -> Vec<&str> {
        let first = self.queues.get_key_value(queue).map(|(name, _)| name.as_str());
        std::iter::successors(first, |name| self.queues[*name].parent.as_deref()).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn size(value: &Value) -> Option<usize> {
    value.as_u64().map(|value| usize::try_from(value).unwrap())
}

fn amounts(value: &Value) -> Amounts {
    SLOTS.map(|slot| value[slot].as_i64().unwrap_or(0))
}

fn labels(value: &Value) -> LabelMap {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
}

fn near_terms(value: &Value) -> Vec<NearTerm> {
    let term = |term: &Value| NearTerm { labels: labels(&term["labels"]), topology_key: text(&term["topology_key"]) };
    list(value).iter().map(term).collect()
}

fn node(agent: &Value) -> NaiveAgent {
    let mut labels = labels(&agent["labels"]);
    labels.insert("agent_id".to_owned(), text(&agent["agent_id"]));
    NaiveAgent {
        id: text(&agent["agent_id"]),
        total: amounts(&agent["available_slots"]),
        labels,
        schedulable: agent["schedulable"].as_bool().unwrap_or(true),
        taints: list(&agent["taints"]).iter().map(|taint| text(&taint["effect"])).collect(),
    }
}

fn queue(queue: &Value) -> (String, QueueBounds) {
    let limit = SLOTS.map(|slot| queue["limit"][slot].as_i64());
    let mut quota = amounts(&queue["quota"]);
    for (quota, limit) in quota.iter_mut().zip(limit) {
        *quota = limit.map_or(*quota, |limit| limit.min(*quota));
    }
    (text(&queue["name"]), QueueBounds { parent: queue["parent"].as_str().map(str::to_owned), limit, quota })
}

fn seats(workload: &Value, nodes: &[NaiveAgent]) -> Vec<OccupiedSeat> {
    let seat = |member: &Value| OccupiedSeat {
        workload: text(&workload["workload_id"]),
        queue: text(&workload["queue"]),
        preemptible: workload["preemptible"].as_bool().unwrap_or(true),
        slots: amounts(&member["slots"]),
        agent: nodes.iter().position(|node| member["agent_id"] == node.id.as_str()).unwrap(),
        // All of them have started now.
        end: workload["expected_seconds"].as_i64().unwrap_or(NEVER),
        labels: labels(&workload["labels"]),
        against: near_terms(&workload["affinity"]["against"]),
    };
    list(&workload["members"]).iter().map(seat).collect()
}

/// The place in the order: position, priority, submission, id.
fn order_key(workload: &Value) -> (bool, i64, i64, bool, String, String) {
    let submitted = workload["submitted_at"].as_str().unwrap_or_default().to_owned();
    let position = workload["position"].as_i64();
    let priority = -workload["priority"].as_i64().unwrap_or(0);
    (
        position.is_none(),
        position.unwrap_or(0),
        priority,
        submitted.is_empty(),
        submitted,
        text(&workload["workload_id"]),
    )
}

fn waiting(workload: &Value, running: &[Value]) -> WaitingWorkload {
    let same = running.iter().find(|other| other["workload_id"] == workload["workload_id"]);
    let running = same.map_or(0, |same| list(&same["members"]).len());
    let mut members: Vec<(usize, Value)> = list(&workload["members"]).into_iter().enumerate().collect();
    members.sort_by_key(|(_, member)| -member["priority"].as_i64().unwrap_or(0));
    let member = |(number, member): &(usize, Value)| WaitingMember {
        number: *number,
        slots: amounts(&member["slots"]),
        labels: labels(&member["labels"]),
    };
    let count = members.len();
    let affinity = &workload["affinity"];
    WaitingWorkload {
        id: text(&workload["workload_id"]),
        queue: text(&workload["queue"]),
        preemptible: workload["preemptible"].as_bool().unwrap_or(true),
        gang: size(&workload["gang_min"]).map_or(count + running, |minimum| minimum.max(1)),
        running,
        most: size(&workload["parallel_limit"]).map_or(count, |limit| count.min(limit.saturating_sub(running))),
        seconds: workload["expected_seconds"].as_i64(),
        members: members.iter().map(member).collect(),
        labels: labels(&workload["labels"]),
        agents: list(&affinity["agents"])
            .iter()
            .map(|one| (text(&one["key"]), list(&one["values"]).iter().map(text).collect()))
            .collect(),
        tolerates: !list(&workload["tolerations"]).is_empty(),
        with: near_terms(&affinity["with"]),
        against: near_terms(&affinity["against"]),
        max_per_agent: size(&workload["max_per_agent"]),
    }
}
