//! The amounts that queues hold, at present or at the time of a reservation, and the bounds that a start must keep (CYCLE §5).

use crate::decimal::Amount;
use crate::division::{QueueSlotGrid, QueueTree};
use crate::queues::Bound;

/// The amounts that each queue holds with all queues below it, by column.
#[derive(Clone)]
pub struct ReservedHoldings {
    pub allocated: QueueSlotGrid<Amount>,
    pub non_preemptible: QueueSlotGrid<Amount>,
}

impl ReservedHoldings {
    pub fn of(tree: &QueueTree) -> Self {
        Self { allocated: tree.allocated.clone(), non_preemptible: tree.allocated_non_preemptible.clone() }
    }

    pub fn add(&mut self, tree: &QueueTree, queue: usize, amounts: &[Amount], preemptible: bool) {
        self.change(tree, queue, amounts, preemptible, Amount::saturating_add);
    }

    pub fn subtract(&mut self, tree: &QueueTree, queue: usize, amounts: &[Amount], preemptible: bool) {
        self.change(tree, queue, amounts, preemptible, Amount::saturating_sub);
    }

    /// Subtracts what one member held, as (column, units).
    pub fn remove(&mut self, tree: &QueueTree, queue: usize, request: &[(usize, u128)], preemptible: bool) {
        for at in tree.ancestry(queue) {
            for (column, units) in request {
                let cell = (at, *column);
                self.allocated[cell] = self.allocated[cell].saturating_sub(Amount::from_units(*units));
                if !preemptible {
                    self.non_preemptible[cell] = self.non_preemptible[cell].saturating_sub(Amount::from_units(*units));
                }
            }
        }
    }

    fn change(
        &mut self,
        tree: &QueueTree,
        queue: usize,
        amounts: &[Amount],
        preemptible: bool,
        apply: fn(Amount, Amount) -> Amount,
    ) {
        for at in tree.ancestry(queue) {
            for (column, amount) in amounts.iter().enumerate().filter(|(_, amount)| !amount.is_zero()) {
                let cell = (at, column);
                self.allocated[cell] = apply(self.allocated[cell], *amount);
                if !preemptible {
                    self.non_preemptible[cell] = apply(self.non_preemptible[cell], *amount);
                }
            }
        }
    }

    /// The first queue, upwards, and slot whose limit the queue would exceed with `asked`.
    pub fn over_limit(&self, tree: &QueueTree, queue: usize, asked: &[Amount]) -> Option<(usize, usize)> {
        first_over(tree, queue, asked, &self.allocated, &tree.limit)
    }

    /// The same for quotas and work that may not be evicted.
    pub fn over_quota(&self, tree: &QueueTree, queue: usize, asked: &[Amount]) -> Option<(usize, usize)> {
        first_over(tree, queue, asked, &self.non_preemptible, &tree.quota)
    }
}

fn first_over(
    tree: &QueueTree,
    queue: usize,
    asked: &[Amount],
    held: &QueueSlotGrid<Amount>,
    bounds: &QueueSlotGrid<Bound>,
) -> Option<(usize, usize)> {
    let is_over = |queue: usize, column: usize| {
        let with = held[(queue, column)].saturating_add(asked[column]);
        !asked[column].is_zero() && Bound::Limited(with) > bounds[(queue, column)]
    };
    let cells = tree.ancestry(queue).flat_map(|queue| (0..asked.len()).map(move |column| (queue, column)));
    cells.into_iter().find(|(queue, column)| is_over(*queue, *column))
}
