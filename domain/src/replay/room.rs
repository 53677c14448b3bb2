//! The capacity of the simulated cluster and the part that is in use.

use crate::slots::Amounts;

#[derive(Clone, Debug, Default)]
pub struct Room {
    pub offered: Amounts,
    taken: Amounts,
}

impl Room {
    pub fn new(offered: Amounts) -> Self {
        Self { offered, taken: Amounts::default() }
    }

    /// True if this much is free. A slot that the cluster does not offer is not counted.
    pub fn fits(&self, size: &Amounts) -> bool {
        size.iter().all(|(slot, amount)| {
            let Some(offered) = self.offered.get(slot) else { return true };
            let taken = self.taken.get(slot).unwrap_or_default();
            taken.saturating_add(amount) <= offered
        })
    }

    pub fn take(&mut self, size: &Amounts) {
        self.taken.add(size);
    }

    pub fn give_back(&mut self, size: &Amounts) {
        self.taken.subtract(size);
    }
}
