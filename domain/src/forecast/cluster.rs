//! The room of the agents and the limits of the queues, in one possible future.

use std::sync::Arc;

use super::ForecastInput;
use crate::decimal::Amount;
use crate::maps::FastMap;
use crate::slots::{SlotAmounts, SlotName};

/// The part of an amount by which sums of floating-point numbers may be wrong.
const TOLERANCE: f64 = 1e-9;

#[derive(Clone, Debug)]
pub struct ForecastAgent {
    pub slots: SlotAmounts,
    /// False: nothing starts on it any more.
    pub is_schedulable: bool,
}

/// Members that ask for the same and are admitted on the same agents.
#[derive(Debug)]
struct AlikeMembers {
    /// By slot.
    amounts: Vec<f64>,
    admitted: Option<Arc<[bool]>>,
}

/// The requests of a kind's members, as indices of demands with the number of members.
#[derive(Debug)]
struct KindDemand {
    members: Vec<(usize, u32)>,
    minimum: u32,
    queues: Arc<[usize]>,
}

/// The facts that do not change in a forecast.
#[derive(Debug)]
struct ClusterFacts {
    slots: Vec<SlotName>,
    demands: Vec<AlikeMembers>,
    kinds: Vec<KindDemand>,
    is_schedulable: Vec<bool>,
    /// The rest that rounding may leave, by slot.
    tolerances: Vec<f64>,
    /// The limits of each queue, by slot; infinite where there is none.
    limits: Vec<Vec<f64>>,
}

/// The agents of the members that have started: agent, demand, number.
pub type MemberPlaces = Vec<(usize, usize, u32)>;

/// See the module.
#[derive(Clone, Debug)]
pub struct ClusterRoom {
    facts: Arc<ClusterFacts>,
    /// By agent and slot.
    free: Vec<f64>,
    /// The number of members that fit on an agent, by demand and agent.
    copies: Vec<u32>,
    /// The number of members that fit on all agents, by demand.
    fitting: Vec<u64>,
    /// The amounts that queues hold, by slot.
    held: Vec<Vec<f64>>,
}

impl ClusterFacts {
    fn new(input: &ForecastInput) -> Self {
        let mut slots: Vec<SlotName> =
            input.agents.iter().flat_map(|agent| agent.slots.iter()).map(|(slot, _)| slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let mut facts = Self {
            demands: Vec::new(),
            kinds: Vec::new(),
            is_schedulable: input.agents.iter().map(|agent| agent.is_schedulable).collect(),
            tolerances: Vec::new(),
            limits: Vec::new(),
            slots,
        };
        let totals = |slot: &SlotName| {
            let of_agents = input.agents.iter().filter_map(|agent| agent.slots.get(*slot));
            of_agents.map(Amount::to_f64).sum::<f64>() * TOLERANCE
        };
        facts.tolerances = facts.slots.iter().map(totals).collect();
        let mut numbers: FastMap<(&SlotAmounts, Option<&[bool]>), usize> = FastMap::default();
        for kind in &input.kinds {
            let members = kind.members.iter().map(|member| {
                let number = *numbers.entry((&member.slots, member.admitted.as_deref())).or_insert_with(|| {
                    let amounts = facts.amounts(&member.slots, 0.0);
                    facts.demands.push(AlikeMembers { amounts, admitted: member.admitted.clone() });
                    facts.demands.len() - 1
                });
                (number, member.count)
            });
            let members = members.collect();
            facts.kinds.push(KindDemand { members, minimum: kind.minimum, queues: Arc::clone(&kind.queues) });
        }
        facts.limits = input.queue_limits.iter().map(|limit| facts.amounts(limit, f64::INFINITY)).collect();
        facts
    }

    /// The amounts by slot. A slot that no agent offers does not count.
    fn amounts(&self, slots: &SlotAmounts, otherwise: f64) -> Vec<f64> {
        self.slots.iter().map(|slot| slots.get(*slot).map_or(otherwise, Amount::to_f64)).collect()
    }

    fn copies(&self, demand: usize, agent: usize, free: &[f64]) -> u32 {
        let AlikeMembers { amounts, admitted } = &self.demands[demand];
        if !self.is_schedulable[agent] || admitted.as_ref().is_some_and(|admitted| !admitted[agent]) {
            return 0;
        }
        let fitting = amounts.iter().zip(free).zip(&self.tolerances).map(|((asked, free), tolerance)| {
            if *asked > 0.0 { ((free + tolerance) / asked).max(0.0) } else { f64::INFINITY }
        });
        // The cast saturates where members ask for nothing.
        fitting.fold(f64::INFINITY, f64::min) as u32
    }
}

impl ClusterRoom {
    /// The room of agents on which nothing runs.
    pub fn empty(input: &ForecastInput) -> Self {
        let facts = Arc::new(ClusterFacts::new(input));
        let free: Vec<f64> = input.agents.iter().flat_map(|agent| facts.amounts(&agent.slots, 0.0)).collect();
        let none = vec![vec![0.0; facts.slots.len()]; facts.limits.len()];
        let agents = input.agents.len();
        let mut room = Self {
            copies: vec![0; facts.demands.len() * agents],
            fitting: vec![0; facts.demands.len()],
            held: none,
            free,
            facts,
        };
        for agent in 0..agents {
            room.count_copies(agent);
        }
        room
    }

    /// Takes what a running workload holds.
    pub fn take(&mut self, members: &[(usize, SlotAmounts)], queues: &[usize]) {
        self.change(members, queues, -1.0);
    }

