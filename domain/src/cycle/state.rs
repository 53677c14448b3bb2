//! The state of a cycle: what queues hold, what agents have free, and how far each workload has come. Every action works
//! on the state as the actions before left it.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::facts::{ResolvedRequest, add_times};
use super::holdings::ReservedHoldings;
use super::never::ImpedimentIndices;
use super::order::claims::ShareClaims;
use super::outcome::{CycleEviction, CycleStart, TraceStep};
use super::placement::PlacementRequest;
use super::reasons::NotedReason;
use super::request::options::{BackfillMode, CycleSettings};
use super::reservation::{MemberEnd, RoomReservation, TimeSearch};
use super::room::{AgentOccupancy, CountedMember};
use super::running::RunningState;
use super::shapes::WorkloadShape;
use crate::decimal::Amount;
use crate::division::score_weights::ScoreWeights;
use crate::division::{Fraction, QueueSlotGrid, QueueTree};
use crate::maps::{FastMap, FastSet};
use crate::queues::Bound;
use crate::reclaim::budget::SearchBudget;
use crate::reclaim::{PlanOptions, PolicyName};
use crate::sequencer::turns::TurnState;

/// How far a workload has come.
#[derive(Clone, Default)]
pub struct WorkloadProgress {
    /// By group of its shape: the members that have started.
    pub used: SmallVec<[usize; 1]>,
    pub started: usize,
    /// The running members of the same workload that the cycle evicted, by their places in the request.
    pub lost: Vec<usize>,
    /// The number of kernels that they are parts of.
    pub lost_kernels: usize,
    /// Its place in the order, from 1, once it had a turn.
    pub position: Option<usize>,
    pub reason: Option<NotedReason>,
}

impl WorkloadProgress {
    pub fn minimum_runs(&self, shape: &WorkloadShape) -> bool {
        self.missing(shape) == 0
    }

    /// How many members still have to start for the minimum.
    pub fn missing(&self, shape: &WorkloadShape) -> usize {
        let held = shape.running.saturating_sub(self.lost_kernels) + self.started;
        shape.gang.saturating_sub(held)
    }

    /// The amounts that the minimum still asks for; where it runs, those of the next member.
    pub fn need<'f>(&self, facts: &'f ResolvedRequest, workload: usize) -> Cow<'f, [Amount]> {
        let shape = facts.shape_of(workload);
        if self.lost.is_empty() {
            facts.need_of(workload).into()
        } else {
            facts.need_of_members(shape, &self.used, self.missing(shape)).into()
        }
    }

    /// The largest part of the capacity of any slot that the workload holds.
    pub fn dominant_share(&self, facts: &ResolvedRequest, workload: usize) -> Fraction {
        let shape = facts.shape_of(workload);
        if self.started == 0 && shape.rest_of.is_none() {
            return Fraction::ZERO;
        }
        let mut held = vec![Amount::ZERO; facts.capacity.len()];
        for (group, used) in shape.groups.iter().zip(&self.used) {
            add_times(&mut held, &facts.kinds[group.kind].request, *used);
        }
        let seats = shape.rest_of.iter().flat_map(|running| facts.seats[*running].iter().enumerate());
        for (_, seat) in seats.filter(|(at, _)| !self.lost.contains(at)) {
            add_times(&mut held, &seat.request, 1);
        }
        held.iter().zip(&facts.capacity).map(|(held, all)| Fraction::of(*held, *all)).max().unwrap_or(Fraction::ZERO)
    }

    /// The first group with a member that has not started.
    pub fn next_group(&self, shape: &WorkloadShape) -> Option<usize> {
        (0..shape.groups.len()).find(|group| self.used[*group] < shape.groups[*group].count)
    }

    /// Writes what the workload asks for next, by column.
    pub fn write_need(&self, facts: &ResolvedRequest, workload: usize, row: &mut [Amount]) {
        let shape = facts.shape_of(workload);
        if self.minimum_runs(shape) {
            row.fill(Amount::ZERO);
            if let Some(group) = self.next_group(shape) {
                add_times(row, &facts.kinds[shape.groups[group].kind].request, 1);
            }
        } else {
            row.copy_from_slice(&self.need(facts, workload));
        }
    }
}

/// The way in which a workload is tried.
#[derive(Clone, Copy)]
pub struct AttemptOptions {
    pub action: &'static str,
    /// True if a queue that has its share waits for others.
    pub heeds_share: bool,
    /// False if the cycle only finds out why the workload would wait.
    pub may_start: bool,
}

/// Why a placement failed before, for all workloads of one shape.
pub struct KnownFailure {
    pub stamp: usize,
    pub reason: NotedReason,
}

