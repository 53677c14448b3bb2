//! The second stage of the search (DIVISION §6, "What a refusal means"). If taking candidates in their order makes no
//! room, other sets of victims are tried until one is lawful or none is left. The members of the pending workload are
//! put on agents one by one, each with the victims that it needs there. Then victims are added until limits, gangs and
//! the rules for the whole plan hold. Every decision is tried both ways, unless no lawful set can follow from it.

use super::ceilings::may_suffice;
use super::kinds::UnitKinds;
use crate::decimal::Amount;
use crate::division::QueueSlotGrid;
use crate::reclaim::board::EvictionBoard;
use crate::reclaim::budget::{BudgetExhausted, SearchBudget};
use crate::reclaim::free_capacity::{FreeCapacity, PendingClass};
use crate::reclaim::limits;
use crate::reclaim::policy::EvictionPolicy;
use crate::reclaim::snapshot::{ComparedQueues, EvictionUnit, ReclaimSnapshot};

/// The decision about a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnitState {
    Open,
    FoundPlan,
    PluginDenial,
}

/// A decision that can be undone.
enum UnitDecision {
    Take(usize),
    /// The unit stays, and with it all undecided units of its kind.
    Keep(Vec<usize>),
    /// The next pending member is put on an agent.
    Put,
}

enum NextChoice {
    Take(usize),
    /// Put the next member on the agent at this index of `agents`, or on a later one.
    PutFrom(usize),
    DeadEnd,
    Done,
}

pub struct BacktrackSearch<'s, 'a> {
    snapshot: &'a ReclaimSnapshot<'a>,
    policy: &'a dyn EvictionPolicy,
    classes: &'a [PendingClass],
    /// The candidates, in the order in which they lose.
    units: &'s [EvictionUnit],
    kinds: UnitKinds,
    board: EvictionBoard<'a>,
    states: Vec<UnitState>,
    /// Agents in the order in which they are tried: the agent whose unit loses first comes first.
    agents: Vec<usize>,
    /// The class of each pending member.
    members: Vec<usize>,
    /// The index in `agents` for each member that is already put on an agent.
    places: Vec<usize>,
    taken: Vec<usize>,
    decisions: Vec<UnitDecision>,
    /// By step of the reclaimer's path: the amounts that its side holds with the request after all candidates inside
    /// are evicted.
    least: QueueSlotGrid<Amount>,
}

impl<'s, 'a> BacktrackSearch<'s, 'a> {
    pub fn new(
        (snapshot, policy, classes): (&'a ReclaimSnapshot<'a>, &'a dyn EvictionPolicy, &'a [PendingClass]),
        units: &'s [EvictionUnit],
        request: Vec<Amount>,
        free: FreeCapacity<'a>,
    ) -> Self {
        let least = least_holdings(snapshot, &request, units);
        let members = classes.iter().enumerate().flat_map(|(at, class)| vec![at; class.members.len()]).collect();
        let mut search = Self {
            snapshot,
            policy,
            classes,
            units,
            kinds: UnitKinds::default(),
            board: EvictionBoard::new(snapshot, request, free),
            states: vec![UnitState::Open; units.len()],
            agents: Vec::new(),
            members,
            places: Vec::new(),
            taken: Vec::new(),
            decisions: Vec::new(),
            least,
        };
        search.keep_hopeless_sides();
        search
    }

    /// Keeps all units of the sides that would end worse off than the reclaimer, whatever else is evicted.
    fn keep_hopeless_sides(&mut self) {
        let mut hopeless: Vec<Option<bool>> = vec![None; self.snapshot.tree.len()];
        for at in 0..self.units.len() {
            let queue = self.units[at].queue;
            if *hopeless[queue].get_or_insert_with(|| self.is_hopeless(queue)) {
                self.states[at] = UnitState::PluginDenial;
            } else {
                self.board.promise(&self.units[at]);
            }
        }
    }

