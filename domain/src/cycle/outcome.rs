//! The answer of a cycle (CYCLE §2). The JSON keys are those of the stateless answers.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::workload_shares::WorkloadShare;
use crate::choices::choices;
use crate::decimal::Amount;
use crate::division::DivisionWarning;
use crate::reclaim::{PlanFigures, ReclaimRule, Victim};
use crate::slots::SlotAmounts;

/// The answer of a cycle: what starts now and where, what has to be evicted for it, and why the rest waits.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(example = json!({
    "starts": [
        {"workload_id": "w2", "queue": "a", "position": 1, "action": "allocate", "surplus": false,
         "members": [{"member": 0, "agent_id": "n1"}]}
    ],
    "evictions": [],
    "waiting": [
        {"workload_id": "w2", "queue": "a", "position": 1, "members": 2, "started": true, "reason": "no_room",
         "details": {"slot": "gpu", "asked": "1", "most_free": "0", "free": "0"}, "blocked_by": []},
        {"workload_id": "w1", "queue": "b", "position": 2, "members": 1, "started": false, "reason": "no_room",
         "details": {"slot": "gpu", "asked": "1", "most_free": "0", "free": "0"}, "blocked_by": []}
    ],
    "before": [
        {"queue": "a", "allocated": {"gpu": "0"}, "fair_share": {"gpu": "2"}, "saturation_ratio": {"gpu": "0"}},
        {"queue": "b", "allocated": {"gpu": "3"}, "fair_share": {"gpu": "2"}, "saturation_ratio": {"gpu": "1.5"}}
    ],
    "after": [
        {"queue": "a", "allocated": {"gpu": "1"}, "fair_share": {"gpu": "2"}, "saturation_ratio": {"gpu": "0.5"}},
        {"queue": "b", "allocated": {"gpu": "3"}, "fair_share": {"gpu": "2"}, "saturation_ratio": {"gpu": "1.5"}}
    ],
    "warnings": []
}))]
pub struct CycleAnswer {
    /// In the order in which they were decided.
    pub starts: Vec<CycleStart>,
    pub evictions: Vec<CycleEviction>,
    /// Every workload of which members wait: first those with a position, then those that can never start.
    pub waiting: Vec<CycleWaiting>,
    /// The figures of every queue, by name.
    pub before: Vec<CycleFigures>,
    pub after: Vec<CycleFigures>,
    pub warnings: Vec<DivisionWarning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<TraceStep>>,
}

/// A queue's figures before or after the cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CycleFigures {
    #[serde(flatten)]
    pub figures: PlanFigures,
    /// The shares of its workloads, under `min_share` with `leaves: "workloads"` only. They are divided once, before the first
    /// start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub workloads: Option<Vec<WorkloadShare>>,
}

/// Members of one workload that start together: its minimum, or one member above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CycleStart)]
pub struct CycleStart {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[schema(value_type = String)]
    pub queue: Arc<str>,
    pub position: usize,
    /// `allocate`, `backfill`, `reclaim` or `preempt`.
    pub action: &'static str,
    /// True for a member above the minimum.
    pub surplus: bool,
    pub members: Vec<MemberPlacement>,
}

/// A member and its agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CycleMember)]
pub struct MemberPlacement {
    /// Its number in the list of the request, from 0, counts expanded.
    pub member: usize,
    /// Null where the request has no agents.
    #[schema(value_type = Option<String>)]
    pub agent_id: Option<Arc<str>>,
    /// The kernel that was reported for the member; only in plans of a live group.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub kernel_id: Option<String>,
}

/// A victim, and the workload for which it is evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CycleEviction)]
pub struct CycleEviction {
    #[serde(flatten)]
    pub victim: Victim,
    /// `reclaim` or `preempt`.
    pub action: &'static str,
    #[serde(rename = "for")]
    #[schema(value_type = String)]
    pub beneficiary: Arc<str>,
}

