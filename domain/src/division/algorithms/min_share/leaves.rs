//! The shares of workloads, where they are the leaves of the tree as operations are in YTsaurus (DIVISION §3).

use super::sweep::{LevelSolver, SweepMember};
use super::{MinShareRule, RATIO_ONE, RATIO_UNITS_PER_RESULT_UNIT, dominant_column, to_amount};
use crate::decimal::Amount;
use crate::division::exact::mul_div_up;
use crate::queues::QueueMode;

/// A workload of a queue: what it holds, what it holds and asks for together, and what each of its different members needs.
pub struct WorkloadDemand {
    pub held: Vec<Amount>,
    pub demand: Vec<Amount>,
    pub members: Vec<Vec<Amount>>,
}

/// The share of a workload as a ratio of the group, and if that is less than one of its members needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafShare {
    pub ratio: Amount,
    pub is_below_one_member: bool,
}

/// The queue of which workloads are leaves.
pub struct LeafLevel<'a> {
    pub capacity: &'a [Amount],
    pub rule: MinShareRule,
    pub mode: QueueMode,
    /// The share of the queue, without what its children have of it.
    pub share: Amount,
}

impl LeafLevel<'_> {
    /// Divides the share of the queue among its workloads, which are listed in order. They weigh the same, and their demand is
    /// their upper limit. A `fifo` queue serves them in order.
    pub fn divide(&self, workloads: &[WorkloadDemand]) -> Vec<LeafShare> {
        let total = u64::try_from(self.share.units() * u128::from(RATIO_UNITS_PER_RESULT_UNIT)).unwrap_or(RATIO_ONE);
        let upper = workloads.iter().map(|workload| self.ratio(&workload.held, &workload.demand));
        let shares = match self.mode {
            QueueMode::Fair => {
                let member = |upper: u64| SweepMember { weight: 1, lower: 0, upper: upper.min(total) };
                let mut solver = LevelSolver::default();
                solver.members = upper.map(member).collect();
                solver.solve(total, self.rule, |a, b| a.cmp(&b));
                solver.shares
            }
            QueueMode::Fifo => {
                let mut left = total;
                let serve = |upper: u64| {
                    let share = upper.min(left);
                    left -= share;
                    share
                };
                upper.map(serve).collect()
            }
        };
        let leaf = |(workload, share): (&WorkloadDemand, u64)| LeafShare {
            ratio: to_amount(share.into()),
            is_below_one_member: self.smallest_member(workload).is_some_and(|needed| share < needed),
        };
        workloads.iter().zip(shares).map(leaf).collect()
    }

    /// The least that a member of the workload needs; `None` if it has no members.
    fn smallest_member(&self, workload: &WorkloadDemand) -> Option<u64> {
        workload.members.iter().map(|member| self.ratio(&workload.held, member)).min()
    }

    /// The part of the capacity that `amounts` are, in the slot in which the workload holds most; where it holds nothing, in that
    /// of which they are most.
    fn ratio(&self, held: &[Amount], amounts: &[Amount]) -> u64 {
        let dominant = dominant_column(held, self.capacity).or_else(|| dominant_column(amounts, self.capacity));
        let ratio = |column: usize| {
            mul_div_up(amounts[column].units(), RATIO_ONE.into(), self.capacity[column].units()).min(RATIO_ONE.into())
        };
        u64::try_from(dominant.map_or(0, ratio)).unwrap_or(RATIO_ONE)
    }
}
