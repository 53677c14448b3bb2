//! Where the pending workload may run: the free room of agents, or of the whole group where no agents are given (§6.6).

mod packing;

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

use super::budget::{Budget, Exhausted};
use super::input::NodeOrder;
use super::policy::plugins::{self, Plugin};
use super::snapshot::Unit;
use super::snapshot::{NOWHERE, Scene, cells_of};
use crate::domain::decimal::Amount;
use crate::domain::division::{Fraction, Grid};
use packing::pack;

/// Pending members that ask for the same.
pub struct Class {
    pub request: Vec<(usize, u128)>,
    /// Places in the list of members.
    pub members: Vec<usize>,
    /// By agent.
    pub eligible: Vec<bool>,
}

/// Signed, as agents may hold more than they have.
#[derive(Clone)]
pub struct Rooms<'a> {
    agents: usize,
    free: Grid<i128>,
    total: Grid<u128>,
    plugins: &'a [&'static dyn Plugin],
    spread: bool,
}

fn signed(units: u128) -> i128 {
    i128::try_from(units).unwrap_or(i128::MAX)
}

/// How many of a request fit into a row of free room, at most `most`.
pub fn fits(free: impl Fn(usize) -> i128, request: &[(usize, u128)], most: usize) -> usize {
    let count = |(column, units): &(usize, u128)| u128::try_from(free(*column)).unwrap_or(0) / units;
    request.iter().map(count).min().map_or(most, |count| usize::try_from(count).unwrap_or(most).min(most))
}

impl<'a> Rooms<'a> {
    pub fn new(scene: &Scene, plugins: &'a [&'static dyn Plugin]) -> Self {
        let width = scene.width();
        let rows = scene.agents.map_or(1, <[_]>::len);
        let mut total = Grid::new(rows, width, 0);
        match scene.agents {
            Some(agents) => {
                for (at, agent) in agents.iter().enumerate() {
                    cells_of(scene.tree, &agent.available_slots).for_each(|(c, units)| total[(at, c)] = units);
                }
            }
            None => (0..width).for_each(|c| total[(0, c)] = scene.tree.capacity[c].units()),
        }
        let mut free = Grid::new(rows, width, 0i128);
        for at in 0..rows {
            (0..width).for_each(|c| free[(at, c)] = signed(total[(at, c)]));
        }
        let spread = scene.options.node_order == NodeOrder::Spread;
        let mut rooms = Self { agents: rows, free, total, plugins, spread };
        if scene.agents.is_some() {
            for (at, member) in scene.members.iter().enumerate() {
                rooms.change(member.agent, scene.cells(at), -1);
            }
        } else {
            for root in scene.tree.children(None) {
                for column in 0..width {
                    let held = signed(scene.tree.allocated[(*root, column)].units());
                    rooms.free[(0, column)] = rooms.free[(0, column)].saturating_sub(held);
                }
            }
        }
        rooms
    }

    /// How many agents there are; one where only totals count.
    pub fn agents(&self) -> usize {
        self.agents
    }

    pub fn free(&self, agent: usize, column: usize) -> i128 {
        self.free[(agent, column)]
    }

    pub fn change(&mut self, agent: usize, cells: &[(usize, u128)], sign: i128) {
        if agent != NOWHERE {
            for (column, units) in cells {
                let room = &mut self.free[(agent, *column)];
                *room = room.saturating_add(sign * signed(*units));
            }
        }
    }

    /// A victim leaves.
    pub fn leave(&mut self, scene: &Scene, unit: &Unit) {
        unit.members.clone().for_each(|m| self.change(scene.members[m].agent, scene.cells(m), 1));
    }

    pub fn come_back(&mut self, scene: &Scene, unit: &Unit) {
        unit.members.clone().for_each(|m| self.change(scene.members[m].agent, scene.cells(m), -1));
    }

    pub fn count(&self, agent: usize, class: &Class, most: usize) -> usize {
        if class.eligible[agent] { fits(|c| self.free[(agent, c)], &class.request, most) } else { 0 }
    }

    /// The free part of the agent, on the slot of which most is used among those asked for.
    fn freedom(&self, agent: usize, class: &Class) -> Fraction {
        let part = |(column, _): &(usize, u128)| {
            let cell = (agent, *column);
            Fraction::new(u128::try_from(self.free[cell]).unwrap_or(0), self.total[cell])
        };
        class.request.iter().map(part).min().unwrap_or(Fraction::ZERO)
    }

    fn score(&self, agent: usize, class: &Class) -> Fraction {
        let free = self.freedom(agent, class);
        self.plugins.iter().map(|p| p.node_order(free, self.spread)).max().unwrap_or(Fraction::ZERO)
    }

    /// Chooses agents for all members of a class and takes the room; `None` (and no change) when it is too small.
    pub fn reserve(&mut self, class: &Class, among: &[usize]) -> Option<Vec<(usize, usize)>> {
        let need = class.members.len();
        let mut counts: Vec<(usize, usize)> = Vec::new();
        let mut sum = 0;
        for agent in among.iter().copied() {
            let count = self.count(agent, class, need);
            if count > 0 {
                counts.push((agent, count));
                sum += count;
            }
        }
        if sum < need {
            return None;
        }
        let rank = |rooms: &Self, (agent, left): (usize, usize)| Ranked {
            score: rooms.score(agent, class),
            agent: Reverse(agent),
            left,
        };
        let mut heap: BinaryHeap<Ranked> = counts.into_iter().map(|entry| rank(self, entry)).collect();
        let mut chosen = Vec::with_capacity(need);
        for member in class.members.iter().copied() {
            let Ranked { agent: Reverse(agent), left, .. } = heap.pop()?;
            self.change(agent, &class.request, -1);
            chosen.push((member, agent));
            if left > 1 {
                heap.push(rank(self, (agent, left - 1)));
            }
        }
        Some(chosen)
    }

    /// Gives reserved room back.
    pub fn release(&mut self, class: &Class, chosen: &[(usize, usize)]) {
        for (_, agent) in chosen {
            self.change(*agent, &class.request, 1);
        }
    }

    /// The least that has to be freed of a slot for a class alone: members go where least is missing.
    pub fn shortage(&self, class: &Class, column: usize) -> u128 {
        let Some((_, asked)) = class.request.iter().find(|(c, _)| *c == column) else { return 0 };
        let need = class.members.len();
        let (mut missing, mut fit) = (Vec::new(), 0usize);
        for agent in (0..self.agents).filter(|agent| class.eligible[*agent]) {
            let free = u128::try_from(self.free[(agent, column)]).unwrap_or(0);
            fit = fit.saturating_add(usize::try_from(free / asked).unwrap_or(need));
            missing.push(asked - free % asked);
        }
        let need = need.saturating_sub(fit);
        missing.sort_unstable();
        // Beyond one more on each agent all of it is missing.
        let beyond = asked.saturating_mul(need.saturating_sub(missing.len()) as u128);
        missing.iter().take(need).fold(beyond, |sum, units| sum.saturating_add(*units))
    }

    /// Whether a class alone has room.
    pub fn holds(&self, class: &Class, among: &[usize]) -> bool {
        let need = class.members.len();
        let mut sum = 0;
        among.iter().any(|agent| {
            sum += self.count(*agent, class, need);
            sum >= need
        })
    }

    /// Whether all classes have room at once.
    pub fn has_room(&mut self, classes: &[Class], among: &[usize], budget: &mut Budget) -> Result<bool, Exhausted> {
        match classes {
            [class] => Ok(self.holds(class, among)),
            _ => Ok(self.place(classes, among, budget)?.is_some()),
        }
    }

    /// Room for all classes at once, chosen agents by (member, agent); nothing stays reserved.
    pub fn place(
        &mut self,
        classes: &[Class],
        among: &[usize],
        budget: &mut Budget,
    ) -> Result<Option<Vec<(usize, usize)>>, Exhausted> {
        match self.place_in_turn(classes, among) {
            None if classes.len() > 1 => pack(self, classes, among, budget),
            placed => Ok(placed),
        }
    }

    /// One class after the other, each on the agents that are best for it: where there are several, what the first ones
    /// leave may be too little though there is room for all.
    fn place_in_turn(&mut self, classes: &[Class], among: &[usize]) -> Option<Vec<(usize, usize)>> {
        let mut placed: Vec<Vec<(usize, usize)>> = Vec::with_capacity(classes.len());
        for class in classes {
            let Some(chosen) = self.reserve(class, among) else { break };
            placed.push(chosen);
        }
        for (class, chosen) in classes.iter().zip(&placed) {
            self.release(class, chosen);
        }
        (placed.len() == classes.len()).then(|| placed.concat())
    }
}

