//! What a plan is made from. The JSON keys are those of the stateless shapes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::decimal::Amount;
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;

/// A running workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    pub workload_id: Arc<str>,
    pub queue: Arc<str>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "yes")]
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
    pub members: Vec<RunningMember>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunningMember {
    pub kernel_id: Arc<str>,
    pub slots: Amounts,
    #[serde(default)]
    pub agent_id: Option<Arc<str>>,
}

/// The workload that wants to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    pub workload_id: Arc<str>,
    pub queue: Arc<str>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "yes")]
    pub preemptible: bool,
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Absent: all members. Victims are sought for so many members; the others wait for room.
    #[serde(default)]
    pub gang_min: Option<u32>,
    pub members: Vec<PendingMember>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingMember {
    pub slots: Amounts,
    /// Labels that its agent must carry.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    pub agent_id: Arc<str>,
    /// The total of the node, used or not.
    pub available_slots: Amounts,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default = "yes")]
    pub schedulable: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyName {
    #[default]
    Strategies,
    Plugins,
}

/// KAI's reasons to take a victim, in the order in which they are tried (§6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    FairShare,
    Quota,
}

/// Whether workloads are packed on few agents or spread over many (§6.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeOrder {
    #[default]
    Pack,
    Spread,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanOptions {
    pub policy: PolicyName,
    /// Plug-in names of `policy: plugins`, by tier.
    pub tiers: Vec<Vec<String>>,
    pub strategies: Vec<Strategy>,
    /// At least 1; a smaller one is raised (§6.3).
    pub reclaimer_utilization_multiplier: Amount,
    pub node_order: NodeOrder,
    /// How long a search may be. Counted in steps, so that the same input always ends in the same way.
    pub search_budget_ms: u64,
}

impl Default for PlanOptions {
    fn default() -> Self {
        let tier = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        Self {
            policy: PolicyName::default(),
            tiers: vec![
                tier(&["priority", "gang", "conformance"]),
                tier(&["drf", "proportion", "predicates", "node_order"]),
            ],
            strategies: vec![Strategy::FairShare, Strategy::Quota],
            reclaimer_utilization_multiplier: Amount::whole(1),
            node_order: NodeOrder::default(),
            search_budget_ms: 1000,
        }
    }
}

impl PlanOptions {
    /// The keys of the options, for shapes that carry others besides.
    pub const KEYS: [&str; 6] =
        ["policy", "tiers", "strategies", "reclaimer_utilization_multiplier", "node_order", "search_budget_ms"];
}
