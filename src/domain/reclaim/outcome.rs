//! What a plan says. The JSON keys are those of the stateless shapes.

use std::sync::Arc;

use serde::Serialize;

use crate::domain::decimal::Amount;
use crate::domain::division::{Fraction, Warning};
use crate::domain::slots::{Amounts, SlotMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Fits,
    Reclaim,
    Preempt,
    Refused,
    /// The search budget ended the search; a plan may exist.
    SearchExhausted,
}

/// Why a victim was not taken, or the workload not served (§6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    GateFairShare,
    GateQuota,
    Limit,
    Strategy,
    Saturation,
    NonPreemptible,
    Critical,
    Gang,
    MinRuntime,
    NotReclaimable,
    Placement,
    NoCandidate,
}

/// A ratio as it is printed: 12 decimals or `inf`.
pub type RatioText = String;

/// One victim unit: a surplus member or a gang's core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Victim {
    pub workload_id: Arc<str>,
    pub kernel_ids: Vec<Arc<str>>,
    pub queue: Arc<str>,
    /// What allowed it: `fair_share`, `quota`, `priority`, or the plug-ins that agreed.
    pub rule: String,
    /// The queue that was compared with the reclaimer's.
    pub level: Arc<str>,
    /// The slot on which that queue was above its share.
    pub slot: Option<&'static str>,
}

/// Ratios are rounded so that the rule that forbade holds on the printed figures as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Absent: said of the pending workload itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_id: Option<Arc<str>>,
    pub queue: Arc<str>,
    pub rule: Rule,
    pub level: Option<Arc<str>>,
    pub slot: Option<&'static str>,
    pub reclaimer_ratio: Option<RatioText>,
    pub victim_ratio: Option<RatioText>,
}

/// Where a member of the pending workload may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// Its place in the list of members.
    pub member: usize,
    pub agent_id: Arc<str>,
}

/// A queue's figures before or after the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    pub queue: Arc<str>,
    pub allocated: Amounts,
    pub fair_share: Amounts,
    pub saturation_ratio: SlotMap<Fraction>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    pub verdict: Verdict,
    pub victims: Vec<Victim>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Vec<Placed>>,
    pub refusals: Vec<Refusal>,
    pub before: Vec<Figures>,
    pub after: Vec<Figures>,
    /// Evicted / requested, the largest over the slots asked for.
    pub disruption_ratio: Amount,
    pub warnings: Vec<Warning>,
}
