//! A tentative state of the group after some victims: what queues hold, what agents have free, and what the remaining
//! candidates would free in addition. Both searches take victims on a board and give them back.

use super::free_capacity::{FreeCapacity, PendingClass, count_fits};
use super::holdings::QueueHoldings;
use super::snapshot::{EvictionUnit, NO_AGENT, ReclaimSnapshot};
use crate::decimal::Amount;
use crate::division::QueueSlotGrid;

pub struct EvictionBoard<'a> {
    snapshot: &'a ReclaimSnapshot<'a>,
    pub holdings: QueueHoldings<'a>,
    pub free: FreeCapacity<'a>,
    /// The amount that the remaining candidates would free, by agent and slot.
    promised: QueueSlotGrid<i128>,
}

impl<'a> EvictionBoard<'a> {
    pub fn new(snapshot: &'a ReclaimSnapshot<'a>, request: Vec<Amount>, free: FreeCapacity<'a>) -> Self {
        let promised = QueueSlotGrid::new(free.agents(), snapshot.width(), 0);
        Self { snapshot, holdings: QueueHoldings::new(snapshot, request), free, promised }
    }

    /// Adds a unit to the remaining candidates.
    pub fn promise(&mut self, unit: &EvictionUnit) {
        self.change_promise(unit, 1);
    }

    /// Removes a unit from the remaining candidates.
    pub fn withdraw(&mut self, unit: &EvictionUnit) {
        self.change_promise(unit, -1);
    }

    fn change_promise(&mut self, unit: &EvictionUnit, sign: i128) {
        for member in unit.members.clone() {
            let agent = self.snapshot.members[member].agent;
            for (column, units) in self.snapshot.cells(member).iter().filter(|_| agent != NO_AGENT) {
                let room = &mut self.promised[(agent, *column)];
                *room = room.saturating_add(sign * i128::try_from(*units).unwrap_or(i128::MAX));
            }
        }
    }

    /// Takes the unit as a victim.
    pub fn take(&mut self, unit: &EvictionUnit) {
        self.holdings.take(unit);
        self.vacate(unit);
    }

    /// Frees the agents of a unit that is already subtracted from the holdings.
    pub fn vacate(&mut self, unit: &EvictionUnit) {
        self.free.vacate(self.snapshot, unit);
        self.withdraw(unit);
    }

    /// Takes the unit back from the victims; it becomes a candidate again.
    pub fn give_back(&mut self, unit: &EvictionUnit) {
        self.holdings.give_back(unit);
        self.free.reoccupy(self.snapshot, unit);
        self.promise(unit);
    }

    /// The amount of a slot (in units of 10^-12) that an agent has free after all remaining candidates on it are
    /// evicted.
    pub fn obtainable(&self, agent: usize, column: usize) -> i128 {
        self.free.of(agent, column).saturating_add(self.promised[(agent, column)])
    }

    /// The number of members of a class that the agent could then take, at most `need`.
    pub fn most(&self, agent: usize, class: &PendingClass, need: usize) -> usize {
        count_fits(|column| self.obtainable(agent, column), &class.request, need.min(class.allowed[agent]))
    }
}
