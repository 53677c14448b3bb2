//! The input of a plan. The JSON keys are those of the stateless requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::plan_options::PlanOptions;
use crate::decimal::Amount;
use crate::defaults::default_true;
use crate::division::{QueueSlotGrid, QueueTree};
use crate::reading::at_most;
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// A snapshot of a group and the workload that should run in it.
pub struct ReclaimInput<'a> {
    pub tree: &'a QueueTree,
    /// The fair share by queue and slot, of any algorithm.
    pub fair_share: &'a QueueSlotGrid<Amount>,
    pub running: &'a [RunningWorkload],
    pub pending: &'a PendingGang,
    /// Absent: only totals count.
    pub agents: Option<&'a [ReclaimAgent]>,
    pub options: &'a PlanOptions,
    pub now: Timestamp,
}

/// The largest number of running members, which is above any real cluster. It bounds the memory that a request can use.
pub const MAX_RUNNING_MEMBERS: usize = 500_000;
const MAX_PENDING_MEMBERS: usize = 20_000;
/// The largest number of agents, which is above any real cluster. It bounds the memory that a request can use.
pub const MAX_AGENTS: usize = 50_000;
/// The largest product of agents and kinds of pending members. It bounds the time in which they are compared.
pub const MAX_CHOICES: usize = 10_000_000;

/// A running workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunningWorkload {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[schema(value_type = String)]
    pub queue: Arc<str>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "default_true")]
    pub preemptible: bool,
    #[serde(default)]
    pub critical: bool,
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Its last start; unknown: it is not protected by a minimum runtime.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// Absent: all members.
    #[serde(default)]
    pub gang_min: Option<u32>,
    #[serde(deserialize_with = "at_most::<MAX_RUNNING_MEMBERS, _, _>")]
    #[schema(max_items = 500_000)]
    pub members: Vec<RunningMember>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunningMember {
    #[schema(value_type = String)]
    pub kernel_id: Arc<str>,
    #[schema(schema_with = crate::schemas::quantities)]
    pub slots: SlotAmounts,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub agent_id: Option<Arc<str>>,
}

impl RunningMember {
    /// True if it is a further part of the kernel of the member `before` it: the same kernel on another agent.
    fn continues(&self, before: &Self) -> bool {
        self.kernel_id == before.kernel_id
            && self.agent_id.is_some()
            && before.agent_id.is_some()
            && self.agent_id != before.agent_id
    }
}

/// For each member, true if it is the first part of its kernel. The further parts of a kernel over several agents follow it.
pub fn begin_kernels(members: &[RunningMember]) -> impl Iterator<Item = bool> + '_ {
    let before = std::iter::once(None).chain(members.iter().map(Some));
    members.iter().zip(before).map(|(member, before)| before.is_none_or(|before| !member.continues(before)))
}

/// The number of kernels that the members are parts of.
pub fn count_kernels(members: &[RunningMember]) -> usize {
    begin_kernels(members).filter(|begins| *begins).count()
}

/// The first part of each kernel, with its place among the members.
pub fn first_parts(members: &[RunningMember]) -> impl Iterator<Item = (usize, &RunningMember)> {
    members.iter().enumerate().zip(begin_kernels(members)).filter_map(|(first, begins)| begins.then_some(first))
}

/// The workload that wants to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PendingGang {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[schema(value_type = String)]
    pub queue: Arc<str>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "default_true")]
    pub preemptible: bool,
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// The number of members that victims are sought for; the other members wait for free capacity. Absent: all
    /// members.
    #[serde(default)]
    pub gang_min: Option<u32>,
    #[serde(deserialize_with = "at_most::<MAX_PENDING_MEMBERS, _, _>")]
    #[schema(max_items = 20_000)]
    pub members: Vec<PendingMember>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PendingMember {
    #[schema(schema_with = crate::schemas::quantities)]
    pub slots: SlotAmounts,
    /// Labels that its agent must carry.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReclaimAgent {
    #[schema(value_type = String)]
    pub agent_id: Arc<str>,
    /// The total of the node, used or not.
    pub available_slots: SlotAmounts,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default = "default_true")]
    pub schedulable: bool,
}
