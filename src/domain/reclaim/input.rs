//! What a plan is made from. The JSON keys are those of the stateless shapes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::policy::plugins::{plugin, plugin_names};
use crate::domain::decimal::Amount;
use crate::domain::defaults::yes;
use crate::domain::division::queue::MAX_WEIGHT;
use crate::domain::division::{Grid, Tree, TreeFault};
use crate::domain::reading::at_most;
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;

/// A snapshot and the workload that wants to run in it.
pub struct Input<'a> {
    pub tree: &'a Tree,
    /// By queue and slot, of whichever algorithm.
    pub fair_share: &'a Grid<Amount>,
    pub running: &'a [Workload],
    pub pending: &'a Pending,
    /// Absent: only totals count.
    pub agents: Option<&'a [Agent]>,
    pub options: &'a PlanOptions,
    pub now: Timestamp,
}

/// More of these than any cluster has are refused, as they would only use up memory.
pub(super) const MAX_RUNNING_MEMBERS: usize = 500_000;
const MAX_PENDING_MEMBERS: usize = 20_000;

/// A running workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunningWorkload)]
pub struct Workload {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[schema(value_type = String)]
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
    #[serde(deserialize_with = "at_most::<MAX_RUNNING_MEMBERS, _, _>")]
    #[schema(max_items = 500_000)]
    pub members: Vec<RunningMember>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunningMember {
    #[schema(value_type = String)]
    pub kernel_id: Arc<str>,
    pub slots: Amounts,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub agent_id: Option<Arc<str>>,
}

/// The workload that wants to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PendingGang)]
pub struct Pending {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    #[schema(value_type = String)]
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
    #[serde(deserialize_with = "at_most::<MAX_PENDING_MEMBERS, _, _>")]
    #[schema(max_items = 20_000)]
    pub members: Vec<PendingMember>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PendingMember {
    pub slots: Amounts,
    /// Labels that its agent must carry.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReclaimAgent)]
pub struct Agent {
    #[schema(value_type = String)]
    pub agent_id: Arc<str>,
    /// The total of the node, used or not.
    pub available_slots: Amounts,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default = "yes")]
    pub schedulable: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReclaimPolicy)]
pub enum PolicyName {
    #[default]
    Strategies,
    Plugins,
}

/// KAI's reasons to take a victim, in the order in which they are tried (§6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReclaimStrategy)]
pub enum Strategy {
    FairShare,
    Quota,
}

/// Whether workloads are packed on few agents or spread over many (§6.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeOrder {
    #[default]
    Pack,
    Spread,
}

#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The longest search, and the most plug-ins, that may be asked for.
    const MAX_BUDGET_MS: u64 = 60_000;
    const MAX_PLUGINS: usize = 100;

    /// The first option out of its range, as (key, reason).
    pub fn fault(&self) -> Option<(&'static str, String)> {
        if self.reclaimer_utilization_multiplier > MAX_WEIGHT {
            let key = "reclaimer_utilization_multiplier";
            return Some((key, format!("`{key}` must be at most {MAX_WEIGHT}")));
        }
        if self.search_budget_ms > Self::MAX_BUDGET_MS {
            return Some(("search_budget_ms", format!("`search_budget_ms` must be at most {}", Self::MAX_BUDGET_MS)));
        }
        if self.tiers.len() + self.tiers.iter().map(Vec::len).sum::<usize>() > Self::MAX_PLUGINS {
            return Some(("tiers", format!("`tiers` must name at most {} plug-ins", Self::MAX_PLUGINS)));
        }
        None
    }

    /// Names in `tiers` that no plug-in has.
    pub fn unknown_plugins(&self) -> Vec<TreeFault> {
        let mut faults = Vec::new();
        for (tier, names) in self.tiers.iter().enumerate() {
            for (at, name) in names.iter().enumerate().filter(|(_, name)| plugin(name).is_none()) {
                faults.push(TreeFault {
                    pointer: format!("/options/tiers/{tier}/{at}"),
                    code: "unknown_plugin",
                    detail: format!(
                        "there is no plug-in {name:?}; known are {}",
                        plugin_names().collect::<Vec<_>>().join(", ")
                    ),
                });
            }
        }
        faults.truncate(100);
        faults
    }
}
