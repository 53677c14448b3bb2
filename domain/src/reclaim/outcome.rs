//! The result of a plan. The JSON keys are those of the stateless answers.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::choices::choices;
use crate::decimal::Amount;
use crate::division::{DivisionWarning, Fraction, QueueAllocation};
use crate::slots::{SlotAmounts, SlotMap};

choices! {
    pub enum ReclaimVerdict {
        Fits = "fits", "It fits: no workload has to give anything back.";
        Reclaim = "reclaim", "It can run once these workloads have given back what they hold.";
        Preempt = "preempt", "It can run once these workloads of its own queue have given way.";
        Refused = "refused", "It cannot run now, no matter which workloads give back.";
        SearchExhausted = "search_exhausted", "The search ended before it found a plan; there may be one.";
    }
}

choices! {
    /// Why a victim was not taken, or the workload not served (DIVISION §6.8).
    #[derive(PartialOrd, Ord, Hash)]
    pub enum ReclaimRule {
        GateFairShare = "gate_fair_share", "The queue would have more than its fair share.";
        GateQuota = "gate_quota", "Work that cannot be preempted would go beyond the quota.";
        Limit = "limit", "It would go beyond the limit.";
        Strategy = "strategy", "This queue is not above what it may keep.";
        Saturation = "saturation", "This queue would be left with less of its fair share than the one that asks.";
        NonPreemptible = "non_preemptible", "This workload cannot be preempted.";
        Critical = "critical", "This workload is critical.";
        Gang = "gang", "The gang needs all of its members that run.";
        MinRuntime = "min_runtime", "It has not run for its minimum runtime yet.";
        NotReclaimable = "not_reclaimable", "The queue gives nothing back.";
        Placement = "placement", "No node could offer enough room, or the room is split over several nodes.";
        NoCandidate = "no_candidate", "No workload runs that could give something back.";
    }
}

/// One victim unit: a surplus member or a gang's core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Victim {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[schema(value_type = Vec<String>)]
    pub kernel_ids: Vec<Arc<str>>,
    #[schema(value_type = String)]
    pub queue: Arc<str>,
    /// The rule that allowed it: `fair_share`, `quota`, `priority`, or the plug-ins that agreed.
    pub rule: String,
    /// The queue that was compared with the reclaimer's.
    #[schema(value_type = String)]
    pub level: Arc<str>,
    /// The slot on which that queue was above its share.
    pub slot: Option<&'static str>,
}

/// Ratios are rounded so that the rule that forbade holds on the printed figures as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct EvictionRefusal {
    /// Absent: said of the pending workload itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub workload_id: Option<Arc<str>>,
    #[schema(value_type = String)]
    pub queue: Arc<str>,
    pub rule: ReclaimRule,
    #[schema(value_type = Option<String>)]
    pub level: Option<Arc<str>>,
    pub slot: Option<&'static str>,
    /// The amount that the reclaimer's side would hold / the amount that the rule lets it hold; `inf` if the rule lets
    /// it hold nothing.
    pub reclaimer_ratio: Option<String>,
    /// The amount that the victim's side, or the queue at `level`, holds / the amount that the rule lets it keep.
    pub victim_ratio: Option<String>,
}

/// Where a member of the pending workload may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Placement)]
pub struct PlacedMember {
    /// Its place in the list of members.
    pub member: usize,
    #[schema(value_type = String)]
    pub agent_id: Arc<str>,
}

/// A queue's figures before or after the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = QueueFigures)]
pub struct PlanFigures {
    #[schema(value_type = String)]
    pub queue: Arc<str>,
    pub allocated: SlotAmounts,
    pub fair_share: SlotAmounts,
    #[schema(value_type = std::collections::BTreeMap<String, Fraction>)]
    pub saturation_ratio: SlotMap<Fraction>,
}

impl PlanFigures {
    pub fn of(position: &QueueAllocation) -> Self {
        let tree = position.tree;
        let slots = tree.slots.iter().copied().enumerate();
        Self {
            queue: tree.queues[position.queue].name.clone(),
            allocated: tree.amounts(position.allocated),
            fair_share: tree.amounts(position.fair_share),
            saturation_ratio: slots.map(|(column, slot)| (slot, position.saturation(column))).collect(),
        }
    }
}

/// The verdict on a reclaim, and the victims that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "verdict": "reclaim",
    "victims": [{"workload_id": "w1", "kernel_ids": ["k3"], "queue": "b", "rule": "fair_share", "level": "b", "slot": "gpu"}],
    "refusals": [],
    "before": [
        {"queue": "a", "allocated": {"gpu": "0"}, "fair_share": {"gpu": "1"}, "saturation_ratio": {"gpu": "0"}},
        {
            "queue": "b", "allocated": {"gpu": "4"}, "fair_share": {"gpu": "3"},
            "saturation_ratio": {"gpu": "1.333333333333"}
        }
    ],
    "after": [
        {"queue": "a", "allocated": {"gpu": "1"}, "fair_share": {"gpu": "1"}, "saturation_ratio": {"gpu": "1"}},
        {"queue": "b", "allocated": {"gpu": "3"}, "fair_share": {"gpu": "3"}, "saturation_ratio": {"gpu": "1"}}
    ],
    "disruption_ratio": "1", "warnings": []
}))]
pub struct ReclaimPlan {
    pub verdict: ReclaimVerdict,
    pub victims: Vec<Victim>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Vec<PlacedMember>>,
    pub refusals: Vec<EvictionRefusal>,
    pub before: Vec<PlanFigures>,
    pub after: Vec<PlanFigures>,
    /// Evicted / requested, the largest over the slots asked for.
    pub disruption_ratio: Amount,
    pub warnings: Vec<DivisionWarning>,
}
