//! The free slots of all agents, and the members on them as far as affinity counts them. It changes with every start and
//! eviction.
//!
//! For each kind of member an [`AgentIndex`] keeps the agents on which one more would fit, the best score first. Changes
//! of agents are written into a log. An index reads what is new in the log when it is used, so that a start costs nothing
//! for kinds that are not asked for any more.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::facts::{NO_DOMAIN, ResolvedRequest};
use super::predicates::{self, AgentCandidate, NeighbourCounts, PREDICATES};
use super::request::workloads::CycleAgent;
use super::scores::{MemberOnAgent, weighted};
use super::shapes::{MemberKind, PredicateSet, WorkloadShape};
use crate::division::QueueSlotGrid;
use crate::maps::FastMap;
use crate::reclaim::free_capacity::count_fits;
use crate::reclaim::snapshot::NO_AGENT;

/// The largest number of pairs of a kind and an agent that indexes keep. Beyond it they are built again when needed.
const MAX_INDEXED: usize = 4_000_000;

/// The smallest number of changes that the log keeps.
const MIN_LOGGED: usize = 64;

/// A member as the room counts it.
#[derive(Clone, Copy)]
pub struct CountedMember<'f> {
    pub request: &'f [(usize, u128)],
    pub matching: &'f [usize],
    pub against: &'f [usize],
    /// The pending workload that it belongs to, if that counts its members by agent.
    pub workload: Option<usize>,
}

pub struct AgentOccupancy<'a> {
    pub facts: &'a ResolvedRequest<'a>,
    free: QueueSlotGrid<i128>,
    /// By term and domain: the members whose workload has the labels of the term.
    present: FastMap<(usize, usize), usize>,
    /// By term: the same in all domains.
    present_anywhere: Vec<usize>,
    /// By term and domain: the members whose workload is against the term.
    opposed: FastMap<(usize, usize), usize>,
    /// By pending workload and agent.
    own: FastMap<(usize, usize), usize>,
    /// The agents that changed last, in the order of the changes.
    log: Vec<usize>,
    /// How many changes are in the log no more.
    forgotten: usize,
    indexes: Vec<Option<AgentIndex>>,
    indexed: usize,
    /// The predicates on agents that count here.
    considered: PredicateSet,
}

impl<'a> AgentOccupancy<'a> {
    /// All agents without any member, cordoned ones included.
    pub fn empty(facts: &'a ResolvedRequest<'a>) -> Self {
        let width = facts.capacity.len();
        let mut free = QueueSlotGrid::new(facts.rows, width, 0);
        for agent in 0..facts.rows {
            for column in 0..width {
                free[(agent, column)] = i128::try_from(facts.total[(agent, column)]).unwrap_or(i128::MAX);
            }
        }
        Self {
            facts,
            free,
            present: FastMap::default(),
            present_anywhere: vec![0; facts.terms.len()],
            opposed: FastMap::default(),
            own: FastMap::default(),
            log: Vec::new(),
            forgotten: 0,
            indexes: (0..facts.kinds.len()).map(|_| None).collect(),
            indexed: 0,
            considered: predicates::lasting(),
        }
    }

    /// Heeds that agents are cordoned.
    pub fn heed_all_predicates(&mut self) {
        self.considered = PredicateSet::MAX;
        self.indexes.iter_mut().for_each(|index| *index = None);
    }

    /// The same room for a look at another moment.
    pub fn copied(&self) -> Self {
        Self {
            facts: self.facts,
            free: self.free.clone(),
            present: self.present.clone(),
            present_anywhere: self.present_anywhere.clone(),
            opposed: self.opposed.clone(),
            own: self.own.clone(),
            log: Vec::new(),
            forgotten: 0,
            indexes: (0..self.indexes.len()).map(|_| None).collect(),
            indexed: 0,
            considered: self.considered,
        }
    }

    pub fn free(&self, agent: usize, column: usize) -> i128 {
        self.free[(agent, column)]
    }

    pub fn free_of_all(&self) -> &QueueSlotGrid<i128> {
        &self.free
    }