    fn is_hopeless(&self, queue: usize) -> bool {
        let Some(pair) = self.snapshot.pairs[queue] else { return false };
        self.policy.is_hopeless(&self.board.holdings, queue, self.least.row(pair.step))
    }

    /// False if there is certainly no lawful set: some class has no room even if all undecided units are evicted, or
    /// more has to be freed than is allowed.
    fn may_exist(&self) -> bool {
        let has_room = |class: &PendingClass| {
            let need = class.members.len();
            let mut sum = 0;
            (0..self.board.free.agents()).any(|agent| {
                sum += self.board.most(agent, class, need);
                sum >= need
            })
        };
        let open = self.units.iter().zip(&self.states).filter(|(_, state)| **state == UnitState::Open);
        self.classes.iter().all(has_room)
            && may_suffice(
                (self.snapshot, self.policy, self.classes),
                &self.board.free,
                (&self.board.holdings, &self.least),
                open.map(|(unit, _)| unit).collect(),
            )
    }

    /// Victims in an order in which they may be evicted; `None` if there is no lawful set.
    pub fn find(mut self, budget: &mut SearchBudget) -> Result<Option<Vec<usize>>, BudgetExhausted> {
        budget.pay((self.board.free.agents() + self.units.len()).saturating_mul(1 + self.snapshot.width()))?;
        if !self.may_exist() {
            return Ok(None);
        }
        self.kinds = UnitKinds::new(self.snapshot, self.policy, self.units, self.board.free.agents());
        self.agents = self.kinds.agents_in_order();
        loop {
            budget.pay(self.taken.len() + self.snapshot.path.len())?;
            let has_more_steps = match self.next(budget)? {
                NextChoice::Done => {
                    let taken = self.taken.clone();
                    return self.order(taken, budget);
                }
                NextChoice::Take(at) => {
                    if self.take(at, budget)? {
                        self.decisions.push(UnitDecision::Take(at));
                    } else {
                        self.keep(at);
                    }
                    true
                }
                NextChoice::PutFrom(place) => self.put_from(place, budget)? || self.back(budget)?,
                NextChoice::DeadEnd => self.back(budget)?,
            };
            if !has_more_steps {
                return Ok(None);
            }
        }
    }

    /// The next decision to make.
    fn next(&self, budget: &mut SearchBudget) -> Result<NextChoice, BudgetExhausted> {
        if let Some(place) = self.places.last() {
            let (agent, class) = (self.agents[*place], &self.classes[self.members[self.places.len() - 1]]);
            let lacks = |column: usize| {
                self.board.free.of(agent, column) < 0 && class.request.iter().any(|(asked, _)| *asked == column)
            };
            if class.request.iter().any(|(c, _)| self.board.obtainable(agent, *c) < 0) {
                return Ok(NextChoice::DeadEnd);
            }
            if class.request.iter().any(|(c, _)| lacks(*c)) {
                let here = |m: &usize| self.snapshot.members[*m].agent == agent;
                let frees = |at: usize| {
                    let mut members = self.units[at].members.clone().filter(here);
                    members.any(|m| self.snapshot.cells(m).iter().any(|(column, _)| lacks(*column)))
                };
                return self.first_open(self.kinds.on(agent), frees, budget);
            }
        }
        if self.places.len() < self.members.len() {
            let alike =
                self.places.last().filter(|_| self.members[self.places.len()] == self.members[self.places.len() - 1]);
            // A member that equals the one before starts at the agent of that one. Otherwise sets that differ only in
            // swapped members would be tried too.
            return Ok(NextChoice::PutFrom(alike.copied().unwrap_or(0)));
        }
        self.complete(budget)
    }

