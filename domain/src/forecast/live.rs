//! The input of a forecast, from the workloads of a group and its agents and queues.

use std::sync::Arc;

use super::{
    ForecastAgent, ForecastInput, ForecastMember, ForecastRunning, ForecastWorkload, JobClass, OwnerOrder,
    PastSubmission, RunTimeModel, RunTimeSource, WorkloadKind,
};
use crate::cycle::BackfillMode;
use crate::ids::Member;
use crate::kernel_agents::AgentPart;
use crate::maps::{FastMap, FastSet};
use crate::placement_rules::PlacementRules;
use crate::queues::{Bound, LiveKernel, QueueConfigs};
use crate::slots::SlotAmounts;
use crate::time::{MICROS_PER_SECOND, Timestamp};
use crate::workloads::{AgentTotals, MemberDemand, WorkloadMember, WorkloadMembers, WorkloadStatus, group_members};

/// An agent of a group.
#[derive(Clone, Debug)]
pub struct LiveAgent<'a> {
    pub agent_id: &'a str,
    pub totals: AgentTotals<'a>,
    /// False: nothing starts on it any more.
    pub is_schedulable: bool,
}

/// Members that are alike, with their placement rules.
#[derive(Clone, Debug)]
struct LikeMembers {
    slots: SlotAmounts,
    count: u32,
    /// `None`: they have none.
    rules: Option<Arc<PlacementRules>>,
}

/// The members of a workload that have to start, and its queue.
#[derive(Clone, Debug)]
struct WorkloadDemand {
    members: Vec<LikeMembers>,
    minimum: u32,
    queue: Arc<str>,
}

impl WorkloadDemand {
    /// The demand of the members that wait.
    fn of_waiting(workload: &WorkloadMembers, queue: &str) -> Self {
        let (waiting, needed) = workload.waiting_members();
        let minimum = u32::try_from(needed).unwrap_or(u32::MAX);
        Self { members: like_members(waiting.into_iter()), minimum, queue: Arc::from(queue) }
    }

    /// The demand that the workload had at its submission.
    fn of_all(workload: &WorkloadMembers, queue: &str) -> Self {
        let members = workload.members().iter();
        let demands = members.map(|m| MemberDemand { rules: m.kernel.rules.as_deref(), slots: &m.kernel.slots });
        let members = like_members(demands);
        let all = members.iter().map(|member| member.count).sum();
        let minimum = workload.gang_min().map_or(all, |minimum| minimum.clamp(1, all));
        Self { members, minimum, queue: Arc::from(queue) }
    }
}

/// One entry for each run of equal members.
fn like_members<'a>(demands: impl Iterator<Item = MemberDemand<'a>>) -> Vec<LikeMembers> {
    let mut members: Vec<LikeMembers> = Vec::new();
    for MemberDemand { rules, slots } in demands {
        match members.last_mut() {
            Some(last) if last.slots == *slots && last.rules.as_deref() == rules => last.count += 1,
            _ => {
                let rules = rules.map(|rules| Arc::new(rules.clone()));
                members.push(LikeMembers { slots: slots.clone(), count: 1, rules });
            }
        }
    }
    members
}

/// A workload that ran to its end.
#[derive(Clone, Debug)]
pub struct PastWorkload {
    pub id: Arc<str>,
    pub owner: Member,
    pub submitted_at: Timestamp,
    asked_seconds: Option<u32>,
    ran_seconds: u32,
    demand: WorkloadDemand,
}

impl PastWorkload {
    /// The runs of a workload of which these members have ended. Members whose runs do not overlap with others are a run of their
    /// own, as of a session that was started again.
    pub fn runs_of(workload: &WorkloadMembers, queue: &str) -> Vec<Self> {
        let mut members: Vec<&WorkloadMember> = workload.members().iter().collect();
        members.sort_by_key(|member| member.kernel.started_at);
        let (mut runs, mut until): (Vec<Vec<WorkloadMember>>, _) = (Vec::new(), None);
        for member in members {
            match runs.last_mut() {
                Some(run) if member.kernel.started_at <= until => run.push(member.clone()),
                _ => runs.push(vec![member.clone()]),
            }
            until = until.max(member.ended_at);
        }
        runs.into_iter().flat_map(group_members).filter_map(|run| Self::of(&run, queue)).collect()
    }

