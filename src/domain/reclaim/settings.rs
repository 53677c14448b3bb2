//! The options of a division and of the plans upon it as one object, as the shapes have it. Its keys are listed here
//! once more because flattened parts would lose the place of a fault.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::input::{NodeOrder, PlanOptions, PolicyName, Strategy};
use crate::domain::decimal::Amount;
use crate::domain::division::options::{HistoryBase, Options, ProportionVariant, Rounding, Rule, ScoreWeights};
use crate::domain::division::{Algorithm, OverQuotaBy, TreeFault, report};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = ReclaimOptions)]
pub struct Settings {
    pub rounding: Rounding,
    /// The slots that `rounding: whole` rounds; absent: all.
    pub whole_slots: Option<Vec<String>>,
    pub rule: Rule,
    pub history_gain: Amount,
    pub history_base: HistoryBase,
    /// For the roots; a queue says it for its children.
    pub over_quota_by: OverQuotaBy,
    pub proportion_variant: ProportionVariant,
    pub score_weights: ScoreWeights,
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

impl Settings {
    /// The division's part.
    pub fn division(&self) -> Options {
        Options {
            rounding: self.rounding,
            whole_slots: self.whole_slots.clone(),
            rule: self.rule,
            history_gain: self.history_gain,
            history_base: self.history_base,
            over_quota_by: self.over_quota_by,
            proportion_variant: self.proportion_variant,
            score_weights: self.score_weights,
        }
    }

    /// The plan's part.
    pub fn plan(&self) -> PlanOptions {
        PlanOptions {
            policy: self.policy,
            tiers: self.tiers.clone(),
            strategies: self.strategies.clone(),
            reclaimer_utilization_multiplier: self.reclaimer_utilization_multiplier,
            node_order: self.node_order,
            search_budget_ms: self.search_budget_ms,
        }
    }

    /// The algorithm of that name, if every option is in its range and every plug-in known.
    pub fn check(&self, algorithm: &str) -> Result<&'static dyn Algorithm, Vec<TreeFault>> {
        let plan = self.plan();
        let mut faults: Vec<TreeFault> = plan
            .fault()
            .map(|(key, detail)| TreeFault { pointer: format!("/options/{key}"), code: "out_of_range", detail })
            .into_iter()
            .collect();
        faults.extend(plan.unknown_plugins());
        match report::check(algorithm, &self.division()) {
            Ok(algorithm) if faults.is_empty() => Ok(algorithm),
            Ok(_) => Err(faults),
            Err(others) => Err([others, faults].concat()),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let (division, plan) = (Options::default(), PlanOptions::default());
        Self {
            rounding: division.rounding,
            whole_slots: division.whole_slots,
            rule: division.rule,
            history_gain: division.history_gain,
            history_base: division.history_base,
            over_quota_by: division.over_quota_by,
            proportion_variant: division.proportion_variant,
            score_weights: division.score_weights,
            policy: plan.policy,
            tiers: plan.tiers,
            strategies: plan.strategies,
            reclaimer_utilization_multiplier: plan.reclaimer_utilization_multiplier,
            node_order: plan.node_order,
            search_budget_ms: plan.search_budget_ms,
        }
    }
}
