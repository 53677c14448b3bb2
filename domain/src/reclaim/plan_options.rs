//! The options of plans (DIVISION §6).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::choices::choices;
use crate::decimal::Amount;
use crate::fault::Fault;
use crate::flat::FlatPart;
use crate::option_facts::{OptionFacts, OptionValues, range_fault};
use crate::queues::MAX_WEIGHT;

choices! {
    #[derive(Default)]
    #[schema(as = ReclaimPolicy)]
    pub enum PolicyName {
        #[default]
        Strategies = "strategies", "KAI's strategies say who gives back.";
        Plugins = "plugins", "Tiers of plug-ins say who gives back.";
    }
}

choices! {
    /// KAI's reasons to take a victim, in the order in which they are tried (DIVISION §6.2).
    pub enum ReclaimStrategy {
        FairShare = "fair_share", "The queue of the victim has more than its fair share.";
        Quota = "quota", "The queue that asks stays within its quota, and the queue of the victim is over its own.";
    }
}

choices! {
    /// The placement of workloads: packed on few agents, or spread over many (DIVISION §6.6).
    #[derive(Default)]
    pub enum NodeOrder {
        #[default]
        Pack = "pack", "The fullest node first.";
        Spread = "spread", "The emptiest node first.";
    }
}

/// How plans are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanOptions {
    pub policy: PolicyName,
    /// Plug-in names of `policy: plugins`, by tier.
    pub tiers: Vec<Vec<String>>,
    pub strategies: Vec<ReclaimStrategy>,
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
            strategies: vec![ReclaimStrategy::FairShare, ReclaimStrategy::Quota],
            reclaimer_utilization_multiplier: Amount::whole(1),
            node_order: NodeOrder::default(),
            search_budget_ms: 1000,
        }
    }
}

/// The largest search budget, in milliseconds, and the largest number of plug-ins.
const MAX_BUDGET_MS: i64 = 60_000;
const MAX_PLUGINS: usize = 100;

impl FlatPart for PlanOptions {
    fn facts() -> Vec<OptionFacts> {
        let new = OptionFacts::new;
        vec![
            new(
                "policy",
                "Policy",
                OptionValues::Choice(PolicyName::choices),
                "What decides which workloads give back.",
            ),
            new("tiers", "Tiers of plug-ins", OptionValues::Tiers, "The plug-ins of `policy: plugins`, by tier."),
            new(
                "strategies",
                "Strategies",
                OptionValues::Choices(ReclaimStrategy::choices),
                "The reasons to take a victim, in the order in which they are tried.",
            ),
            new(
                "reclaimer_utilization_multiplier",
                "Multiplier of the reclaimer",
                OptionValues::Decimal { maximum: MAX_WEIGHT },
                "How much emptier than its victim a queue has to be to reclaim; a number below 1 counts as 1.",
            ),
            new(
                "node_order",
                "Order of nodes",
                OptionValues::Choice(NodeOrder::choices),
                "Where plans of reclaims place a workload.",
            ),
            new(
                "search_budget_ms",
                "Search budget",
                OptionValues::Whole { minimum: 0, maximum: MAX_BUDGET_MS },
                "After this budget, 1,000 steps for each millisecond, the search for victims ends without an answer.",
            )
            .in_unit("milliseconds"),
        ]
    }

    fn fault(&self) -> Option<Fault> {
        let out_of_range = range_fault(&Self::facts(), &serde_json::to_value(self).unwrap_or_default());
        let names = self.tiers.len() + self.tiers.iter().map(Vec::len).sum::<usize>();
        out_of_range.or_else(|| {
            let said = format!("must name at most {MAX_PLUGINS} plug-ins");
            (names > MAX_PLUGINS).then(|| Fault::about("/tiers", "out_of_range", said))
        })
    }
}
