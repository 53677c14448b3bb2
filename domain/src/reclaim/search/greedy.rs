//! The first stage of the search (DIVISION §6.2 to §6.6): candidates arrive one by one in the order in which they lose.
//! As soon as the candidates that have arrived could make room on an agent, the lawful ones among them are taken there.

use std::collections::HashMap;

use super::candidates::EvictionExtent;
use super::order::LosingOrder;
use crate::decimal::Amount;
use crate::reclaim::board::EvictionBoard;
use crate::reclaim::budget::{BudgetExhausted, SearchBudget};
use crate::reclaim::free_capacity::{FreeCapacity, PendingClass, count_fits};
use crate::reclaim::limits;
use crate::reclaim::outcome::ReclaimRule;
use crate::reclaim::policy::{EvictionDenial, EvictionPolicy, EvictionReason};
use crate::reclaim::snapshot::{EvictionUnit, NO_AGENT, ReclaimSnapshot};

/// The reason why the search ended without a plan.
pub enum GreedyEnd {
    NotFound,
    Exhausted,
}

impl From<BudgetExhausted> for GreedyEnd {
    fn from(_: BudgetExhausted) -> Self {
        Self::Exhausted
    }
}

pub struct GreedySearch<'a> {
    pub snapshot: &'a ReclaimSnapshot<'a>,
    pub policy: &'a dyn EvictionPolicy,
    pub board: EvictionBoard<'a>,
    pub classes: &'a [PendingClass],
    /// The candidates that have arrived, in their order.
    pub units: Vec<EvictionUnit>,
    /// The victims, as indices in `units`.
    pub victims: Vec<usize>,
    /// The sides that may not lose anything, because they would end worse off than the reclaimer; each with its denial.
    pub spared: HashMap<usize, EvictionDenial>,
    order: LosingOrder<'a>,
    /// By unit: the rule that allowed it, while it is a victim.
    reasons: Vec<Option<EvictionReason>>,
    /// By agent: the candidates on it.
    waiting: Vec<Vec<usize>>,
    /// By workload: its candidates, as indices in `units`.
    by_job: HashMap<usize, Vec<usize>>,
}