    /// `None` if the workload has not ended, or if it never started.
    fn of(workload: &WorkloadMembers, queue: &str) -> Option<Self> {
        let changes = workload.status_changes();
        let at = |status| changes.iter().find(|change| change.status == status).map(|change| change.at);
        let (start, end) = (at(WorkloadStatus::Running)?, at(WorkloadStatus::Ended)?);
        let micros = end.micros().saturating_sub(start.micros()).max(0);
        Some(Self {
            id: Arc::clone(&workload.id),
            owner: workload.representative()?.owner,
            submitted_at: at(WorkloadStatus::Pending).map_or(start, |submitted| submitted.min(start)),
            asked_seconds: workload.expected_seconds(),
            ran_seconds: u32::try_from(micros / MICROS_PER_SECOND).unwrap_or(u32::MAX),
            demand: WorkloadDemand::of_all(workload, queue),
        })
    }
}

/// A workload that waits or runs.
#[derive(Clone, Copy, Debug)]
pub struct PresentWorkload<'a> {
    pub members: &'a WorkloadMembers,
    /// The queue that it counts for.
    pub queue: &'a str,
}

/// The state of a group from which a forecast begins.
pub struct LiveGroup<'a> {
    pub now: Timestamp,
    pub capacity: &'a SlotAmounts,
    /// Empty: nothing is known of agents.
    pub agents: Vec<LiveAgent<'a>>,
    pub queues: &'a QueueConfigs,
    /// The workloads with running members.
    pub running: Vec<PresentWorkload<'a>>,
    /// In the order of the group.
    pub waiting: Vec<PresentWorkload<'a>>,
    /// By submission.
    pub past: &'a [PastWorkload],
    /// See [`ForecastInput::past_from`].
    pub past_from: Timestamp,
    /// The number of waiting workloads that come before a new one of an owner; all of them for owners without an entry.
    pub places: &'a FastMap<Member, u32>,
    /// The run time in seconds that is learned of an owner, for workloads without an announced one.
    pub learned_seconds: &'a dyn Fn(Member) -> Option<u32>,
    pub backfill: BackfillMode,
    pub order: OwnerOrder,
}

impl<'a> LiveGroup<'a> {
    /// The agents, unless some running members do not say on which they run: then the free room of each is not known.
    fn known_agents(&self) -> &[LiveAgent<'a>] {
        let known: FastSet<&str> = self.agents.iter().map(|agent| agent.agent_id).collect();
        let mut kernels = self.running.iter().flat_map(|workload| workload.members.running_kernels());
        let is_known = kernels.all(|kernel| {
            let names = kernel.agents.names();
            !names.is_empty() && names.iter().all(|id| known.contains(&**id))
        });
        if is_known { &self.agents } else { &[] }
    }

