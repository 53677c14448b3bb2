//! The orders of Slurm (FAIR_SHARE §14). They differ in the rule by which shares follow from the tree of the group.

use super::{
    OrderDecision, OwnerReason, SequenceRule, SequenceWorkload, ShareLookup, decide_by_exponent, keys_by_exponent,
};
use crate::decay::SLURM_DECAY;
use crate::share_tree::ShareRule;

/// The order by the shares of one rule.
pub(super) struct SlurmOrder {
    pub(super) rule: &'static dyn ShareRule,
    pub(super) summary: &'static str,
    pub(super) success_message: &'static str,
    pub(super) reason: &'static OwnerReason,
}

impl SequenceRule for SlurmOrder {
    fn name(&self) -> &'static str {
        self.rule.rule_name()
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn success_message(&self) -> &'static str {
        self.success_message
    }

    fn keys(&self, workloads: &[SequenceWorkload], shares: &dyn ShareLookup) -> Vec<u64> {
        keys_by_exponent(workloads, shares)
    }

    fn decides(
        &self,
        one: &SequenceWorkload,
        other: &SequenceWorkload,
        shares: &dyn ShareLookup,
    ) -> Option<OrderDecision> {
        decide_by_exponent(one, other, shares, self.reason)
    }

    fn share_rule(&self) -> Option<&'static dyn ShareRule> {
        Some(self.rule)
    }

    fn expected_decay(&self) -> Option<&'static str> {
        Some(SLURM_DECAY)
    }
}