/// Why members of a workload wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CycleWaiting)]
pub struct CycleWaiting {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[schema(value_type = String)]
    pub queue: Arc<str>,
    /// Null: it can never start as things are.
    pub position: Option<usize>,
    /// How many members wait.
    pub members: usize,
    /// True if the minimum runs.
    pub started: bool,
    pub reason: WaitReason,
    pub details: WaitDetails,
    /// The workloads that are in the way.
    #[schema(value_type = Vec<String>)]
    pub blocked_by: Vec<Arc<str>>,
    /// The time at which the reserved workload can start, in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_at: Option<String>,
}

choices! {
    /// The reasons why a workload waits.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum WaitReason {
        TooLarge = "too_large", "It asks for more than the group, each agent or its queue's limit ever has.";
        NoRoom = "no_room", "No agent has room now.";
        Gang = "gang", "Fewer members fit, or are reported, than have to start together.";
        QueueLimit = "queue_limit", "A limit of its queue, or of one above, is reached.";
        QueueShare = "queue_share", "Its queue has its share, while others below theirs wait.";
        QuotaNonPreemptible = "quota_non_preemptible", "It may not be evicted, and the quota for such work is used.";
        Predicates = "predicates", "No agent admits it.";
        Behind = "behind", "A workload ahead of it does not fit, and the order is strict.";
        Reserved = "reserved", "It would delay the workload with the reservation.";
        ReclaimRefused = "reclaim_refused", "It deserves more, and no lawful set of victims exists.";
        Depth = "depth", "The cycle did not look that far.";
        Budget = "budget", "The search for victims ended with its budget.";
    }
}

/// An amount of one slot, or amounts by slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum HeldAmounts {
    One(Amount),
    BySlot(SlotAmounts),
}

/// The figures of a reason. Amounts and counts that are compared are texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum WaitDetails {
    TooLarge {
        /// `agent`, `group`, `queue` or `members`.
        scope: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        slot: Option<&'static str>,
        asked: Amount,
        most: Amount,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<String>)]
        queue: Option<Arc<str>>,
    },
    NoRoom {
        slot: Option<&'static str>,
        /// By one member.
        asked: Amount,
        /// On one agent.
        most_free: Amount,
        /// On all agents that pass the predicates.
        free: Amount,
    },
    Gang {
        fit: usize,
        /// The members that still have to start.
        minimum: usize,
        /// The members that are reported so far, where those are fewer than the minimum; only of a live group.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        reported: Option<usize>,
    },
    Bound {
        #[schema(value_type = String)]
        queue: Arc<str>,
        slot: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<Amount>,
        #[serde(skip_serializing_if = "Option::is_none")]
        quota: Option<Amount>,
        held: HeldAmounts,
    },
    Share {
        #[schema(value_type = String)]
        queue: Arc<str>,
        share: SlotAmounts,
        held: HeldAmounts,
    },
    Predicates(RefusingPredicates),
    Reserved {
        /// The reserved time, in whole seconds.
        until: String,
    },
    Refused {
        rule: ReclaimRule,
        #[schema(value_type = Option<String>)]
        level: Option<Arc<str>>,
        slot: Option<&'static str>,
        reclaimer_ratio: Option<String>,
        victim_ratio: Option<String>,
    },
    Nothing(NoDetails),
}

/// The predicates that refuse all agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RefusingPredicates {
    /// How many agents each predicate refuses; of several the first counts.
    #[schema(value_type = std::collections::BTreeMap<String, usize>)]
    pub refused: std::collections::BTreeMap<&'static str, usize>,
    /// The number of all agents.
    pub agents: usize,
}

/// The figures of a reason that has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoDetails {}

/// One decision of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CycleStep)]
pub struct TraceStep {
    pub action: &'static str,
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[schema(value_type = String)]
    pub queue: Arc<str>,
    pub position: usize,
    /// `started`, `surplus`, `evicted_for`, or the reason why it waits at this point.
    pub result: String,
    /// How many members start or lose their place.
    pub members: usize,
    /// The amounts that the queue held before the decision.
    pub held: SlotAmounts,
}