    /// The next decision once all members have room, until the set is lawful.
    fn complete(&self, budget: &mut SearchBudget) -> Result<NextChoice, BudgetExhausted> {
        let all = self.kinds.all();
        if let Err(denied) = limits::check(&self.board.holdings) {
            let step = self.snapshot.path.iter().position(|q| *q == denied.level).unwrap_or(0);
            // Units of the reclaimer's own queues count as well (`pairs` has no entry for them): a preemption takes
            // them.
            let below = |queue: usize| self.snapshot.pairs[queue].is_none_or(|pair| pair.step < step);
            let frees = |at: usize| {
                let mut members = self.units[at].members.clone();
                below(self.units[at].queue)
                    && members.any(|m| self.snapshot.cells(m).iter().any(|(c, _)| Some(*c) == denied.column))
            };
            return self.first_open(all, frees, budget);
        }
        if self.policy.keeps_gangs_whole()
            && let Some(job) = self.taken.iter().map(|at| self.units[*at].job).find(|job| self.is_broken(*job))
        {
            return self.first_open(all, |at| self.units[at].job == job, budget);
        }
        for at in &self.taken {
            let queue = self.units[*at].queue;
            if self.policy.after(&self.board.holdings, queue).is_ok() {
                continue;
            }
            let Some(pair) = self.snapshot.pairs[queue] else { return Ok(NextChoice::DeadEnd) };
            // More victims of the same side make it worse. Only victims inside of the reclaimer's side, at a lower
            // step, help.
            let helps = |other: ComparedQueues| other.step < pair.step;
            return self.first_open(all, |at| self.snapshot.pairs[self.units[at].queue].is_some_and(helps), budget);
        }
        Ok(NextChoice::Done)
    }

    /// True if members of a gang are left, but fewer than it needs.
    fn is_broken(&self, job: usize) -> bool {
        let left = self.board.holdings.running(job);
        left > 0 && left < self.snapshot.jobs[job].core_kernels
    }

    fn first_open(
        &self,
        among: &[usize],
        serves: impl Fn(usize) -> bool,
        budget: &mut SearchBudget,
    ) -> Result<NextChoice, BudgetExhausted> {
        budget.pay(among.len())?;
        let open = |at: &usize| self.states[*at] == UnitState::Open && serves(*at);
        Ok(among.iter().copied().find(open).map_or(NextChoice::DeadEnd, NextChoice::Take))
    }

    /// Takes the unit if it and the earlier victims may be evicted in some order. Returns whether it did.
    fn take(&mut self, at: usize, budget: &mut SearchBudget) -> Result<bool, BudgetExhausted> {
        let unit = &self.units[at];
        budget.pay(self.snapshot.weight(unit))?;
        let last = self.policy.before(&self.board.holdings, unit).is_ok();
        self.board.holdings.take(unit);
        let lawful = if self.is_hopeless(unit.queue) {
            false
        } else if last {
            true
        } else {
            // Only units that are compared with the same side influence each other.
            let side = |at: usize| self.snapshot.pairs[self.units[at].queue].map(|pair| pair.theirs);
            let mut same: Vec<usize> = self.taken.iter().copied().filter(|other| side(*other) == side(at)).collect();
            same.push(at);
            self.order(same, budget)?.is_some()
        };
        if !lawful {
            self.board.holdings.give_back(unit);
            return Ok(false);
        }
        self.board.vacate(unit);
        self.states[at] = UnitState::FoundPlan;
        self.taken.push(at);
        Ok(true)
    }