    pub fn forecast_input(&self) -> ForecastInput {
        let mut parts = InputParts::new(self);
        let waiting = self.waiting.iter().filter_map(|workload| parts.waiting_workload(*workload)).collect();
        let running = self.running.iter().filter_map(|workload| parts.running_workload(*workload)).collect();
        let mut past = Vec::with_capacity(self.past.len() + self.waiting.len() + self.running.len());
        let mut run_times = RunTimeModel::default();
        let present: FastSet<&str> = self.waiting.iter().chain(&self.running).map(|of| &*of.members.id).collect();
        // Members of a present workload that have ended are a part of it.
        for ended in self.past.iter().filter(|ended| !present.contains(&*ended.id)) {
            let workload = parts.workload(ended.owner, &ended.demand, ended.asked_seconds);
            let class = JobClass::of(&parts.kinds[workload.kind].slots(), self.capacity, ended.asked_seconds);
            run_times.add(ended.owner, class, ended.asked_seconds, f64::from(ended.ran_seconds));
            past.push(parts.submission(ended.submitted_at, workload, Some(ended.ran_seconds)));
        }
        // Workloads that wait with some of their members are among those that wait.
        let only_runs = self.running.iter().filter(|workload| workload.members.counts().pending == 0);
        for PresentWorkload { members, queue } in self.waiting.iter().chain(only_runs) {
            let first = members.status_changes().into_iter().next();
            if let (Some(owner), Some(first)) = (members.representative().map(|kernel| kernel.owner), first) {
                let workload =
                    parts.workload(owner, &WorkloadDemand::of_all(members, queue), members.expected_seconds());
                past.push(parts.submission(first.at, workload, None));
            }
        }
        past.sort_by_key(|submission| submission.submitted_at);
        ForecastInput {
            now: self.now,
            capacity: self.capacity.clone(),
            agents: parts.forecast_agents(),
            queue_limits: parts.queue_limits,
            kinds: parts.kinds,
            running,
            waiting,
            past_from: self.past_from,
            past,
            run_times: RunTimeSource::Learned(Arc::new(run_times)),
            backfill: self.backfill,
            order: self.order.clone(),
        }
    }
}

/// The parts of a forecast's input that workloads refer to by number.
struct InputParts<'a> {
    group: &'a LiveGroup<'a>,
    agents: &'a [LiveAgent<'a>],
    agent_numbers: FastMap<&'a str, usize>,
    queue_limits: Vec<SlotAmounts>,
    limited_queues: LimitedQueues,
    kinds: Vec<WorkloadKind>,
    kind_numbers: FastMap<WorkloadKind, usize>,
    /// The agents that admit members with these rules; `None`: all do.
    admitted: FastMap<PlacementRules, Option<Arc<[bool]>>>,
}

impl<'a> InputParts<'a> {
    fn new(group: &'a LiveGroup<'a>) -> Self {
        let agents = group.known_agents();
        let (queue_limits, limited_queues) = limited_queues(group.queues);
        Self {
            agent_numbers: agents.iter().enumerate().map(|(number, agent)| (agent.agent_id, number)).collect(),
            queue_limits,
            limited_queues,
            kinds: Vec::new(),
            kind_numbers: FastMap::default(),
            admitted: FastMap::default(),
            group,
            agents,
        }
    }

    /// One agent with the whole capacity where nothing is known of agents.
    fn forecast_agents(&self) -> Vec<ForecastAgent> {
        if self.agents.is_empty() {
            return vec![ForecastAgent { slots: self.group.capacity.clone(), is_schedulable: true }];
        }
        let agent =
            |of: &LiveAgent| ForecastAgent { slots: of.totals.slots().clone(), is_schedulable: of.is_schedulable };
        self.agents.iter().map(agent).collect()
    }

    fn submission(&self, at: Timestamp, workload: ForecastWorkload, ran_seconds: Option<u32>) -> PastSubmission {
        let last = u32::try_from(self.group.waiting.len()).unwrap_or(u32::MAX / 4);
        let place = self.group.places.get(&workload.owner).copied().unwrap_or(last);
        PastSubmission { submitted_at: at, workload, ran_seconds, place }
    }

    fn workload(&mut self, owner: Member, demand: &WorkloadDemand, asked_seconds: Option<u32>) -> ForecastWorkload {
        let kind = self.kind_number(demand);
        let expected_seconds = asked_seconds.or_else(|| (self.group.learned_seconds)(owner));
        ForecastWorkload { owner, kind, asked_seconds, expected_seconds }
    }

    fn waiting_workload(&mut self, workload: PresentWorkload) -> Option<ForecastWorkload> {
        let owner = workload.members.representative()?.owner;
        let demand = WorkloadDemand::of_waiting(workload.members, workload.queue);
        Some(self.workload(owner, &demand, workload.members.expected_seconds()))
    }