pub struct CycleState<'a> {
    pub facts: &'a ResolvedRequest<'a>,
    pub settings: &'a CycleSettings,
    pub plan_options: &'a PlanOptions,
    pub score_weights: &'a ScoreWeights,
    /// The tree with what queues hold at present, and the shares.
    pub turn: TurnState<'a>,
    pub held: ReservedHoldings,
    pub room: AgentOccupancy<'a>,
    pub running: RunningState<'a>,
    pub never: Vec<Option<ImpedimentIndices>>,
    pub progress: Vec<WorkloadProgress>,
    pub claims: ShareClaims,
    /// The order of the group; the queues take turns otherwise.
    pub order: Vec<usize>,
    positions: usize,
    /// The first workload that waits for room: of all, read with the order of the group, and by queue.
    blocker: Option<usize>,
    blockers: Vec<Option<usize>>,
    /// The workloads behind a blocker that had no turn yet.
    pub deferred: Vec<usize>,
    pub reservation: Option<RoomReservation<'a>>,
    /// All members that hold room, where reservations are made.
    pub endings: Vec<MemberEnd<'a>>,
    pub endings_are_sorted: bool,
    /// Shapes and queues for which no expected end leaves room.
    timeless: FastSet<(usize, usize, bool)>,
    pub starts: Vec<CycleStart>,
    pub evictions: Vec<CycleEviction>,
    pub steps: Option<Vec<TraceStep>>,
    pub budget: SearchBudget,
    pub checks_quota: bool,
    /// The number of starts and evictions so far.
    pub changes: usize,
    /// The number of plans so far that evicted something.
    pub evicting_plans: usize,
    /// By shape.
    pub failures: FastMap<usize, KnownFailure>,
    /// By shape, queue and whether it may be evicted: the stamp at which it would have delayed the reserved workload. They
    /// belong to the reservation.
    pub delays: FastMap<(usize, usize, bool), usize>,
}

/// The parts from which a cycle begins.
pub struct CycleInput<'a> {
    pub facts: &'a ResolvedRequest<'a>,
    pub settings: &'a CycleSettings,
    pub plan_options: &'a PlanOptions,
    pub score_weights: &'a ScoreWeights,
    pub tree: QueueTree,
    pub fair_share: &'a QueueSlotGrid<Amount>,
    pub running: RunningState<'a>,
    pub never: Vec<Option<ImpedimentIndices>>,
    pub explains: bool,
    /// True if the algorithm of the division is the one with quotas.
    pub has_quotas: bool,
}

impl<'a> CycleState<'a> {
    pub fn new(beginning: CycleInput<'a>) -> Self {
        let CycleInput { facts, settings, plan_options, tree, .. } = beginning;
        let queues = tree.len();
        let has_quota =
            || (0..queues).any(|q| tree.quota.row(q).iter().any(|quota| *quota > Bound::Limited(Amount::ZERO)));
        let checks_quota = beginning.has_quotas && plan_options.policy == PolicyName::Strategies && has_quota();
        let held = ReservedHoldings::of(&tree);
        let is_easy = settings.backfill == BackfillMode::Easy;
        let room = occupied_room(facts, &tree, &held);
        let next = QueueSlotGrid::new(queues, tree.slots.len(), Amount::ZERO);
        let groups = |workload: usize| facts.shape_of(workload).groups.len();
        let untouched = |workload| WorkloadProgress {
            used: SmallVec::from_elem(0, groups(workload)),
            ..WorkloadProgress::default()
        };
        Self {
            facts,
            settings,
            plan_options,
            score_weights: beginning.score_weights,
            turn: TurnState { tree, fair_share: beginning.fair_share, next },
            held,
            endings: if is_easy { endings(facts, beginning.running.queues()) } else { Vec::new() },
            room,
            running: beginning.running,
            never: beginning.never,
            progress: (0..facts.workloads.len()).map(untouched).collect(),
            claims: ShareClaims::new(queues, settings.backfill != BackfillMode::Nothing),
            order: if settings.by_queues { Vec::new() } else { super::order::by_sequencer(facts) },
            positions: 0,
            blocker: None,
            blockers: vec![None; queues],
            deferred: Vec::new(),
            reservation: None,
            endings_are_sorted: false,
            timeless: FastSet::default(),
            starts: Vec::new(),
            evictions: Vec::new(),
            steps: beginning.explains.then(Vec::new),
            budget: SearchBudget::from_ms(settings.search_budget_ms),
            checks_quota,
            changes: 0,
            evicting_plans: 0,
            failures: FastMap::default(),
            delays: FastMap::default(),
        }
    }

