//! The options of plans (DIVISION §6).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::decimal::Amount;
use crate::fault::Fault;
use crate::flat::{Part, too_large};
use crate::queues::MAX_WEIGHT;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReclaimPolicy)]
pub enum PolicyName {
    #[default]
    Strategies,
    Plugins,
}

/// KAI's reasons to take a victim, in the order in which they are tried (DIVISION §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReclaimStrategy)]
pub enum Strategy {
    FairShare,
    Quota,
}

/// The placement of workloads: packed on few agents, or spread over many (DIVISION §6.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeOrder {
    #[default]
    Pack,
    Spread,
}

/// How plans are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanOptions {
    pub policy: PolicyName,
    /// Plug-in names of `policy: plugins`, by tier.
    pub tiers: Vec<Vec<String>>,
    pub strategies: Vec<Strategy>,
    /// At least 1; a smaller one is raised.
    pub reclaimer_utilization_multiplier: Amount,
    pub node_order: NodeOrder,
    /// How long a search may be, at most 60000. Counted in steps, so that the same input always ends in the same way.
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

/// The largest search budget, in milliseconds, and the largest number of plug-ins.
const MAX_BUDGET_MS: u64 = 60_000;
const MAX_PLUGINS: usize = 100;

impl Part for PlanOptions {
    fn fault(&self) -> Option<Fault> {
        let multiplier = self.reclaimer_utilization_multiplier;
        if let Some(fault) = too_large("reclaimer_utilization_multiplier", multiplier, MAX_WEIGHT) {
            return Some(fault);
        }
        let fault = |key: &str, said: String| Some(Fault::about(format!("/{key}"), "out_of_range", said));
        if self.search_budget_ms > MAX_BUDGET_MS {
            return fault("search_budget_ms", format!("must be at most {MAX_BUDGET_MS}"));
        }
        if self.tiers.len() + self.tiers.iter().map(Vec::len).sum::<usize>() > MAX_PLUGINS {
            return fault("tiers", format!("must name at most {MAX_PLUGINS} plug-ins"));
        }
        None
    }
}
