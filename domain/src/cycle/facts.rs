//! The request with all names resolved to indices. Nothing here changes during a cycle; what changes is in `room` and in
//! `state`.
//!
//! - Agents are ordered by id, because the smaller id decides where scores are equal. Without agents in the request the
//!   group is one agent, and only totals count.
//! - Equal members have one [`MemberKind`], and workloads that differ only in name, owner, queue, priority and times have
//!   one [`WorkloadShape`]. Everything that is computed for a kind or a shape is computed once, however many workloads are alike.

use std::borrow::Cow;
use std::sync::Arc;

use super::request::options::CycleSettings;
use super::request::workloads::{CycleAgent, CyclePending, CycleRunning};
use super::scores;
use super::shapes::{MemberKind, WorkloadShape};
use crate::decimal::Amount;
use crate::division::{QueueSlotGrid, QueueTree};
use crate::expected_end::end_of_running;
use crate::maps::FastMap;
use crate::placement_rules::Labels;
use crate::reclaim::RunningMember;
use crate::reclaim::input::begin_kernels;
use crate::reclaim::snapshot::{NO_AGENT, cells_of};
use crate::time::{MICROS_PER_SECOND, Timestamp};

/// The domain of an agent that does not have the label.
pub const NO_DOMAIN: usize = usize::MAX;

/// A workload that waits.
pub struct ResolvedWorkload<'a> {
    pub input: &'a CyclePending,
    pub queue: usize,
    pub shape: usize,
    /// Its rank by submission, then by id.
    pub age: usize,
}

/// A term of affinity: workloads with all these labels, near each other by a label of agents.
pub struct TermDomains<'a> {
    pub labels: &'a Labels,
    /// By agent, or [`NO_DOMAIN`].
    pub domain: Arc<Vec<usize>>,
}

/// A running member: what it holds, and its agent, or `NO_AGENT`.
pub struct RunningSeat {
    /// As (column, units of 10^-12), without zeros.
    pub request: Vec<(usize, u128)>,
    pub agent: usize,
    /// True if it is the first part of its kernel, which may be on several agents.
    pub begins_kernel: bool,
}

/// The terms of affinity that a running workload has part in.
#[derive(Default)]
pub struct AffinityPresence {
    pub matching: Vec<usize>,
    pub against: Vec<usize>,
}

pub struct ResolvedRequest<'a> {
    pub capacity: Vec<Amount>,
    /// The capacity with all agents that take no members now, because they may come back.
    pub full_capacity: Vec<Amount>,
    /// True if the request has no agents.
    pub only_totals: bool,
    pub agents: Vec<&'a CycleAgent>,
    /// By agent and column, in units of 10^-12.
    pub total: QueueSlotGrid<u128>,
    pub rows: usize,
    pub kinds: Vec<MemberKind<'a>>,
    pub shapes: Vec<WorkloadShape>,
    /// By shape: what its minimum asks for, by column; where that runs, what the next member asks for.
    pub needs: Vec<Vec<Amount>>,
    pub terms: Vec<TermDomains<'a>>,
    pub workloads: Vec<ResolvedWorkload<'a>>,
    /// By running workload and member.
    pub seats: Vec<Vec<RunningSeat>>,
    /// By running workload.
    pub presences: Vec<AffinityPresence>,
    /// By running workload: the end in microseconds; `None` if it never ends.
    pub ends: Vec<Option<i64>>,
    /// By running workload.
    pub running_queues: Vec<usize>,
    pub preemptible: Vec<bool>,
    /// By running workload: the pending workload that is its rest.
    pub rests: Vec<Option<usize>>,
    /// The weights of scores, by index of the registry.
    pub weights: Vec<Amount>,
    /// The agents of each domain of `same_domain`, where that has a weight.
    pub domains: Option<(Amount, Vec<usize>, Vec<Vec<usize>>)>,
    pub now: Timestamp,
}

/// The parts of a request that facts refer to.
pub struct RequestParts<'a> {
    pub agents: Option<&'a [CycleAgent]>,
    pub running: &'a [CycleRunning],
    pub pending: &'a [CyclePending],
    pub settings: &'a CycleSettings,
    pub now: Timestamp,
}

impl<'a> ResolvedRequest<'a> {
    /// The facts without pending workloads, which `resolve` adds.
    pub fn new(source: &RequestParts<'a>, tree: &QueueTree) -> Self {
        let mut agents: Vec<&CycleAgent> = source.agents.unwrap_or_default().iter().collect();
        agents.sort_unstable_by(|a, b| a.agent_id.cmp(&b.agent_id));
        let only_totals = source.agents.is_none();
        let rows = if only_totals { 1 } else { agents.len() };
        let mut total = QueueSlotGrid::new(rows, tree.slots.len(), 0);
        if only_totals {
            (0..tree.slots.len()).for_each(|column| total[(0, column)] = tree.capacity[column].units());
        }
        for (at, agent) in agents.iter().enumerate() {
            cells_of(tree, &agent.available_slots).for_each(|(column, units)| total[(at, column)] = units);
        }
        let mut full_capacity = tree.capacity.clone();
        if agents.iter().any(|agent| !agent.schedulable) {
            for (column, most) in full_capacity.iter_mut().enumerate() {
                let of_agents = (0..rows).map(|at| Amount::from_units(total[(at, column)]));
                *most = of_agents.fold(Amount::ZERO, Amount::saturating_add).max(*most);
            }
        }
        let mut facts = Self {
            capacity: tree.capacity.clone(),
            full_capacity,
            only_totals,
            agents,
            total,
            rows,
            kinds: Vec::new(),
            shapes: Vec::new(),
            needs: Vec::new(),
            terms: Vec::new(),
            workloads: Vec::with_capacity(source.pending.len()),
            seats: Vec::new(),
            presences: Vec::new(),
            ends: source.running.iter().map(|workload| end_of(workload, source.now)).collect(),
            running_queues: source.running.iter().map(|workload| queue_of(tree, workload.queue.as_deref())).collect(),
            preemptible: source.running.iter().map(|workload| workload.preemptible).collect(),
            rests: vec![None; source.running.len()],
            weights: source.settings.weights.clone(),
            domains: None,
            now: source.now,
        };
        facts.find_domains(source.settings);
        facts.seats = source.running.iter().map(|workload| facts.seats_of(tree, workload)).collect();
        facts
    }

