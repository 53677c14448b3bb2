//! The workloads and agents of a cycle as the request gives them. Names and ranges are checked later, all at once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::cycle::shapes::AgentRules;
use crate::defaults::default_true;
use crate::placement_rules::{Affinity, Labels, Taint, Toleration};
use crate::reading::at_most;
use crate::reclaim::RunningMember;
use crate::reclaim::input::MAX_RUNNING_MEMBERS;
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// The largest number of pending members of a request, counts expanded. It bounds the time and the answer of a cycle.
pub const MAX_PENDING_MEMBERS: usize = 1_000_000;

/// The owner of a workload. Without `queue` the workload counts for the queue called after its project, else after its
/// domain, else for `default`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkloadOwner {
    pub domain: Option<String>,
    pub project: Option<String>,
    pub user: Option<String>,
}

/// A workload of which members wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CyclePending {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub queue: Option<Arc<str>>,
    #[serde(default)]
    pub owner: WorkloadOwner,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "default_true")]
    pub preemptible: bool,
    /// `created_at` is another name of it.
    #[serde(default, alias = "created_at")]
    pub submitted_at: Option<Timestamp>,
    /// 1 to 31,536,000; absent: it never ends.
    #[serde(default)]
    pub expected_seconds: Option<i64>,
    /// The place in the group's own order; absent: after all that have one.
    #[serde(default)]
    pub position: Option<i64>,
    /// How many members have to run together, running ones included; absent: all.
    #[serde(default)]
    pub gang_min: Option<i64>,
    /// How many members run at the same time at most, running ones included.
    #[serde(default)]
    pub parallel_limit: Option<i64>,
    /// The labels of the workload itself, which affinity of others looks at.
    #[serde(default)]
    pub labels: Labels,
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
    #[serde(default)]
    pub affinity: Affinity,
    #[serde(default)]
    pub max_per_agent: Option<i64>,
    #[serde(deserialize_with = "at_most::<MAX_PENDING_MEMBERS, _, _>")]
    #[schema(max_items = 1_000_000)]
    pub members: Vec<MemberTemplate>,
}

const fn one() -> i64 {
    1
}

/// Equal members of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberTemplate {
    #[schema(schema_with = crate::schemas::quantities)]
    pub slots: SlotAmounts,
    /// 1 to 1,000,000 equal members.
    #[serde(default = "one")]
    pub count: i64,
    #[serde(default)]
    pub priority: i32,
    /// Labels that the agent must carry.
    #[serde(default)]
    pub labels: Labels,
}

/// A running workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CycleRunning {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub queue: Option<Arc<str>>,
    #[serde(default)]
    pub owner: WorkloadOwner,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "default_true")]
    pub preemptible: bool,
    #[serde(default)]
    pub critical: bool,
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Its last start; unknown: it is not protected by a minimum runtime and never ends.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// 1 to 31,536,000, counted from `started_at`.
    #[serde(default)]
    pub expected_seconds: Option<i64>,
    /// Absent: all members.
    #[serde(default)]
    pub gang_min: Option<u32>,
    #[serde(default)]
    pub labels: Labels,
    /// Only `against` matters for what runs already.
    #[serde(default)]
    pub affinity: Affinity,
    #[serde(deserialize_with = "at_most::<MAX_RUNNING_MEMBERS, _, _>")]
    #[schema(max_items = 500_000)]
    pub members: Vec<RunningMember>,
}

/// An agent with its total, its labels and its taints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CycleAgent {
    #[schema(value_type = String)]
    pub agent_id: Arc<str>,
    /// The total of the node, used or not.
    pub available_slots: SlotAmounts,
    /// `agent_id` is a label of each agent.
    #[serde(default)]
    pub labels: Labels,
    #[serde(default = "default_true")]
    pub schedulable: bool,
    #[serde(default)]
    pub taints: Vec<Taint>,
}

impl CycleAgent {
    pub(crate) fn rules(&self) -> AgentRules<'_> {
        AgentRules { labels: &self.labels, taints: &self.taints, schedulable: self.schedulable }
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}
