//! Gives back every victim without which the plan still holds (DIVISION §6.4). Victims that lose last are given back
//! first.

use std::collections::HashMap;

use super::greedy::GreedySearch;
use crate::reclaim::budget::{BudgetExhausted, SearchBudget};
use crate::reclaim::limits;
use crate::reclaim::policy::EvictionDenial;

impl GreedySearch<'_> {
    /// The sides that the whole plan would leave worse off than the reclaimer, each with its denial.
    pub fn unsettled(&self) -> HashMap<usize, EvictionDenial> {
        let mut queues: Vec<usize> = self.victims.iter().map(|at| self.units[*at].queue).collect();
        queues.sort_unstable();
        queues.dedup();
        let side = |queue: usize| self.snapshot.pairs[queue].map_or(queue, |pair| pair.theirs);
        let denied = |queue| Some((side(queue), self.policy.after(&self.board.holdings, queue).err()?));
        queues.into_iter().filter_map(denied).collect()
    }

    /// Makes the set minimal: afterwards dropping any one victim breaks the plan. Returns pairs (member, agent).
    pub fn prune(&mut self, budget: &mut SearchBudget) -> Result<Vec<(usize, usize)>, BudgetExhausted> {
        // Giving a victim back only takes room away, so an agent without room for any member now has none later.
        let roomy = |agent: &usize| self.classes.iter().any(|class| self.board.free.count(*agent, class, 1) > 0);
        let agents: Vec<usize> = (0..self.board.free.agents()).filter(roomy).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for place in (0..self.victims.len()).rev() {
                let at = self.victims[place];
                if !self.may_stay(at) {
                    continue;
                }
                budget.pay(agents.len() + self.victims.len() + self.snapshot.path.len())?;
                let reason = self.give_back(at);
                self.victims.remove(place);
                if self.holds(&agents, budget)? {
                    changed = true;
                } else {
                    self.victims.insert(place, at);
                    self.take_again(at, reason);
                }
            }
        }
        let classes = self.classes;
        Ok(self.board.free.place(classes, &agents, budget)?.unwrap_or_default())
    }

    fn holds(&mut self, agents: &[usize], budget: &mut SearchBudget) -> Result<bool, BudgetExhausted> {
        let classes = self.classes;
        let lawful = limits::check(&self.board.holdings).is_ok() && self.unsettled().is_empty();
        Ok(lawful && self.board.free.has_room(classes, agents, budget)?)
    }
}