    pub fn request(&self, kind: usize) -> &'a [(usize, u128)] {
        &self.facts.kinds[kind].request
    }

    /// True if a predicate refuses the agent whatever runs there.
    pub fn refuses(&self, kind: usize, agent: usize) -> bool {
        self.refusing(kind, agent) != 0
    }

    pub fn refusing(&self, kind: usize, agent: usize) -> PredicateSet {
        self.facts.kinds[kind].refusing[agent] & self.considered
    }

    /// True if workloads of this shape count their members by agent.
    pub fn counts_members(&self, shape: &WorkloadShape) -> bool {
        shape.max_per_agent.is_some() || self.facts.domains.is_some()
    }

    pub fn footprint(&self, workload: usize, kind: usize) -> CountedMember<'a> {
        let facts = self.facts;
        let shape = facts.shape_of(workload);
        CountedMember {
            request: &facts.kinds[kind].request,
            matching: &shape.matching,
            against: &shape.against,
            workload: self.counts_members(shape).then_some(workload),
        }
    }

    /// True if the member may run on the agent beside what runs there. Slots are not asked for.
    pub fn admits(&self, workload: usize, kind: usize, agent: usize) -> bool {
        let shape = self.facts.shape_of(workload);
        let candidate = || AgentCandidate { room: self, shape, workload, agent };
        !self.refuses(kind, agent) && (!shape.looks_at_others() || predicates::admits_beside(&candidate()))
    }

    /// How many agents each predicate refuses for a member, by index of their registry; `None` if one agent passes.
    pub fn refusals(&self, workload: usize, kind: usize) -> Option<Vec<usize>> {
        let shape = self.facts.shape_of(workload);
        let mut refused = vec![0; PREDICATES.len()];
        for agent in 0..self.facts.rows {
            let candidate = AgentCandidate { room: self, shape, workload, agent };
            refused[predicates::first_refusing(self.refusing(kind, agent), &candidate)?] += 1;
        }
        Some(refused)
    }

    /// True if a member of the kind has room on the agent.
    pub fn has_room(&self, kind: usize, agent: usize) -> bool {
        self.count(kind, agent, 1) > 0
    }

    /// How many members of the kind have room on the agent, at most `most`.
    pub fn count(&self, kind: usize, agent: usize, most: usize) -> usize {
        count_fits(|column| self.free[(agent, column)], self.request(kind), most)
    }

    pub fn put(&mut self, member: CountedMember, agent: usize) {
        self.change(member, agent, true);
    }

    pub fn take_away(&mut self, member: CountedMember, agent: usize) {
        self.change(member, agent, false);
    }

    fn change(&mut self, member: CountedMember, agent: usize, arrives: bool) {
        if agent == NO_AGENT {
            return;
        }
        let sign = if arrives { -1 } else { 1 };
        self.change_free(agent, member.request, sign);
        let count = |counts: &mut FastMap<_, usize>, key: (usize, usize)| {
            let count = counts.entry(key).or_default();
            *count = if arrives { *count + 1 } else { count.saturating_sub(1) };
        };
        for term in member.matching {
            let anywhere = &mut self.present_anywhere[*term];
            *anywhere = if arrives { *anywhere + 1 } else { anywhere.saturating_sub(1) };
            let domain = self.facts.terms[*term].domain[agent];
            count(&mut self.present, (*term, domain));
        }
        for term in member.against {
            let domain = self.facts.terms[*term].domain[agent];
            count(&mut self.opposed, (*term, domain));
        }
        if let Some(workload) = member.workload {
            count(&mut self.own, (workload, agent));
        }
    }

    /// Adds to the free slots of an agent (`sign` 1), or takes from them (`sign` -1).
    pub fn change_free(&mut self, agent: usize, cells: &[(usize, u128)], sign: i128) {
        for (column, units) in cells {
            let free = &mut self.free[(agent, *column)];
            *free = free.saturating_add(sign * i128::try_from(*units).unwrap_or(i128::MAX));
        }
        if !cells.is_empty() {
            self.log.push(agent);
        }
        // An index that has missed more changes than there are agents is built again, so that older ones need not be kept.
        if self.log.len() > 2 * (self.facts.rows + MIN_LOGGED) {
            let old = self.log.len() / 2;
            self.log.drain(..old);
            self.forgotten += old;
        }
    }

    /// How many changes there were.
    fn changes(&self) -> usize {
        self.forgotten + self.log.len()
    }

    /// Hands out the index of a kind, up to date. It has to come back with [`AgentOccupancy::keep_index`].
    pub fn lend_index(&mut self, kind: usize) -> AgentIndex {
        let mut index = self.indexes[kind].take().unwrap_or_else(|| {
            if self.indexed > MAX_INDEXED {
                self.indexes.iter_mut().for_each(|index| *index = None);
                self.indexed = 0;
            }
            self.indexed += self.facts.rows;
            AgentIndex::new(self, kind)
        });
        index.refresh(self, kind);
        index
    }

    pub fn keep_index(&mut self, kind: usize, index: AgentIndex) {
        self.indexes[kind] = Some(index);
    }

    /// The weighted score of an agent for one more member of the kind; `None` if it has no room or is refused.
    fn score(&self, kind: usize, agent: usize) -> Option<u128> {
        if self.refuses(kind, agent) || !self.has_room(kind, agent) {
            return None;
        }
        let member: &MemberKind = &self.facts.kinds[kind];
        let known: Option<&CycleAgent> = self.facts.agents.get(agent).copied();
        let seat =
            MemberOnAgent { member, agent: known, free: self.free.row(agent), total: self.facts.total.row(agent) };
        Some(weighted(&self.facts.weights, &seat))
    }
}

