//! What would be the case if some candidates went: what queues hold, what agents have free, and what the candidates
//! that may still go would free besides. Both searches take victims on a board and give them back.

use super::free_capacity::{Class, FreeCapacity, fits};
use super::holdings::Holdings;
use super::snapshot::{NOWHERE, Snapshot, Unit};
use crate::decimal::Amount;
use crate::division::Grid;

pub struct Board<'a> {
    snapshot: &'a Snapshot<'a>,
    pub holdings: Holdings<'a>,
    pub free: FreeCapacity<'a>,
    /// By agent and slot: what the candidates that may still go would free.
    promised: Grid<i128>,
}

impl<'a> Board<'a> {
    pub fn new(snapshot: &'a Snapshot<'a>, request: Vec<Amount>, free: FreeCapacity<'a>) -> Self {
        let promised = Grid::new(free.agents(), snapshot.width(), 0);
        Self { snapshot, holdings: Holdings::new(snapshot, request), free, promised }
    }

    /// From now on the unit may go.
    pub fn promise(&mut self, unit: &Unit) {
        self.change_promise(unit, 1);
    }

    /// The unit is none of those that may still go.
    pub fn withdraw(&mut self, unit: &Unit) {
        self.change_promise(unit, -1);
    }

    fn change_promise(&mut self, unit: &Unit, sign: i128) {
        for member in unit.members.clone() {
            let agent = self.snapshot.members[member].agent;
            for (column, units) in self.snapshot.cells(member).iter().filter(|_| agent != NOWHERE) {
                let room = &mut self.promised[(agent, *column)];
                *room = room.saturating_add(sign * i128::try_from(*units).unwrap_or(i128::MAX));
            }
        }
    }

    /// The unit goes.
    pub fn take(&mut self, unit: &Unit) {
        self.holdings.take(unit);
        self.vacate(unit);
    }

    /// A unit that the holdings have taken leaves its agents.
    pub fn vacate(&mut self, unit: &Unit) {
        self.free.vacate(self.snapshot, unit);
        self.withdraw(unit);
    }

    /// The unit stays after all, and may go again.
    pub fn give_back(&mut self, unit: &Unit) {
        self.holdings.give_back(unit);
        self.free.reoccupy(self.snapshot, unit);
        self.promise(unit);
    }

    /// What an agent has free of a slot once all candidates on it that may still go have gone.
    pub fn obtainable(&self, agent: usize, column: usize) -> i128 {
        self.free.of(agent, column).saturating_add(self.promised[(agent, column)])
    }

    /// How many members of a class the agent could then take, at most `need`.
    pub fn most(&self, agent: usize, class: &Class, need: usize) -> usize {
        if class.eligible[agent] { fits(|column| self.obtainable(agent, column), &class.request, need) } else { 0 }
    }
}
