//! The free capacity in which the pending workload may run (DIVISION §6.6): that of each agent, or of the whole group
//! if the input has no agents.

mod classes;
mod packing;

pub use classes::{PendingClass, group_into_classes, total_request};

use super::plan_options::NodeOrder;
use super::policy::plugins::ReclaimPlugin;
use super::snapshot::{EvictionUnit, NO_AGENT, ReclaimSnapshot, cells_of};
use crate::division::QueueSlotGrid;

/// The free amount of every agent, in units of 10^-12. It is signed, because the kernels on an agent may hold more than
/// the agent has.
#[derive(Clone)]
pub struct FreeCapacity<'a> {
    agents: usize,
    free: QueueSlotGrid<i128>,
    total: QueueSlotGrid<u128>,
    plugins: &'a [&'static dyn ReclaimPlugin],
    spread: bool,
}

fn to_signed(units: u128) -> i128 {
    i128::try_from(units).unwrap_or(i128::MAX)
}

/// The number of times that a request fits into free amounts, at most `most`.
pub fn count_fits(free: impl Fn(usize) -> i128, request: &[(usize, u128)], most: usize) -> usize {
    let count = |(column, units): &(usize, u128)| u128::try_from(free(*column)).unwrap_or(0) / units;
    request.iter().map(count).min().map_or(most, |count| usize::try_from(count).unwrap_or(most).min(most))
}

impl<'a> FreeCapacity<'a> {
    pub fn new(snapshot: &ReclaimSnapshot, plugins: &'a [&'static dyn ReclaimPlugin]) -> Self {
        let width = snapshot.width();
        let rows = snapshot.agents.map_or(1, <[_]>::len);
        let mut total = QueueSlotGrid::new(rows, width, 0);
        match snapshot.agents {
            Some(agents) => {
                for (at, agent) in agents.iter().enumerate() {
                    cells_of(snapshot.tree, &agent.available_slots).for_each(|(c, units)| total[(at, c)] = units);
                }
            }
            None => (0..width).for_each(|c| total[(0, c)] = snapshot.tree.capacity[c].units()),
        }
        let mut free = QueueSlotGrid::new(rows, width, 0i128);
        for at in 0..rows {
            (0..width).for_each(|c| free[(at, c)] = to_signed(total[(at, c)]));
        }
        let mut capacity = Self::with_amounts((free, total), rows, plugins, snapshot.options.node_order);
        if snapshot.agents.is_some() {
            for (at, member) in snapshot.members.iter().enumerate() {
                capacity.change(member.agent, snapshot.cells(at), -1);
            }
        } else {
            for root in snapshot.tree.children(None) {
                for column in 0..width {
                    let held = to_signed(snapshot.tree.allocated[(*root, column)].units());
                    capacity.free[(0, column)] = capacity.free[(0, column)].saturating_sub(held);
                }
            }
        }
        capacity
    }

    /// The capacity of which `free` and `total` are known, by agent and column.
    pub fn with_amounts(
        (free, total): (QueueSlotGrid<i128>, QueueSlotGrid<u128>),
        agents: usize,
        plugins: &'a [&'static dyn ReclaimPlugin],
        order: NodeOrder,
    ) -> Self {
        Self { agents, free, total, plugins, spread: order == NodeOrder::Spread }
    }

    /// The number of agents; 1 if only totals count.
    pub fn agents(&self) -> usize {
        self.agents
    }

    /// The amount of a slot that an agent has free, in units of 10^-12.
    pub fn of(&self, agent: usize, column: usize) -> i128 {
        self.free[(agent, column)]
    }

    /// Adds to the free amounts of an agent (`sign` 1) or subtracts from them (`sign` -1).
    pub fn change(&mut self, agent: usize, cells: &[(usize, u128)], sign: i128) {
        if agent != NO_AGENT {
            for (column, units) in cells {
                let room = &mut self.free[(agent, *column)];
                *room = room.saturating_add(sign * to_signed(*units));
            }
        }
    }

    /// Frees the amounts of a unit on its agents.
    pub fn vacate(&mut self, snapshot: &ReclaimSnapshot, unit: &EvictionUnit) {
        unit.members.clone().for_each(|m| self.change(snapshot.members[m].agent, snapshot.cells(m), 1));
    }

    /// Puts a unit back on its agents.
    pub fn reoccupy(&mut self, snapshot: &ReclaimSnapshot, unit: &EvictionUnit) {
        unit.members.clone().for_each(|m| self.change(snapshot.members[m].agent, snapshot.cells(m), -1));
    }

    /// The number of members of a class that fit on the agent, at most `most`.
    pub fn count(&self, agent: usize, class: &PendingClass, most: usize) -> usize {
        count_fits(|c| self.free[(agent, c)], &class.request, most.min(class.allowed[agent]))
    }

    /// A lower bound of the amount of a slot that has to be freed so that the class alone fits: it assumes that members
    /// go to the agents on which the least is missing.
    pub fn shortage(&self, class: &PendingClass, column: usize) -> u128 {
        let Some((_, asked)) = class.request.iter().find(|(c, _)| *c == column) else { return 0 };
        let need = class.members.len();
        let (mut missing, mut fit) = (Vec::new(), 0usize);
        for agent in (0..self.agents).filter(|agent| class.allowed[*agent] > 0) {
            let free = u128::try_from(self.free[(agent, column)]).unwrap_or(0);
            fit = fit.saturating_add(usize::try_from(free / asked).unwrap_or(need));
            missing.push(asked - free % asked);
        }
        let need = need.saturating_sub(fit);
        missing.sort_unstable();
        // `missing` has what one more member on each agent lacks. Every further member lacks its whole request.
        let beyond = asked.saturating_mul(need.saturating_sub(missing.len()) as u128);
        missing.iter().take(need).fold(beyond, |sum, units| sum.saturating_add(*units))
    }

    /// True if the class alone fits on the agents in `among`.
    pub fn holds(&self, class: &PendingClass, among: &[usize]) -> bool {
        let need = class.members.len();
        let mut sum = 0;
        among.iter().any(|agent| {
            sum += self.count(*agent, class, need);
            sum >= need
        })
    }
}
