//! The state of a cycle: what queues hold, what agents have free, and how far each workload has come. Every action works
//! on the state as the actions before left it.

use smallvec::SmallVec;

use super::facts::{Facts, add_times};
use super::holdings::QueueHoldings;
use super::never::Never;
use super::order::claims::ShareClaims;
use super::outcome::{Eviction, Start, TraceStep};
use super::reasons::Reason;
use super::request::options::{Backfill, CycleSettings};
use super::reservation::{Ending, Reservation, TimeSearch};
use super::room::{Footprint, Room};
use super::running::RunningState;
use super::shapes::Shape;
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
pub struct Progress {
    /// By group of its shape: the members that have started.
    pub used: SmallVec<[usize; 1]>,
    pub started: usize,
    /// Its place in the order, from 1, once it had a turn.
    pub position: Option<usize>,
    pub reason: Option<Reason>,
}

impl Progress {
    pub fn minimum_runs(&self, shape: &Shape) -> bool {
        self.started >= shape.minimum()
    }

    /// The largest part of the capacity of any slot that the workload holds.
    pub fn dominant_share(&self, facts: &Facts, workload: usize) -> Fraction {
        let shape = facts.shape_of(workload);
        if self.started == 0 && shape.rest_of.is_none() {
            return Fraction::ZERO;
        }
        let mut held = vec![Amount::ZERO; facts.capacity.len()];
        for (group, used) in shape.groups.iter().zip(&self.used) {
            add_times(&mut held, &facts.kinds[group.kind].request, *used);
        }
        for seat in shape.rest_of.iter().flat_map(|running| &facts.seats[*running]) {
            add_times(&mut held, &seat.request, 1);
        }
        held.iter().zip(&facts.capacity).map(|(held, all)| Fraction::of(*held, *all)).max().unwrap_or(Fraction::ZERO)
    }

    /// The first group with a member that has not started.
    pub fn next_group(&self, shape: &Shape) -> Option<usize> {
        (0..shape.groups.len()).find(|group| self.used[*group] < shape.groups[*group].count)
    }

    /// Writes what the workload asks for next, by column.
    pub fn write_need(&self, facts: &Facts, workload: usize, row: &mut [Amount]) {
        let shape = facts.shape_of(workload);
        if self.minimum_runs(shape) {
            row.fill(Amount::ZERO);
            if let Some(group) = self.next_group(shape) {
                add_times(row, &facts.kinds[shape.groups[group].kind].request, 1);
            }
        } else {
            row.copy_from_slice(facts.need_of(workload));
        }
    }
}

/// The way in which a workload is tried.
#[derive(Clone, Copy)]
pub struct Attempted {
    pub action: &'static str,
    /// True if a queue that has its share waits for others.
    pub heeds_share: bool,
    /// False if the cycle only finds out why the workload would wait.
    pub may_start: bool,
}

/// Why a placement failed before, for all workloads of one shape.
pub struct KnownFailure {
    pub stamp: usize,
    pub reason: Reason,
}

pub struct Cycle<'a> {
    pub facts: &'a Facts<'a>,
    pub settings: &'a CycleSettings,
    pub plan_options: &'a PlanOptions,
    pub score_weights: &'a ScoreWeights,
    /// The tree with what queues hold at present, and the shares.
    pub turn: TurnState<'a>,
    pub held: QueueHoldings,
    pub room: Room<'a>,
    pub running: RunningState<'a>,
    pub never: Vec<Option<Never>>,
    pub progress: Vec<Progress>,
    pub claims: ShareClaims,
    /// The order of the group; the queues take turns otherwise.
    pub order: Vec<usize>,
    positions: usize,
    /// The first workload that waits for room: of all, and by queue.
    pub blocker: Option<usize>,
    pub blockers: Vec<Option<usize>>,
    /// The workloads behind a blocker that had no turn yet.
    pub deferred: Vec<usize>,
    pub reservation: Option<Reservation<'a>>,
    pub endings: Vec<Ending<'a>>,
    pub endings_are_sorted: bool,
    /// Shapes and queues for which no expected end leaves room.
    timeless: FastSet<(usize, usize, bool)>,
    pub starts: Vec<Start>,
    pub evictions: Vec<Eviction>,
    pub steps: Option<Vec<TraceStep>>,
    pub budget: SearchBudget,
    pub checks_quota: bool,
    /// The number of starts and evictions so far.
    pub changes: usize,
    /// The number of plans so far that evicted something.
    pub evicting_plans: usize,
    /// By shape.
    pub failures: FastMap<usize, KnownFailure>,
    /// By shape and queue: the stamp at which it would have delayed the reserved workload. They belong to the reservation.
    pub delays: FastMap<(usize, usize), usize>,
}

/// The parts from which a cycle begins.
pub struct Beginning<'a> {
    pub facts: &'a Facts<'a>,
    pub settings: &'a CycleSettings,
    pub plan_options: &'a PlanOptions,
    pub score_weights: &'a ScoreWeights,
    pub tree: QueueTree,
    pub fair_share: &'a QueueSlotGrid<Amount>,
    pub running: RunningState<'a>,
    pub never: Vec<Option<Never>>,
    pub explains: bool,
    /// True if the algorithm of the division is the one with quotas.
    pub has_quotas: bool,
}

