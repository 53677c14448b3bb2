//! The input of a forecast, from a snapshot of a group, its kernels and its past.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::memory::KnownPast;
use crate::domain::forecast::{
    DRAWS, ForecastInput, LiveAgent, LiveGroup, OwnerOrder, OwnerShares, PresentWorkload, StartForecast, UnknownStart,
};
use crate::domain::ids::Member;
use crate::domain::maps::FastMap;
use crate::domain::options::SequenceMode;
use crate::domain::time::Timestamp;
use crate::domain::workloads::{AssessedWorkloads, WorkloadMembers};
use crate::service::cycle_plans::learned_seconds;
use crate::service::reported_workloads::{agent_totals, queue_of};
use crate::service::sequence::pending::ReportedWorkloads;
use crate::service::visible_group::VisibleGroup;
use crate::service::{Result, Service};
use crate::store::agents::StoredAgent;

/// The number of waiting workloads from which on there are fewer draws, and the number of draws that there are at least.
const FULL_DRAWS_UP_TO: u32 = 2_000;
const MIN_DRAWS: u32 = 16;

/// The number of draws for this many waiting workloads. The work grows with both.
pub(super) fn draws_for(waiting: usize) -> u32 {
    let waiting = u32::try_from(waiting).unwrap_or(u32::MAX).max(FULL_DRAWS_UP_TO);
    (DRAWS * FULL_DRAWS_UP_TO / waiting).max(MIN_DRAWS)
}

/// The state from which forecasts begin.
pub(super) struct ForecastBase<'a> {
    pub service: &'a Service,
    pub group: &'a VisibleGroup,
    pub assessed: &'a AssessedWorkloads,
    pub past: &'a KnownPast,
    pub now: Timestamp,
}

/// The workloads that wait and can start, in the order of the group.
pub(super) struct OrderedWaiting {
    /// As indices of the assessed workloads.
    pub workloads: Vec<usize>,
    /// The owners of all workloads that wait, run or have ended, as far as the group has them.
    owners: Vec<Member>,
    /// The number of waiting workloads that come before a new one of an owner.
    places: FastMap<Member, u32>,
}

impl ForecastBase<'_> {
    /// A number that is the same for the same state of the group.
    pub fn seed(&self) -> u64 {
        let revisions = self.group.facts().revisions();
        revisions.shares.number().cast_unsigned() ^ revisions.kernels.number().cast_unsigned().rotate_left(32)
    }

    /// The workloads that no forecast is made for, because they cannot start as they are, or because members of them are not
    /// reported yet.
    pub fn unfit(&self) -> impl Iterator<Item = (&Arc<WorkloadMembers>, StartForecast)> {
        let unfit = self.assessed.iter().filter(|(workload, impediment)| {
            workload.counts().pending > 0 && (impediment.is_some() || workload.is_incomplete())
        });
        unfit.map(|(workload, _)| (workload, StartForecast::Unknown(UnknownStart::DoesNotFit)))
    }

    pub fn order(&self) -> Result<OrderedWaiting> {
        let owners = self.owners();
        let reported = ReportedWorkloads::startable(self.assessed);
        let known = reported.len();
        let sequenced = reported.with_new(&owners, self.now).order(self.service, self.group, self.now, false)?;
        let (mut workloads, mut places) = (Vec::with_capacity(known), FastMap::default());
        for at in sequenced.order.iter().map(|at| *at as usize) {
            if let Some(new) = at.checked_sub(known) {
                places.insert(owners[new], u32::try_from(workloads.len()).unwrap_or(u32::MAX / 4));
                continue;
            }
            let id = &*sequenced.workloads[at].id;
            let place = self.assessed.workloads.binary_search_by(|workload| (*workload.id).cmp(id));
            workloads.extend(place.ok().filter(|place| !self.assessed.workloads[*place].is_incomplete()));
        }
        Ok(OrderedWaiting { workloads, owners, places })
    }

    pub fn input(&self, ordered: &OrderedWaiting) -> ForecastInput {
        let facts = self.group.facts();
        let present = |at: usize| {
            let members = &*self.assessed.workloads[at];
            PresentWorkload { members, queue: queue_of(facts, members) }
        };
        let runs = |at: &usize| self.assessed.workloads[*at].running_kernels().next().is_some();
        let running = (0..self.assessed.workloads.len()).filter(runs).map(present).collect();
        let learned = |owner: Member| learned_seconds(facts, owner).and_then(|seconds| u32::try_from(seconds).ok());
        LiveGroup {
            now: self.now,
            capacity: &facts.capacity,
            agents: facts.agents.iter().map(live_agent).collect(),
            queues: &facts.queues,
            running,
            waiting: ordered.workloads.iter().map(|at| present(*at)).collect(),
            past: &self.past.workloads,
            past_from: self.past.from,
            places: &ordered.places,
            learned_seconds: &learned,
            backfill: self.group.options.cycle.backfill_mode(),
            order: self.owner_order(&ordered.owners),
        }
        .forecast_input()
    }

    /// See [`OrderedWaiting::owners`].
    fn owners(&self) -> Vec<Member> {
        let rows = &self.group.facts().rows;
        let present = self.assessed.workloads.iter().filter_map(|workload| workload.representative());
        let past = self.past.workloads.iter().map(|ended| ended.owner);
        let owners: BTreeSet<Member> = present.map(|kernel| kernel.owner).chain(past).collect();
        owners.into_iter().filter(|owner| rows.user(*owner).is_some()).collect()
    }

    /// Shares decide the order only where the cycles of the group take it from a sequencer that compares usage.
    fn owner_order(&self, owners: &[Member]) -> OwnerOrder {
        let group = self.group;
        if group.options.cycle.takes_turns() || !group.scheduler.compares_usage() {
            return OwnerOrder::Fixed;
        }
        let is_progressive = group.options.sequence_mode == SequenceMode::Progressive;
        OwnerOrder::Shares(Arc::new(OwnerShares::of_group(group.facts(), owners, is_progressive, self.now)))
    }
}

fn live_agent(agent: &StoredAgent) -> LiveAgent<'_> {
    LiveAgent { agent_id: &agent.agent_id, totals: agent_totals(agent), is_schedulable: agent.offers() }
}