/// Highest score first, then the agent that was given first.
struct Ranked {
    score: Fraction,
    agent: Reverse<usize>,
    left: usize,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.cmp(&other.score).then_with(|| self.agent.cmp(&other.agent))
    }
}
impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Ranked {}

/// The first `count` pending members by what they ask for, the largest first; where only totals count, as one.
pub fn classes(scene: &Scene, predicates: &[&'static dyn Plugin], count: usize) -> Vec<Class> {
    let members = &scene.pending.members[..count];
    let Some(agents) = scene.agents else {
        let request = total_request(scene, count);
        let cells = request.iter().enumerate().filter(|(_, a)| !a.is_zero()).map(|(c, a)| (c, a.units())).collect();
        return vec![Class { request: cells, members: vec![0], eligible: vec![true] }];
    };
    let mut classes: Vec<Class> = Vec::new();
    let mut known = HashMap::new();
    for (at, member) in members.iter().enumerate() {
        let class = *known.entry((&member.slots, &member.labels)).or_insert(classes.len());
        if let Some(class) = classes.get_mut(class) {
            class.members.push(at);
            continue;
        }
        let admits = |agent| plugins::admits(predicates, member, agent);
        classes.push(Class {
            request: cells_of(scene.tree, &member.slots).collect(),
            members: vec![at],
            eligible: agents.iter().map(admits).collect(),
        });
    }
    let size = |class: &Class| {
        let part = |(column, units): &(usize, u128)| Fraction::new(*units, scene.tree.capacity[*column].units());
        class.request.iter().map(part).max().unwrap_or(Fraction::ZERO)
    };
    classes.sort_by_cached_key(|class| Reverse(size(class)));
    classes
}

/// What the first `count` pending members ask for together.
pub fn total_request(scene: &Scene, count: usize) -> Vec<Amount> {
    let mut total = vec![Amount::ZERO; scene.width()];
    for member in &scene.pending.members[..count] {
        for (column, units) in cells_of(scene.tree, &member.slots) {
            total[column] = total[column].saturating_add(Amount::from_units(units));
        }
    }
    total
}