    /// An order in which the units of `rest` may be evicted after all other victims. It is built from its end: a unit
    /// that may be evicted last of a set may also be evicted last of any part of the set, so no choice has to be tried
    /// twice.
    fn order(
        &mut self,
        mut rest: Vec<usize>,
        budget: &mut SearchBudget,
    ) -> Result<Option<Vec<usize>>, BudgetExhausted> {
        let mut backwards = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let mut last = None;
            for place in (0..rest.len()).rev() {
                let unit = &self.units[rest[place]];
                budget.pay(self.snapshot.weight(unit))?;
                self.board.holdings.give_back(unit);
                if self.policy.before(&self.board.holdings, unit).is_ok() {
                    last = Some(place);
                    break;
                }
                self.board.holdings.take(unit);
            }
            let Some(place) = last else { break };
            backwards.push(rest.remove(place));
        }
        for at in &backwards {
            self.board.holdings.take(&self.units[*at]);
        }
        backwards.reverse();
        Ok(rest.is_empty().then_some(backwards))
    }

    /// Keeps the unit and all undecided units of its kind.
    fn keep(&mut self, at: usize) {
        let alike = self.kinds.units_of_kind(at).iter().copied();
        let kept: Vec<usize> = alike.filter(|other| self.states[*other] == UnitState::Open).collect();
        for other in kept.iter().copied() {
            self.states[other] = UnitState::PluginDenial;
            self.board.withdraw(&self.units[other]);
        }
        self.decisions.push(UnitDecision::Keep(kept));
    }

    /// Puts the next member on the first agent that could have room for it, beginning at index `from`.
    fn put_from(&mut self, from: usize, budget: &mut SearchBudget) -> Result<bool, BudgetExhausted> {
        let class = &self.classes[self.members[self.places.len()]];
        let could = |place: &usize| self.board.most(self.agents[*place], class, 1) > 0;
        let found = (from..self.agents.len()).find(could);
        budget.pay(found.unwrap_or(self.agents.len()) - from)?;
        let Some(place) = found else { return Ok(false) };
        self.board.free.change(self.agents[place], &class.request, -1);
        self.places.push(place);
        self.decisions.push(UnitDecision::Put);
        Ok(true)
    }

    /// Undoes decisions back to the last one that has another way, and takes that way. Returns false if there is none
    /// left.
    fn back(&mut self, budget: &mut SearchBudget) -> Result<bool, BudgetExhausted> {
        while let Some(decision) = self.decisions.pop() {
            budget.pay(0)?;
            match decision {
                UnitDecision::Take(at) => {
                    let unit = &self.units[at];
                    budget.pay(self.snapshot.weight(unit))?;
                    self.board.give_back(unit);
                    self.states[at] = UnitState::Open;
                    self.taken.pop();
                    self.keep(at);
                    return Ok(true);
                }
                UnitDecision::Keep(kept) => {
                    for at in kept {
                        self.states[at] = UnitState::Open;
                        self.board.promise(&self.units[at]);
                    }
                }
                UnitDecision::Put => {
                    let Some(place) = self.places.pop() else { continue };
                    let class = &self.classes[self.members[self.places.len()]];
                    self.board.free.change(self.agents[place], &class.request, 1);
                    if self.put_from(place + 1, budget)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}

/// By step: the amounts that the reclaimer's side holds with the request after every candidate inside of it is evicted.
fn least_holdings(snapshot: &ReclaimSnapshot, request: &[Amount], units: &[EvictionUnit]) -> QueueSlotGrid<Amount> {
    let mut gone = QueueSlotGrid::new(snapshot.path.len(), snapshot.width(), 0u128);
    for unit in units {
        let inside = snapshot.pairs[unit.queue].map_or(0, |pair| pair.step + 1);
        for (column, amount) in unit.members.clone().flat_map(|member| snapshot.cells(member)) {
            if inside < snapshot.path.len() {
                gone[(inside, *column)] = gone[(inside, *column)].saturating_add(*amount);
            }
        }
    }
    for (step, column) in
        (1..snapshot.path.len()).flat_map(|step| (0..snapshot.width()).map(move |column| (step, column)))
    {
        gone[(step, column)] = gone[(step, column)].saturating_add(gone[(step - 1, column)]);
    }
    let mut least = QueueSlotGrid::new(snapshot.path.len(), snapshot.width(), Amount::ZERO);
    for (step, queue) in snapshot.path.iter().enumerate() {
        for column in 0..snapshot.width() {
            let held = snapshot.tree.allocated[(*queue, column)].units().saturating_sub(gone[(step, column)]);
            least[(step, column)] = Amount::from_units(held).saturating_add(request[column]);
        }
    }
    least
}
