//! Assigns pending members to agents (DIVISION §6.6). One class after the other goes to the agents with the best score.
//! If members of several classes compete and this fails, members are assigned one by one with backtracking. Members of
//! a single class need no search, because counting is exact for them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::{FreeCapacity, PendingClass};
use crate::division::Fraction;
use crate::reclaim::budget::{BudgetExhausted, SearchBudget};

impl FreeCapacity<'_> {
    /// The free part of the agent (0 to 1) on the slot that is the most used among the requested ones.
    fn freedom(&self, agent: usize, class: &PendingClass) -> Fraction {
        let part = |(column, _): &(usize, u128)| {
            let cell = (agent, *column);
            Fraction::new(u128::try_from(self.free[cell]).unwrap_or(0), self.total[cell])
        };
        class.request.iter().map(part).min().unwrap_or(Fraction::ZERO)
    }

    fn score(&self, agent: usize, class: &PendingClass) -> Fraction {
        let free = self.freedom(agent, class);
        self.plugins.iter().map(|p| p.node_order(free, self.spread)).max().unwrap_or(Fraction::ZERO)
    }

    /// Chooses agents for all members of a class and reserves the room; `None`, without a change, if the room is too
    /// small.
    pub fn reserve(&mut self, class: &PendingClass, among: &[usize]) -> Option<Vec<(usize, usize)>> {
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
        let rank = |capacity: &Self, (agent, left): (usize, usize)| ScoredAgent {
            score: capacity.score(agent, class),
            agent: Reverse(agent),
            left,
        };
        let mut heap: BinaryHeap<ScoredAgent> = counts.into_iter().map(|entry| rank(self, entry)).collect();
        let mut chosen = Vec::with_capacity(need);
        for member in class.members.iter().copied() {
            let ScoredAgent { agent: Reverse(agent), left, .. } = heap.pop()?;
            self.change(agent, &class.request, -1);
            chosen.push((member, agent));
            if left > 1 {
                heap.push(rank(self, (agent, left - 1)));
            }
        }
        Some(chosen)
    }

    /// Gives reserved room back.
    pub fn release(&mut self, class: &PendingClass, chosen: &[(usize, usize)]) {
        for (_, agent) in chosen {
            self.change(*agent, &class.request, 1);
        }
    }

    /// True if all classes fit at the same time.
    pub fn has_room(
        &mut self,
        classes: &[PendingClass],
        among: &[usize],
        budget: &mut SearchBudget,
    ) -> Result<bool, BudgetExhausted> {
        match classes {
            [class] => Ok(self.holds(class, among)),
            _ => Ok(self.place(classes, among, budget)?.is_some()),
        }
    }

    /// Finds room for all classes at the same time. Returns pairs (member, agent). Nothing stays reserved.
    pub fn place(
        &mut self,
        classes: &[PendingClass],
        among: &[usize],
        budget: &mut SearchBudget,
    ) -> Result<Option<Vec<(usize, usize)>>, BudgetExhausted> {
        match self.place_in_turn(classes, among) {
            None if classes.len() > 1 => pack_members(self, classes, among, budget),
            placed => Ok(placed),
        }
    }

    /// Assigns one class after the other to the best agents. With several classes this may fail although there is room
    /// for all, because the first ones take room that the later ones need.
    fn place_in_turn(&mut self, classes: &[PendingClass], among: &[usize]) -> Option<Vec<(usize, usize)>> {
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

/// An agent in the order of choice: the highest score first, equal scores in the order of the input.
struct ScoredAgent {
    score: Fraction,
    agent: Reverse<usize>,
    left: usize,
}

impl Ord for ScoredAgent {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.cmp(&other.score).then_with(|| self.agent.cmp(&other.agent))
    }
}
impl PartialOrd for ScoredAgent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for ScoredAgent {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for ScoredAgent {}

/// Finds agents for all members by backtracking. Returns pairs (member, agent). The class with the most members comes
/// last, and is only counted.
fn pack_members(
    capacity: &FreeCapacity,
    classes: &[PendingClass],
    among: &[usize],
    budget: &mut SearchBudget,
) -> Result<Option<Vec<(usize, usize)>>, BudgetExhausted> {
    let mut capacity = capacity.clone();
    let mut order: Vec<&PendingClass> = classes.iter().collect();
    order.sort_by_key(|class| class.members.len());
    budget.pay(among.len().saturating_mul(classes.len()))?;
    let Some((last, first)) = order.split_last().filter(|_| classes.iter().all(|class| capacity.holds(class, among)))
    else {
        return Ok(None);
    };
    let members: Vec<(&PendingClass, usize)> =
        first.iter().flat_map(|class| class.members.iter().map(|member| (*class, *member))).collect();
    let (mut places, mut next): (Vec<usize>, usize) = (Vec::with_capacity(members.len()), 0);
    loop {
        budget.pay(among.len())?;
        let member = members.get(places.len());
        if member.is_none()
            && let Some(counted) = capacity.reserve(last, among)
        {
            let chosen = members.iter().zip(&places).map(|((_, member), place)| (*member, among[*place]));
            return Ok(Some(chosen.chain(counted).collect()));
        }
        let has_room = |class: &PendingClass, place: &usize| capacity.count(among[*place], class, 1) > 0;
        let found = member.and_then(|(class, _)| (next..among.len()).find(|place| has_room(class, place)));
        if let Some(place) = found {
            let (class, _) = members[places.len()];
            capacity.change(among[place], &class.request, -1);
            places.push(place);
            // A member that equals the one before starts at the agent of that one. Otherwise sets that differ only in
            // swapped members would be tried too.
            let alike = members.get(places.len()).is_some_and(|(other, _)| std::ptr::eq(*other, class));
            next = if alike { place } else { 0 };
        } else {
            let Some(place) = places.pop() else { return Ok(None) };
            let (class, _) = members[places.len()];
            capacity.change(among[place], &class.request, 1);
            next = place + 1;
        }
    }
}
