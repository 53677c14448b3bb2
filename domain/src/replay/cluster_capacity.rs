//! The capacity of the simulated cluster and the part that is in use.

use crate::slots::SlotAmounts;

#[derive(Clone, Debug, Default)]
pub struct ClusterCapacity {
    pub offered: SlotAmounts,
    taken: SlotAmounts,
}

impl ClusterCapacity {
    pub fn new(offered: SlotAmounts) -> Self {
        Self { offered, taken: SlotAmounts::default() }
    }

    /// True if this much is free. A slot that the cluster does not offer is not counted.
    pub fn fits(&self, size: &SlotAmounts) -> bool {
        size.iter().all(|(slot, amount)| {
            let Some(offered) = self.offered.get(slot) else { return true };
            let taken = self.taken.get(slot).unwrap_or_default();
            taken.saturating_add(amount) <= offered
        })
    }

    pub fn take(&mut self, size: &SlotAmounts) {
        self.taken.add(size);
    }

    pub fn give_back(&mut self, size: &SlotAmounts) {
        self.taken.subtract(size);
    }
}