impl<'a> GreedySearch<'a> {
    pub fn new(
        snapshot: &'a ReclaimSnapshot<'a>,
        policy: &'a dyn EvictionPolicy,
        extents: &'a [EvictionExtent],
        classes: &'a [PendingClass],
        (request, free): (Vec<Amount>, FreeCapacity<'a>),
        spared: HashMap<usize, EvictionDenial>,
    ) -> Self {
        let agents = free.agents();
        Self {
            snapshot,
            policy,
            board: EvictionBoard::new(snapshot, request, free),
            classes,
            units: Vec::new(),
            victims: Vec::new(),
            spared,
            order: LosingOrder::new(snapshot, policy, extents),
            reasons: Vec::new(),
            waiting: vec![Vec::new(); agents],
            by_job: HashMap::new(),
        }
    }

    /// Takes victims until the limits hold and every member has room.
    pub fn run(&mut self, budget: &mut SearchBudget) -> Result<(), GreedyEnd> {
        self.meet_limits(budget)?;
        let classes = self.classes;
        let mut reserved = Vec::with_capacity(classes.len());
        let all: Vec<usize> = (0..self.board.free.agents()).collect();
        let mut result = Ok(());
        for class in classes {
            result = self.make_room(class, budget);
            let Some(chosen) = result.is_ok().then(|| self.board.free.reserve(class, &all)).flatten() else { break };
            reserved.push(chosen);
        }
        for (class, chosen) in classes.iter().zip(&reserved) {
            self.board.free.release(class, chosen);
        }
        result
    }

    /// Fetches the next candidate. Returns its index in `units`.
    fn advance(&mut self, budget: &mut SearchBudget) -> Result<Option<usize>, BudgetExhausted> {
        let Some(unit) = self.order.next(budget)? else { return Ok(None) };
        let at = self.units.len();
        self.board.promise(&unit);
        for member in unit.members.clone() {
            let agent = self.snapshot.members[member].agent;
            if agent != NO_AGENT && self.waiting[agent].last() != Some(&at) {
                self.waiting[agent].push(at);
            }
        }
        self.by_job.entry(unit.job).or_default().push(at);
        self.units.push(unit);
        self.reasons.push(None);
        Ok(Some(at))
    }

    /// Takes the unit if it may be evicted.
    fn take_one(&mut self, at: usize) -> Result<(), EvictionDenial> {
        let unit = self.units[at].clone();
        if let Some(pair) = self.snapshot.pairs[unit.queue]
            && let Some(denied) = self.spared.get(&pair.theirs)
        {
            return Err(*denied);
        }
        let allowed = self.policy.before(&self.board.holdings, &unit)?;
        self.board.holdings.take(&unit);
        if let Err(denied) = self.policy.after(&self.board.holdings, unit.queue) {
            self.board.holdings.give_back(&unit);
            return Err(denied);
        }
        self.board.vacate(&unit);
        self.reasons[at] = Some(allowed);
        self.victims.push(at);
        Ok(())
    }

    /// Takes a unit. The core of a gang is taken only together with all of its surplus members; if one is denied,
    /// nothing changes.
    fn take(&mut self, at: usize) -> Result<(), EvictionDenial> {
        let mark = self.victims.len();
        if self.units[at].is_core {
            let surplus = self.by_job.get(&self.units[at].job).cloned().unwrap_or_default();
            for other in surplus.into_iter().filter(|other| *other != at) {
                if self.reasons[other].is_none() && self.take_one(other).is_err() {
                    self.undo(mark);
                    return Err(EvictionDenial::plain(ReclaimRule::Gang, self.units[at].queue));
                }
            }
        }
        self.take_one(at).inspect_err(|_| self.undo(mark))
    }

    /// Gives a victim back. Returns the rule that had allowed it.
    pub fn give_back(&mut self, at: usize) -> Option<EvictionReason> {
        self.board.give_back(&self.units[at]);
        self.reasons[at].take()
    }

    /// Takes a unit again that was just given back.
    pub fn take_again(&mut self, at: usize, reason: Option<EvictionReason>) {
        self.board.take(&self.units[at]);
        self.reasons[at] = reason;
    }

    /// The free amount of an agent after every candidate on it that has arrived is evicted. If only totals count, all
    /// candidates that may be evicted have been taken already.
    pub fn obtainable(&self, agent: usize, column: usize) -> i128 {
        if self.snapshot.agents.is_none() {
            self.board.free.of(agent, column)
        } else {
            self.board.obtainable(agent, column)
        }
    }

    pub fn is_victim(&self, unit: &EvictionUnit) -> bool {
        let units = self.by_job.get(&unit.job);
        units.is_some_and(|units| units.iter().any(|at| self.reasons[*at].is_some() && self.units[*at] == *unit))
    }

    pub fn reason(&self, at: usize) -> Option<&EvictionReason> {
        self.reasons[at].as_ref()
    }

    /// Replaces all victims by other ones, which are in an order in which they may be evicted.
    pub fn take_instead(&mut self, victims: Vec<usize>) {
        self.undo(0);
        for at in &victims {
            let reason = self.policy.before(&self.board.holdings, &self.units[*at]).ok();
            self.take_again(*at, reason);
        }
        self.victims = victims;
    }

    fn undo(&mut self, mark: usize) {
        for at in self.victims.split_off(mark).into_iter().rev() {
            self.give_back(at);
        }
    }

    /// True if the victim at `at` may be given back: the gang then has at least its minimum. Any members may form the
    /// minimum.
    pub fn may_stay(&self, at: usize) -> bool {
        let unit = &self.units[at];
        let left = self.board.holdings.running(unit.job) + self.snapshot.count_kernels(unit.members.clone());
        !self.policy.keeps_gangs_whole() || left >= self.snapshot.jobs[unit.job].core_kernels
    }

    /// Takes victims below every ancestor whose limit the request exceeds.
    fn meet_limits(&mut self, budget: &mut SearchBudget) -> Result<(), GreedyEnd> {
        let (mut next, mut at_limit) = (0, None);
        while let Err(EvictionDenial { level, column, .. }) = limits::check(&self.board.holdings) {
            budget.pay(self.snapshot.path.len())?;
            if at_limit != Some((level, column)) {
                // Candidates that did not help with the last limit may help with this one.
                (next, at_limit) = (0, Some((level, column)));
            }
            let at = if next < self.units.len() { Some(next) } else { self.advance(budget)? };
            let Some(at) = at else { return Err(GreedyEnd::NotFound) };
            next = at + 1;
            let step = self.snapshot.path.iter().position(|q| *q == level).unwrap_or(0);
            let unit = &self.units[at];
            let below =
                self.snapshot.pairs[unit.queue].map_or(unit.queue == self.snapshot.queue(), |pair| pair.step < step);
            let helps = |member| self.snapshot.cells(member).iter().any(|(c, _)| Some(*c) == column);
            if below && self.reasons[at].is_none() && unit.members.clone().any(helps) {
                budget.pay(self.snapshot.weight(unit))?;
                let _ = self.take(at);
            }
        }
        Ok(())
    }

    /// Takes victims until every member of the class has room.
    fn make_room(&mut self, class: &PendingClass, budget: &mut SearchBudget) -> Result<(), GreedyEnd> {
        let need = class.members.len();
        let mut counts: Vec<usize> =
            (0..self.board.free.agents()).map(|a| self.board.free.count(a, class, need)).collect();
        let mut sum = counts.iter().fold(0usize, |sum, count| sum.saturating_add(*count));
        budget.pay(counts.len())?;
        let mut agents: Vec<usize> = (0..counts.len()).filter(|a| !self.waiting[*a].is_empty()).collect();
        while sum < need {
            for agent in agents.drain(..) {
                while sum < need && self.could_gain(agent, class, counts[agent]) {
                    let mark = self.victims.len();
                    if !self.gain(agent, class, counts[agent] + 1, budget)? {
                        break;
                    }
                    for touched in self.agents_of(&self.victims[mark..]) {
                        let count = self.board.free.count(touched, class, need);
                        sum = sum.saturating_sub(counts[touched]).saturating_add(count);
                        counts[touched] = count;
                    }
                }
            }
            if sum < need {
                let Some(at) = self.advance(budget)? else { return Err(GreedyEnd::NotFound) };
                agents = self.agents_of(&[at]);
            }
        }
        Ok(())
    }

    fn agents_of(&self, units: &[usize]) -> Vec<usize> {
        let members = units.iter().flat_map(|at| self.units[*at].members.clone());
        let mut agents: Vec<usize> =
            members.map(|m| self.snapshot.members[m].agent).filter(|agent| *agent != NO_AGENT).collect();
        agents.sort_unstable();
        agents.dedup();
        agents
    }

    /// True if one more member would fit after all candidates on the agent are evicted.
    fn could_gain(&self, agent: usize, class: &PendingClass, count: usize) -> bool {
        let free = |column| self.obtainable(agent, column);
        // If only totals count, candidates are taken at once as they arrive, so that none is looked at twice.
        let comes = self.snapshot.agents.is_none();
        count < class.allowed[agent] && (comes || count_fits(free, &class.request, count + 1) > count)
    }

    /// Takes candidates on the agent, in their order, until `target` members fit there. If they do not, nothing
    /// changes.
    fn gain(
        &mut self,
        agent: usize,
        class: &PendingClass,
        target: usize,
        budget: &mut SearchBudget,
    ) -> Result<bool, BudgetExhausted> {
        let mark = self.victims.len();
        let totals = self.snapshot.agents.is_none();
        let list = if totals { std::mem::take(&mut self.waiting[agent]) } else { self.waiting[agent].clone() };
        for at in list {
            if self.reasons[at].is_some() || !self.contributes(at, agent, class, target) {
                continue;
            }
            budget.pay(self.snapshot.weight(&self.units[at]))?;
            if self.take(at).is_ok() && self.board.free.count(agent, class, target) >= target {
                self.drop_spare(mark, agent, class, target);
                return Ok(true);
            }
        }
        if !totals {
            self.undo(mark);
        }
        Ok(false)
    }

    fn contributes(&self, at: usize, agent: usize, class: &PendingClass, target: usize) -> bool {
        let target = i128::try_from(target).unwrap_or(i128::MAX);
        let lacks = |column: usize| {
            let asked = class.request.iter().find(|(c, _)| *c == column);
            asked.is_some_and(|(_, units)| {
                let wanted = i128::try_from(*units).unwrap_or(i128::MAX).saturating_mul(target);
                self.board.free.of(agent, column) < wanted
            })
        };
        let here = |member: &usize| self.snapshot.members[*member].agent == agent;
        self.units[at].members.clone().filter(here).any(|m| self.snapshot.cells(m).iter().any(|(c, _)| lacks(*c)))
    }

    /// Gives back victims that are no longer needed after the last one was taken.
    fn drop_spare(&mut self, mark: usize, agent: usize, class: &PendingClass, target: usize) {
        for place in (mark..self.victims.len().saturating_sub(1)).rev() {
            let at = self.victims[place];
            if !self.may_stay(at) {
                continue;
            }
            let reason = self.give_back(at);
            if self.board.free.count(agent, class, target) >= target {
                self.victims.remove(place);
            } else {
                self.take_again(at, reason);
            }
        }
    }
}
