//! `slurm_classic`: the order of Slurm with `PriorityFlags=NO_FAIR_TREE` (FAIR_SHARE §14), after `priority_multifactor.c` of
//! Slurm 22.05.

use super::{
    OrderDecision, OwnerReason, SequenceRule, SequenceWorkload, ShareLookup, decide_by_exponent, keys_by_exponent,
};
use crate::decay::SLURM_DECAY;
use crate::factor::Exponent;
use crate::share_tree::{NodeShare, ShareRule, ShareTree, TreeNode, usage_ratio};

static FAIR_SHARE: OwnerReason = OwnerReason {
    name: "fair_share",
    sentence: "The user of the one ahead has less effective usage for the normalised shares. What siblings of the user have used \
               counts in part.",
};

/// All users are compared at once by `EffectvUsage / NormShares`.
pub(super) struct SlurmClassic;

impl SequenceRule for SlurmClassic {
    fn name(&self) -> &'static str {
        "slurm_classic"
    }

    fn summary(&self) -> &'static str {
        "As Slurm without its fair tree: the user with the least effective usage for the normalised shares starts first."
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by Slurm's classic fair share"
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
        decide_by_exponent(one, other, shares, &FAIR_SHARE)
    }

    fn share_rule(&self) -> Option<&'static dyn ShareRule> {
        Some(&SlurmClassic)
    }

    fn expected_decay(&self) -> Option<&'static str> {
        Some(SLURM_DECAY)
    }
}

impl ShareRule for SlurmClassic {
    fn rule_name(&self) -> &'static str {
        self.name()
    }

    fn shares(&self, tree: &ShareTree) -> Vec<NodeShare> {
        let mut shares: Vec<NodeShare> = Vec::with_capacity(tree.nodes().len());
        for (node, part) in tree.nodes().iter().zip(tree.parts_of_siblings()) {
            let normalized_usage = usage_ratio(node.used, tree.used());
            let (normalized_shares, effective_usage) = match node.parent {
                // Right below the root usage is not mixed with that of the siblings.
                None => (part, normalized_usage),
                Some(parent) => {
                    let above = &shares[parent];
                    let of_siblings = (above.effective_usage - normalized_usage) * part;
                    (part * above.normalized_shares, normalized_usage + of_siblings)
                }
            };
            shares.push(NodeShare {
                normalized_shares,
                normalized_usage,
                effective_usage,
                fair_share_factor: (-(effective_usage / normalized_shares)).exp2(),
                exponent: Exponent::over(effective_usage, normalized_shares),
            });
        }
        shares
    }

    fn formula(&self, _: &ShareTree, _: &TreeNode, share: &NodeShare) -> String {
        share.exponent_formula()
    }

    fn compares_siblings(&self) -> bool {
        false
    }
}