impl<'a> Cycle<'a> {
    pub fn new(beginning: Beginning<'a>) -> Self {
        let Beginning { facts, settings, plan_options, tree, .. } = beginning;
        let queues = tree.len();
        let has_quota =
            || (0..queues).any(|q| tree.quota.row(q).iter().any(|quota| *quota > Bound::Limited(Amount::ZERO)));
        let checks_quota = beginning.has_quotas && plan_options.policy == PolicyName::Strategies && has_quota();
        let held = QueueHoldings::of(&tree);
        let room = occupied_room(facts, &tree, &held);
        let next = QueueSlotGrid::new(queues, tree.slots.len(), Amount::ZERO);
        let groups = |workload: usize| facts.shape_of(workload).groups.len();
        let untouched = |workload| Progress { used: SmallVec::from_elem(0, groups(workload)), ..Progress::default() };
        Self {
            facts,
            settings,
            plan_options,
            score_weights: beginning.score_weights,
            turn: TurnState { tree, fair_share: beginning.fair_share, next },
            held,
            endings: endings(facts, beginning.running.queues()),
            room,
            running: beginning.running,
            never: beginning.never,
            progress: (0..facts.workloads.len()).map(untouched).collect(),
            claims: ShareClaims::new(queues, settings.backfill != Backfill::Nothing),
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
        let waits = |(at, progress): &mut (usize, &mut Progress)| {
            self.never[*at].is_none() && !progress.minimum_runs(self.facts.shape_of(*at))
        };
        self.progress
            .iter_mut()
            .enumerate()
            .filter_map(|mut entry| waits(&mut entry).then_some(entry.1))
            .for_each(|progress| progress.reason = None);
        self.claims = ShareClaims::new(self.turn.tree.len(), self.settings.backfill != Backfill::Nothing);
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
            self.progress[workload].reason = Some(Reason::Depth);
        }
        looks
    }

    /// The workload that waits for room ahead of this one.
    pub fn blocker_of(&self, workload: usize) -> Option<usize> {
        let blocker =
            if self.settings.by_queues { self.blockers[self.facts.workloads[workload].queue] } else { self.blocker };
        let position = |workload: usize| self.progress[workload].position.unwrap_or(usize::MAX);
        blocker.filter(|other| *other != workload && position(*other) < position(workload))
    }

    /// The action that starts the workload now: `backfill` behind one that waits for room.
    pub fn action_for(&self, workload: usize) -> &'static str {
        if self.blocker_of(workload).is_some() { "backfill" } else { "allocate" }
    }

    /// True if a queue that has its share waits for others. With backfill that helps only if reclaim would take back what
    /// the queue gets.
    pub fn heeds_shares(&self) -> bool {
        self.settings.by_queues && (self.settings.backfill == Backfill::Nothing || self.settings.has("reclaim"))
    }

    /// True if another round may start more although nothing has got free: where a placement is greedy or affinity counts,
    /// a workload that failed before may fit after other starts, and with `easy` the turns of queues decide which workload
    /// gets the reservation.
    pub fn may_start_more(&self) -> bool {
        if self.settings.by_queues && self.settings.backfill == Backfill::Easy {
            return true;
        }
        (0..self.progress.len()).any(|workload| {
            let for_room = |reason: &Reason| reason.is_for_room() || matches!(reason, Reason::Predicates);
            self.awaits_minimum(workload)
                && !self.facts.shape_of(workload).is_simple()
                && self.progress[workload].reason.as_ref().is_some_and(for_room)
        })
    }

    /// Starts the minimum of the workload, or notes why it waits.
    pub fn consider(&mut self, workload: usize, attempted: Attempted) {
        let number = self.facts.shape_of(workload).minimum();
        let used = self.progress[workload].used.clone();
        let need = self.facts.need_of(workload);
        match self.try_place(workload, &used, number, need, attempted.heeds_share) {
            Ok(placed) if attempted.may_start => self.start(workload, &placed, attempted.action, false),
            Ok(placed) => {
                self.give_up(workload, &placed);
                self.wait(workload, attempted.action, Reason::Depth);
            }
            Err(reason) => {
                let waits_for_room = reason.is_for_room();
                self.wait(workload, attempted.action, reason);
                if waits_for_room {
                    self.block(workload);
                }
            }
        }
    }

    pub fn wait(&mut self, workload: usize, action: &'static str, reason: Reason) {
        self.note(workload, action, reason.code_text(), self.facts.shape_of(workload).minimum());
        self.progress[workload].reason = Some(reason);
    }

    fn block(&mut self, workload: usize) {
        let queue = self.facts.workloads[workload].queue;
        self.blocker.get_or_insert(workload);
        self.blockers[queue].get_or_insert(workload);
        self.claim(workload);
        if self.settings.backfill == Backfill::Easy && self.reservation.is_none() {
            self.reserve(workload);
        }
    }

    pub fn claim(&mut self, workload: usize) {
        let facts = self.facts;
        if self.settings.by_queues {
            let queue = facts.workloads[workload].queue;
            self.claims.add(&self.turn, queue, workload, |workload| facts.need_of(workload));
        }
    }

    fn reserve(&mut self, workload: usize) {
        let waiting = &self.facts.workloads[workload];
        let key = (waiting.shape, waiting.queue, waiting.input.preemptible);
        if self.timeless.contains(&key) {
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
fn occupied_room<'a>(facts: &'a Facts<'a>, tree: &QueueTree, held: &QueueHoldings) -> Room<'a> {
    let mut room = Room::empty(facts);
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
    facts: &'a Facts<'a>,
    room: &Room<'a>,
    running: usize,
    request: &'a [(usize, u128)],
) -> Footprint<'a> {
    let counts = |workload: &usize| room.counts_members(facts.shape_of(*workload));
    let presence = &facts.presences[running];
    let workload = facts.rests[running].filter(counts);
    Footprint { request, matching: &presence.matching, against: &presence.against, workload }
}

fn endings<'a>(facts: &'a Facts<'a>, queues: &[usize]) -> Vec<Ending<'a>> {
    let room = Room::empty(facts);
    let mut endings = Vec::new();
    for (running, seats) in facts.seats.iter().enumerate() {
        for (at, seat) in seats.iter().enumerate() {
            endings.push(Ending {
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
