//! `slurm_classic`: the order of Slurm with `PriorityFlags=NO_FAIR_TREE` (FAIR_SHARE §14), after `priority_multifactor.c` of
//! Slurm 22.05.

use super::OwnerReason;
use super::slurm::SlurmOrder;
use crate::factor::Exponent;
use crate::share_tree::{NodeShare, ShareRule, ShareTree, TreeNode, usage_ratio};

pub(super) static SLURM_CLASSIC: SlurmOrder = SlurmOrder {
    rule: &SlurmClassic,
    summary: "As Slurm without its fair tree: the user with the least effective usage for the normalised shares starts first.",
    success_message: "Sessions sequenced by Slurm's classic fair share",
    reason: &OwnerReason {
        name: "fair_share",
        sentence: "The user of the one ahead has less effective usage for the normalised shares. What siblings of the user have used \
                   counts in part.",
    },
};

/// All users are compared at once by `EffectvUsage / NormShares`.
struct SlurmClassic;

impl ShareRule for SlurmClassic {
    fn rule_name(&self) -> &'static str {
        "slurm_classic"
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
