//! The capacity of the simulated cluster and the part that is in use.

use crate::decimal::Amount;
use crate::slots::{SlotAmounts, SlotName};

#[derive(Clone, Debug, Default)]
pub struct ClusterCapacity {
    pub offered: SlotAmounts,
    taken: SlotAmounts,
}

impl ClusterCapacity {
    pub fn new(offered: SlotAmounts) -> Self {
        Self { offered, taken: SlotAmounts::default() }
    }

    /// True if this much is free.
    pub fn fits(&self, size: &SlotAmounts) -> bool {
        self.requested(size).all(|(slot, amount, offered)| {
            let taken = self.taken.get(slot).unwrap_or_default();
            taken.saturating_add(amount) <= offered
        })
    }

    /// True if this much is free while nothing runs.
    pub fn fits_empty(&self, size: &SlotAmounts) -> bool {
        self.requested(size).all(|(_, amount, offered)| amount <= offered)
    }

    /// True if it takes no room.
    pub fn is_free(&self, size: &SlotAmounts) -> bool {
        self.requested(size).next().is_none()
    }

    /// The amounts that a job of the size asks for, each with what the cluster offers. A slot that it does not offer at any time is
    /// not counted.
    fn requested(&self, size: &SlotAmounts) -> impl Iterator<Item = (SlotName, Amount, Amount)> {
        let requested = size.iter().filter(|(_, amount)| !amount.is_zero());
        requested.filter_map(|(slot, amount)| Some((slot, amount, self.offered.get(slot)?)))
    }

    pub fn take(&mut self, size: &SlotAmounts) {
        self.taken.add(size);
    }

    pub fn give_back(&mut self, size: &SlotAmounts) {
        self.taken.subtract(size);
    }
}