impl NeighbourCounts for AgentOccupancy<'_> {
    fn domain(&self, term: usize, agent: usize) -> Option<usize> {
        Some(self.facts.terms[term].domain[agent]).filter(|domain| *domain != NO_DOMAIN)
    }

    fn present(&self, term: usize, domain: usize) -> usize {
        self.present.get(&(term, domain)).copied().unwrap_or(0)
    }

    fn present_anywhere(&self, term: usize) -> usize {
        self.present_anywhere[term]
    }

    fn opposed(&self, term: usize, domain: usize) -> usize {
        self.opposed.get(&(term, domain)).copied().unwrap_or(0)
    }

    fn members_on(&self, workload: usize, agent: usize) -> usize {
        self.own.get(&(workload, agent)).copied().unwrap_or(0)
    }
}

/// The agents on which a member of a kind would fit, the best first: the highest score, then the smallest id.
pub struct AgentIndex {
    /// How many changes are in the index.
    read: usize,
    /// By agent.
    scores: Vec<Option<u128>>,
    order: BTreeSet<(Reverse<u128>, usize)>,
}

impl AgentIndex {
    fn new(room: &AgentOccupancy, kind: usize) -> Self {
        let scores: Vec<Option<u128>> = (0..room.facts.rows).map(|agent| room.score(kind, agent)).collect();
        let known = scores.iter().enumerate().filter_map(|(agent, score)| Some((Reverse((*score)?), agent)));
        Self { read: room.changes(), order: known.collect(), scores }
    }

    fn refresh(&mut self, room: &AgentOccupancy, kind: usize) {
        if room.changes() - self.read > room.facts.rows {
            *self = Self::new(room, kind);
        }
        for agent in &room.log[self.read - room.forgotten..] {
            let score = room.score(kind, *agent);
            if score != self.scores[*agent] {
                if let Some(old) = self.scores[*agent] {
                    self.order.remove(&(Reverse(old), *agent));
                }
                if let Some(new) = score {
                    self.order.insert((Reverse(new), *agent));
                }
                self.scores[*agent] = score;
            }
        }
        self.read = room.changes();
    }

    /// The agents in order.
    pub fn agents(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().map(|(_, agent)| *agent)
    }

    /// The agents with their scores, in order.
    pub fn scored(&self) -> impl Iterator<Item = (usize, u128)> + '_ {
        self.order.iter().map(|(score, agent)| (*agent, score.0))
    }
}