    pub fn give_back(&mut self, members: &[(usize, SlotAmounts)], queues: &[usize]) {
        self.change(members, queues, 1.0);
    }

    fn change(&mut self, members: &[(usize, SlotAmounts)], queues: &[usize], sign: f64) {
        for (agent, slots) in members {
            let amounts = self.facts.amounts(slots, 0.0);
            self.change_agent(*agent, &amounts, sign);
            self.change_queues(queues, &amounts, -sign);
        }
    }

    /// Adds the amounts, `times` times, to what is free on the agent.
    fn change_agent(&mut self, agent: usize, amounts: &[f64], times: f64) {
        let width = self.facts.slots.len();
        for (free, amount) in self.free[agent * width..(agent + 1) * width].iter_mut().zip(amounts) {
            *free += times * amount;
        }
        self.count_copies(agent);
    }

    /// Adds the amounts, `times` times, to what the queues hold.
    fn change_queues(&mut self, queues: &[usize], amounts: &[f64], times: f64) {
        for queue in queues {
            for (held, amount) in self.held[*queue].iter_mut().zip(amounts) {
                *held += times * amount;
            }
        }
    }

    /// Counts again how many members of each demand fit on the agent.
    fn count_copies(&mut self, agent: usize) {
        let (agents, width) = (self.facts.is_schedulable.len(), self.facts.slots.len());
        let free = &self.free[agent * width..(agent + 1) * width];
        for demand in 0..self.fitting.len() {
            let now = self.facts.copies(demand, agent, free);
            let before = std::mem::replace(&mut self.copies[demand * agents + agent], now);
            self.fitting[demand] = self.fitting[demand] - u64::from(before) + u64::from(now);
        }
    }

    /// True if there is room for the minimum of the kind, and its queues allow it, as far as that can be said without placing its
    /// members.
    pub fn may_fit(&self, kind: usize) -> bool {
        let KindDemand { members, minimum, .. } = &self.facts.kinds[kind];
        let fitting: u64 = members.iter().map(|(demand, count)| self.fitting[*demand].min(u64::from(*count))).sum();
        fitting >= u64::from(*minimum) && self.is_within_limits(kind)
    }

    /// True if queues have limits.
    pub fn has_limits(&self) -> bool {
        !self.facts.limits.is_empty()
    }

    /// True if the queues of the kind allow its minimum.
    pub fn is_within_limits(&self, kind: usize) -> bool {
        let KindDemand { members, minimum, queues } = &self.facts.kinds[kind];
        queues.iter().all(|queue| {
            let (held, limits) = (&self.held[*queue], &self.facts.limits[*queue]);
            (0..held.len()).all(|slot| {
                // The members in front are those that start first.
                let (mut left, mut asked) = (*minimum, 0.0);
                for (demand, count) in members {
                    let some = left.min(*count);
                    asked += f64::from(some) * self.facts.demands[*demand].amounts[slot];
                    left -= some;
                }
                held[slot] + asked <= limits[slot] + self.facts.tolerances[slot]
            })
        })
    }

    /// Starts the minimum of the kind, and the members above it as far as they have room. `None`: the minimum does not fit,
    /// and nothing has changed.
    pub fn start(&mut self, kind: usize) -> Option<MemberPlaces> {
        if !self.may_fit(kind) {
            return None;
        }
        let facts = Arc::clone(&self.facts);
        let KindDemand { members, minimum, queues } = &facts.kinds[kind];
        let mut places = MemberPlaces::new();
        let mut started = 0;
        for (demand, count) in members {
            let allowed = self.allowed_members(*demand, queues).min(*count);
            let some = self.start_members(*demand, allowed, &mut places);
            self.change_queues(queues, &facts.demands[*demand].amounts, f64::from(some));
            started += some;
        }
        if started < *minimum {
            self.end(kind, &places);
            return None;
        }
        Some(places)
    }

    /// The number of members that the limits of the queues allow.
    fn allowed_members(&self, demand: usize, queues: &[usize]) -> u32 {
        let facts = &self.facts;
        let allowed = queues.iter().flat_map(|queue| {
            let (held, limits) = (&self.held[*queue], &facts.limits[*queue]);
            facts.demands[demand].amounts.iter().enumerate().map(move |(slot, amount)| {
                let left = limits[slot] - held[slot] + facts.tolerances[slot];
                if *amount > 0.0 { (left / amount).max(0.0) } else { f64::INFINITY }
            })
        });
        allowed.fold(f64::INFINITY, f64::min) as u32
    }

    /// Starts members where they fit, on the first agents with room. Returns how many.
    fn start_members(&mut self, demand: usize, count: u32, places: &mut MemberPlaces) -> u32 {
        let agents = self.facts.is_schedulable.len();
        let facts = Arc::clone(&self.facts);
        let mut left = count;
        while left > 0 && self.fitting[demand] > 0 {
            let copies = &self.copies[demand * agents..(demand + 1) * agents];
            let Some(agent) = copies.iter().position(|copies| *copies > 0) else { break };
            let some = left.min(copies[agent]);
            self.change_agent(agent, &facts.demands[demand].amounts, -f64::from(some));
            places.push((agent, demand, some));
            left -= some;
        }
        count - left
    }

    /// Ends a workload that has started here.
    pub fn end(&mut self, kind: usize, places: &MemberPlaces) {
        let facts = Arc::clone(&self.facts);
        for (agent, demand, count) in places {
            let (amounts, count) = (&facts.demands[*demand].amounts, f64::from(*count));
            self.change_agent(*agent, amounts, count);
            self.change_queues(&facts.kinds[kind].queues, amounts, -count);
        }
    }
}