    /// Forgets who waits for what, so that all workloads that wait get their turns again in the present state.
    pub fn begin_round(&mut self) {
        let waits = |(at, progress): &mut (usize, &mut WorkloadProgress)| {
            self.never[*at].is_none() && !progress.minimum_runs(self.facts.shape_of(*at))
        };
        self.progress
            .iter_mut()
            .enumerate()
            .filter_map(|mut entry| waits(&mut entry).then_some(entry.1))
            .for_each(|progress| progress.reason = None);
        self.claims = ShareClaims::new(self.turn.tree.len(), self.settings.backfill != BackfillMode::Nothing);
        self.blocker = None;
        self.blockers.fill(None);
        self.deferred.clear();
        self.end_reservation();
        self.timeless.clear();
    }

    /// Forgets the reservation, and what would have delayed it.
    pub fn end_reservation(&mut self) {
        self.reservation = None;
        self.delays.clear();
    }

    /// True if the workload has a place in the order and its minimum does not run.
    pub fn awaits_minimum(&self, workload: usize) -> bool {
        self.never[workload].is_none() && !self.progress[workload].minimum_runs(self.facts.shape_of(workload))
    }

    /// Gives the workload its position, if it has none. Returns false if the cycle does not look so far.
    pub fn give_turn(&mut self, workload: usize) -> bool {
        let position = *self.progress[workload].position.get_or_insert_with(|| {
            self.positions += 1;
            self.positions
        });
        let looks = position <= self.settings.depth;
        if !looks {
            self.progress[workload].reason = Some(NotedReason::Depth);
        }
        looks
    }

    /// The workload that blocks a queue, or all queues. One that has started blocks no longer.
    pub fn blocker_for(&self, queue: usize) -> Option<usize> {
        let blocker = if self.settings.by_queues { self.blockers[queue] } else { self.blocker };
        blocker.filter(|workload| self.awaits_minimum(*workload))
    }

    /// The workload that waits for room ahead of this one.
    pub fn blocker_of(&self, workload: usize) -> Option<usize> {
        let blocker = self.blocker_for(self.facts.workloads[workload].queue);
        let position = |workload: usize| self.progress[workload].position.unwrap_or(usize::MAX);
        blocker.filter(|other| *other != workload && position(*other) < position(workload))
    }

    /// True if the workload starts wherever it stands, because it asks for nothing.
    pub fn is_free(&self, workload: usize) -> bool {
        self.settings.has("backfill") && self.facts.asks_for_nothing(workload)
    }