    fn find_domains(&mut self, settings: &CycleSettings) {
        let at = scores::names().position(|name| name == scores::SAME_DOMAIN).unwrap_or_default();
        if settings.weights[at].is_zero() || self.only_totals {
            return;
        }
        let domain_of: Vec<usize> = match &settings.topology_key {
            Some(key) => self.domains_of(key),
            None => (0..self.rows).collect(),
        };
        let count = domain_of.iter().filter(|domain| **domain != NO_DOMAIN).max().map_or(0, |domain| domain + 1);
        let mut members = vec![Vec::new(); count];
        for (agent, domain) in domain_of.iter().enumerate().filter(|(_, domain)| **domain != NO_DOMAIN) {
            members[*domain].push(agent);
        }
        self.domains = Some((settings.weights[at], domain_of, members));
    }

    fn seats_of(&self, tree: &QueueTree, workload: &CycleRunning) -> Vec<RunningSeat> {
        let find = |id: &str| self.agents.binary_search_by(|agent| (*agent.agent_id).cmp(id)).ok();
        let agent = |id: Option<&str>| if self.only_totals { 0 } else { id.and_then(find).unwrap_or(NO_AGENT) };
        let members = workload.members.iter().zip(begin_kernels(&workload.members));
        let seat = |(member, begins_kernel): (&RunningMember, bool)| RunningSeat {
            request: cells_of(tree, &member.slots).collect(),
            agent: agent(member.agent_id.as_deref()),
            begins_kernel,
        };
        members.map(seat).collect()
    }

    /// By agent: the index of the value of the label, or [`NO_DOMAIN`].
    pub fn domains_of(&self, key: &str) -> Vec<usize> {
        let mut known: FastMap<&str, usize> = FastMap::default();
        let domain = |agent: &&'a CycleAgent| {
            let next = known.len();
            agent.label(key).map_or(NO_DOMAIN, |value| *known.entry(value).or_insert(next))
        };
        self.agents.iter().map(domain).collect()
    }

    pub fn shape_of(&self, workload: usize) -> &WorkloadShape {
        &self.shapes[self.workloads[workload].shape]
    }

    pub fn need_of(&self, workload: usize) -> &[Amount] {
        &self.needs[self.workloads[workload].shape]
    }

    /// The amounts that the minimum of a shape asks for, with those that members of it hold already.
    pub fn asked_by_minimum(&self, shape: usize) -> Cow<'_, [Amount]> {
        let (need, shape) = (&self.needs[shape], &self.shapes[shape]);
        let Some(running) = shape.rest_of.filter(|_| shape.minimum() > 0) else { return need.into() };
        let mut asked = need.clone();
        for seat in &self.seats[running] {
            add_times(&mut asked, &seat.request, 1);
        }
        asked.into()
    }

    /// The sum of what the first `number` members in task order ask for that could ever run. `used` has the members of each
    /// group that have started.
    pub fn need_of_members(&self, shape: &WorkloadShape, used: &[usize], number: usize) -> Vec<Amount> {
        let mut need = vec![Amount::ZERO; self.capacity.len()];
        let mut left = number;
        for (group, used) in shape.groups.iter().zip(used).filter(|(group, _)| self.kinds[group.kind].could_run) {
            let taken = (group.count - used).min(left);
            add_times(&mut need, &self.kinds[group.kind].request, taken);
            left -= taken;
        }
        need
    }

    /// True if no waiting member of the workload asks for anything.
    pub fn asks_for_nothing(&self, workload: usize) -> bool {
        self.shape_of(workload).groups.iter().all(|group| self.kinds[group.kind].request.is_empty())
    }

    /// The end of a workload that starts now, in microseconds; `None` if it never ends.
    pub fn end_after_start(&self, workload: usize) -> Option<i64> {
        let seconds = self.workloads[workload].input.expected_seconds?;
        Some(self.now.micros().saturating_add(seconds.saturating_mul(MICROS_PER_SECOND)))
    }
}

/// The queue of that name, which the check of the request has found.
pub fn queue_of(tree: &QueueTree, name: Option<&str>) -> usize {
    name.and_then(|name| tree.find(name)).unwrap_or_default()
}

/// The expected end of a running workload.
fn end_of(workload: &CycleRunning, now: Timestamp) -> Option<i64> {
    Some(end_of_running(workload.started_at?, workload.expected_seconds?, now).micros())
}

/// Adds a request as often as `number` says.
pub fn add_times(sum: &mut [Amount], request: &[(usize, u128)], number: usize) {
    for (column, units) in request {
        sum[*column] = sum[*column].saturating_add(Amount::from_units(units.saturating_mul(number as u128)));
    }
}