    fn running_workload(&self, workload: PresentWorkload) -> Option<ForecastRunning> {
        let owner = workload.members.running_kernels().next()?.owner;
        let started_at = workload.members.running_kernels().filter_map(|kernel| kernel.started_at).max()?;
        let asked_seconds = workload.members.expected_seconds();
        let member = |part: AgentPart| {
            let agent = part.agent.and_then(|id| self.agent_numbers.get(id)).copied().unwrap_or_default();
            (agent, part.slots.into_owned())
        };
        let members = workload.members.running_kernels().flat_map(LiveKernel::parts).map(member);
        Some(ForecastRunning {
            owner,
            started_at,
            asked_seconds,
            expected_seconds: asked_seconds.or_else(|| (self.group.learned_seconds)(owner)),
            members: members.collect(),
            queues: self.limited_queues_of(workload.queue),
        })
    }

    fn limited_queues_of(&self, queue: &str) -> Arc<[usize]> {
        self.limited_queues.get(queue).map(Arc::clone).unwrap_or_default()
    }

    fn kind_number(&mut self, demand: &WorkloadDemand) -> usize {
        let mut members = Vec::with_capacity(demand.members.len());
        for LikeMembers { slots, count, rules } in &demand.members {
            let admitted = self.admitted_on(rules.as_deref());
            members.push(ForecastMember { slots: slots.clone(), count: *count, admitted });
        }
        let queues = self.limited_queues_of(&demand.queue);
        let kind = WorkloadKind { members, minimum: demand.minimum, queues };
        let Self { kinds, kind_numbers, .. } = self;
        *kind_numbers.entry(kind).or_insert_with_key(|kind| {
            kinds.push(kind.clone());
            kinds.len() - 1
        })
    }

    /// For each agent, true if it admits members with these rules; `None`: all do. Affinity to other workloads does not count.
    fn admitted_on(&mut self, rules: Option<&PlacementRules>) -> Option<Arc<[bool]>> {
        let none = PlacementRules::default();
        let key = rules.unwrap_or(&none);
        if let Some(known) = self.admitted.get(key) {
            return known.clone();
        }
        let admits = |agent: &LiveAgent| agent.totals.lasting_refusal(rules).is_none();
        let admitted: Arc<[bool]> = self.agents.iter().map(admits).collect();
        let admitted = admitted.contains(&false).then_some(admitted);
        self.admitted.insert(key.clone(), admitted.clone());
        admitted
    }
}

/// The limited queues among each queue and those above it, as indices of the limits.
type LimitedQueues = FastMap<Arc<str>, Arc<[usize]>>;

/// A queue and those above it as far as they have limits, as indices in the [`ForecastInput::queue_limits`] of a live group.
pub fn limited_queues_of(queues: &QueueConfigs, queue: &str) -> Arc<[usize]> {
    limited_queues(queues).1.remove(queue).unwrap_or_default()
}

/// The limits of the queues that have some, and the limited queues of each.
fn limited_queues(queues: &QueueConfigs) -> (Vec<SlotAmounts>, LimitedQueues) {
    let mut limits = Vec::new();
    let mut numbers: FastMap<&str, usize> = FastMap::default();
    for (name, config) in queues {
        let limit = config.limit.iter().filter_map(|(slot, bound)| match bound {
            Bound::Limited(limit) => Some((slot, limit)),
            Bound::Unlimited => None,
        });
        let limit: SlotAmounts = limit.collect();
        if !limit.is_empty() {
            numbers.insert(name, limits.len());
            limits.push(limit);
        }
    }
    let chain = |name: &Arc<str>| {
        let next = |name: &&str| queues.get(*name)?.parent.as_deref();
        // A chain of parents is never longer than the number of queues.
        let chain = std::iter::successors(Some(&**name), next).take(queues.len());
        (Arc::clone(name), chain.filter_map(|name| numbers.get(name).copied()).collect())
    };
    let chains = queues.keys().map(chain).collect();
    (limits, chains)
}