    /// The action that starts the workload now: `backfill` behind one that waits for room, and for what asks for nothing.
    pub fn action_for(&self, workload: usize) -> &'static str {
        if self.is_free(workload) || self.blocker_of(workload).is_some() { "backfill" } else { "allocate" }
    }

    /// True if a queue that has its share waits for others. With backfill that helps only if reclaim would take back what
    /// the queue gets.
    pub fn heeds_shares(&self) -> bool {
        self.settings.by_queues && (self.settings.backfill == BackfillMode::Nothing || self.settings.has("reclaim"))
    }

    /// True if another round may start more although nothing has got free: where a placement is greedy or affinity counts,
    /// a workload that failed before may fit after other starts, one that reached a limit blocks no longer, and with `easy`
    /// the turns of queues decide which workload gets the reservation.
    pub fn may_start_more(&self) -> bool {
        if self.settings.by_queues && self.settings.backfill == BackfillMode::Easy {
            return true;
        }
        (0..self.progress.len()).any(|workload| self.may_change(workload))
    }

    /// True if the workload may start after all, or may wait for something else than room, so that it keeps others back no
    /// longer.
    fn may_change(&self, workload: usize) -> bool {
        let Some(reason) = &self.progress[workload].reason else { return false };
        if self.never[workload].is_some() || !reason.is_for_agents() {
            return false;
        }
        let is_out_of_bounds =
            || self.check_bounds(workload, &self.progress[workload].need(self.facts, workload)).is_err();
        !self.facts.shape_of(workload).fails_alike() || (self.awaits_minimum(workload) && is_out_of_bounds())
    }

    /// Starts the minimum of the workload, or notes why it waits.
    pub fn consider(&mut self, workload: usize, attempted: AttemptOptions) {
        let progress = &self.progress[workload];
        let number = progress.missing(self.facts.shape_of(workload));
        let (used, need) = (progress.used.clone(), progress.need(self.facts, workload));
        let wanted = PlacementRequest { workload, used: &used, number, group: None };
        match self.try_place(wanted, &need, attempted.heeds_share) {
            Ok(placed) if attempted.may_start => self.start(workload, &placed, attempted.action, false),
            Ok(placed) => {
                self.give_up(workload, &placed);
                self.wait(workload, attempted.action, NotedReason::Depth);
            }
            Err(reason) => {
                let waits_for_room = reason.is_for_room();
                let has_waited = self.progress[workload].reason.as_ref().is_some_and(NotedReason::is_for_agents);
                self.wait(workload, attempted.action, reason);
                if waits_for_room {
                    self.block(workload);
                } else if has_waited {
                    self.unblock(workload);
                }
            }
        }
    }

    /// Lets others pass a workload that waits for room no longer.
    fn unblock(&mut self, workload: usize) {
        let facts = self.facts;
        let queue = facts.workloads[workload].queue;
        self.blocker = self.blocker.filter(|other| *other != workload);
        self.blockers[queue] = self.blockers[queue].filter(|other| *other != workload);
        if self.settings.by_queues {
            self.claims.remove(&self.turn, queue, workload, |workload| facts.need_of(workload));
        }
    }

    pub fn wait(&mut self, workload: usize, action: &'static str, reason: NotedReason) {
        let missing = self.progress[workload].missing(self.facts.shape_of(workload));
        self.note(workload, action, reason.code_text(), missing);
        self.progress[workload].reason = Some(reason);
    }

    fn block(&mut self, workload: usize) {
        let queue = self.facts.workloads[workload].queue;
        if self.blocker_for(queue).is_none() {
            self.blocker = Some(workload);
            self.blockers[queue] = Some(workload);
        }
        self.claim(workload);
        if self.settings.backfill == BackfillMode::Easy && self.reservation.is_none() {
            self.reserve(workload);
        }
    }

    fn claim(&mut self, workload: usize) {
        let facts = self.facts;
        if self.settings.by_queues {
            let queue = facts.workloads[workload].queue;
            self.claims.add(&self.turn, queue, workload, |workload| facts.need_of(workload));
        }
    }

    /// Notes that the cycle evicted a running member of the workload, of which its minimum needs another one now.
    pub fn note_lost(&mut self, workload: usize, running: usize, member: usize) {
        let progress = &mut self.progress[workload];
        progress.lost.push(member);
        progress.lost_kernels += usize::from(self.facts.seats[running][member].begins_kernel);
        progress.reason.get_or_insert(NotedReason::NoRoom);
        if self.reservation.as_ref().is_some_and(|known| known.workload == workload) {
            self.end_reservation();
        }
    }

    fn reserve(&mut self, workload: usize) {
        let waiting = &self.facts.workloads[workload];
        let key = (waiting.shape, waiting.queue, waiting.input.preemptible);
        if self.timeless.contains(&key) || !self.progress[workload].lost.is_empty() {
            return;
        }
        if !self.endings_are_sorted {
            self.endings.sort_by_key(|ending| ending.at);
            self.endings_are_sorted = true;
        }
        let search = TimeSearch {
            facts: self.facts,
            tree: &self.turn.tree,
            room: &self.room,
            holdings: &self.held,
            endings: &self.endings,
            used: &self.progress[workload].used,
            checks_quota: self.checks_quota,
        };
        self.reservation = search.find(workload);
        if self.reservation.is_none() {
            self.timeless.insert(key);
        }
    }
}

/// The room with everything that runs. Where only totals count, what the roots hold is gone.
fn occupied_room<'a>(facts: &'a ResolvedRequest<'a>, tree: &QueueTree, held: &ReservedHoldings) -> AgentOccupancy<'a> {
    let mut room = AgentOccupancy::empty(facts);
    room.heed_all_predicates();
    if facts.only_totals {
        for root in tree.children(None) {
            let cells = held.allocated.row(*root).iter().enumerate().map(|(column, amount)| (column, amount.units()));
            room.change_free(0, &cells.collect::<Vec<_>>(), -1);
        }
        return room;
    }
    for (running, seats) in facts.seats.iter().enumerate() {
        for seat in seats {
            room.put(running_footprint(facts, &room, running, &seat.request), seat.agent);
        }
    }
    room
}

/// A running member as rooms count it.
pub fn running_footprint<'a>(
    facts: &'a ResolvedRequest<'a>,
    room: &AgentOccupancy<'a>,
    running: usize,
    request: &'a [(usize, u128)],
) -> CountedMember<'a> {
    let counts = |workload: &usize| room.counts_members(facts.shape_of(*workload));
    let presence = &facts.presences[running];
    let workload = facts.rests[running].filter(counts);
    CountedMember { request, matching: &presence.matching, against: &presence.against, workload }
}

fn endings<'a>(facts: &'a ResolvedRequest<'a>, queues: &[usize]) -> Vec<MemberEnd<'a>> {
    let room = AgentOccupancy::empty(facts);
    let mut endings = Vec::new();
    for (running, seats) in facts.seats.iter().enumerate() {
        for (at, seat) in seats.iter().enumerate() {
            endings.push(MemberEnd {
                at: facts.ends[running].unwrap_or(i64::MAX),
                member: running_footprint(facts, &room, running, &seat.request),
                agent: seat.agent,
                queue: queues[running],
                preemptible: facts.preemptible[running],
                seat: Some((running, at)),
            });
        }
    }
    endings
}
