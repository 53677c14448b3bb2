//! One possible future: running workloads end, workloads are submitted, and those that wait start in order.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;
use std::sync::Arc;

use super::cluster::{ClusterRoom, MemberPlaces};
use super::random::RandomDraws;
use super::run_time_model::{DrawnJob, JobClass};
use super::share_order::{OwnerOrder, ShareState};
use super::submissions::ComingSubmissions;
use super::waiting_order::{WaitingLane, WaitingOrder};
use super::{ForecastInput, ForecastRunning, ForecastWorkload};
use crate::cycle::BackfillMode;
use crate::ids::Member;
use crate::maps::{FastMap, FastSet};
use crate::slots::SlotAmounts;
use crate::time::MICROS_PER_SECOND;

/// How far a draw looks: four weeks, in microseconds.
const HORIZON: i64 = 28 * 24 * 3_600 * MICROS_PER_SECOND;
/// Events within this time, in microseconds, happen at once.
const MOMENT: i64 = MICROS_PER_SECOND;
/// The number of events after which a draw ends, so that no group makes a forecast last.
const MAX_EVENTS: usize = 200_000;

/// The part of the owners whose run times are alike in a draw.
const GROUP_PART: f64 = 0.4;
/// The part of an owner's jobs whose run times are alike in a draw.
const ALIKE_PART: f64 = 0.8;

/// A workload of a draw.
#[derive(Clone, Copy, Debug)]
struct DrawWorkload {
    facts: ForecastWorkload,
    /// The time that it runs, in seconds, if that is known.
    ran_seconds: Option<u32>,
}

/// Kinds that turned out not to fit in the present round.
type RefusedKinds = FastSet<usize>;

/// Room that is held.
#[derive(Clone, Debug)]
enum HeldRoom {
    /// That of a workload that runs now, by its index.
    Running(usize),
    /// That of a workload that has started in the draw.
    Started { owner: Member, kind: usize, places: MemberPlaces },
}

impl HeldRoom {
    /// Frees the room.
    fn give_back(&self, input: &ForecastInput, room: &mut ClusterRoom) {
        match self {
            Self::Running(index) => {
                let running = &input.running[*index];
                room.give_back(&running.members, &running.queues);
            }
            Self::Started { kind, places, .. } => room.end(*kind, places),
        }
    }
}

/// The time at which the first workload that does not fit has room.
struct DrawReservation {
    at: i64,
    /// The room that is left then, after it has started.
    room: ClusterRoom,
}

/// The facts that all draws of a forecast have in common.
struct DrawFacts<'a> {
    input: &'a ForecastInput,
    /// The class of each kind, without the announced run time.
    classes: Vec<JobClass>,
    /// The part of the capacity that each kind counts as in the shares, and that of each running workload.
    parts: Vec<f64>,
    running_parts: Vec<f64>,
    /// Each running workload, and the seconds for which it has run.
    running: Vec<(DrawnJob, f64)>,
    /// True for each kind that fits where nothing runs.
    fits_empty: Vec<bool>,
}

/// See the module.
#[derive(Clone)]
pub struct FutureDraw<'a> {
    facts: Arc<DrawFacts<'a>>,
    /// The fraction of the group, which some of its owners have.
    group_fraction: f64,
    /// A fraction for each owner, see [`FutureDraw::fraction`].
    owner_fractions: FastMap<Member, f64>,
    room: ClusterRoom,
    order: WaitingOrder,
    shares: Option<ShareState>,
    /// By number; those that wait now have the first numbers.
    workloads: Vec<DrawWorkload>,
    starts: Vec<Option<i64>>,
    /// The workloads whose start is asked for, and the number of those that have not started in the draw.
    wanted: Range<usize>,
    left: usize,
    held: Vec<HeldRoom>,
    /// The ends that will happen: time and index of the held room.
    ends: BinaryHeap<Reverse<(i64, usize)>>,
    /// The ends that the scheduler expects, where it makes reservations.
    expected_ends: BTreeSet<(i64, usize)>,
    /// The expected end of each held room.
    expected_of: Vec<i64>,
    now: i64,
    /// True if the draw has reached its most events.
    is_cut: bool,
}

impl<'a> FutureDraw<'a> {
    /// The state now, in which nothing is drawn yet.
    pub fn new(input: &'a ForecastInput, wanted: Range<usize>) -> Self {
        let mut empty = ClusterRoom::empty(input);
        let fits = |kind| empty.start(kind).map(|places| empty.end(kind, &places)).is_some();
        let fits_empty = (0..input.kinds.len()).map(fits).collect();
        let classes = input.kinds.iter().map(|kind| JobClass::of(&kind.slots(), &input.capacity, None)).collect();
        let running = input.running.iter().map(|running| running_job(input, running)).collect();
        let (mut parts, mut running_parts, mut shares) = (Vec::new(), Vec::new(), None);
        if let OwnerOrder::Shares(of) = &input.order {
            parts = input.kinds.iter().map(|kind| of.part(&kind.slots())).collect();
            running_parts = input.running.iter().map(|running| of.part(&sum_of(running))).collect();
            shares = Some(ShareState::new(of));
        }
        let facts = Arc::new(DrawFacts { input, classes, parts, running_parts, running, fits_empty });
        let mut room = empty;
        for running in &input.running {
            room.take(&running.members, &running.queues);
        }
        let mut draw = Self {
            facts,
            group_fraction: 0.0,
            owner_fractions: FastMap::default(),
            room,
            order: WaitingOrder::default(),
            shares,
            workloads: Vec::new(),
            starts: vec![None; input.waiting.len()],
            wanted: wanted.clone(),
            left: 0,
            held: Vec::new(),
            ends: BinaryHeap::new(),
            expected_ends: BTreeSet::new(),
            expected_of: Vec::new(),
            now: 0,
            is_cut: false,
        };
        for (place, waiting) in input.waiting.iter().enumerate() {
            let workload = DrawWorkload { facts: *waiting, ran_seconds: None };
            let waits = draw.submit(workload, 2 * number_of(place) + 1);
            draw.left += usize::from(waits && wanted.contains(&place));
        }
        draw
    }

    pub fn can_ever_fit(&self, kind: usize) -> bool {
        self.facts.fits_empty[kind]
    }

    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The start of each workload that waits now, in microseconds from now.
    pub fn starts(self) -> Vec<Option<i64>> {
        self.starts
    }

    /// Runs until all whose start is asked for have started, or to the horizon.
    pub fn run(&mut self, random: &mut RandomDraws) {
        self.draw_ends(random);
        let mut coming = ComingSubmissions::new(self.facts.input.past_from, self.facts.input.now);
        let mut next = coming.as_mut().map(|coming| coming.next(&self.facts.input.past, random));
        self.start_waiting(random);
        for event in 0.. {
            if event == MAX_EVENTS {
                self.is_cut = true;
                return;
            }
            let end = self.ends.peek().map(|Reverse((at, _))| *at);
            let submission = next.map(|(at, _)| at);
            let Some(at) = end.into_iter().chain(submission).min() else { return };
            if self.left == 0 || at > HORIZON {
                return;
            }
            self.now = at;
            let until = at + MOMENT;
            let mut has_changed = false;
            while let Some(Reverse((_, held))) = self.ends.peek().copied().filter(|Reverse((at, _))| *at < until) {
                self.ends.pop();
                self.end(held);
                has_changed = true;
            }
            while let Some((_, index)) = next.filter(|(at, _)| *at < until) {
                if let Some(index) = index {
                    let past = &self.facts.input.past[index];
                    let workload = DrawWorkload { facts: past.workload, ran_seconds: past.ran_seconds };
                    has_changed |= self.submit(workload, 2 * past.place);
                }
                next = coming.as_mut().map(|coming| coming.next(&self.facts.input.past, random));
            }
            if has_changed {
                self.start_waiting(random);
            }
        }
    }

    /// Draws when the workloads end that run now.
    fn draw_ends(&mut self, random: &mut RandomDraws) {
        self.group_fraction = random.fraction();
        let facts = Arc::clone(&self.facts);
        for (index, (job, elapsed)) in facts.running.iter().enumerate() {
            let drawn = facts.input.run_times.draw(job, *elapsed, self.fraction(job.owner, random));
            let expected = facts.input.running[index].expected_seconds.map_or(drawn, f64::from) - elapsed;
            self.hold(HeldRoom::Running(index), micros(drawn - elapsed), micros(expected));
            // A progressive order has counted already what running workloads will use.
            if let Some(shares) = self.shares.as_mut().filter(|shares| !shares.changes_with_starts()) {
                shares.start(job.owner, facts.running_parts[index], 0, 0);
            }
        }
    }

    /// The fraction by which a run time of this owner is drawn. Jobs of one owner are often alike, therefore most of them have
    /// the same fraction in one draw. If all were drawn each for itself, long and short ones would cancel out in every draw.
    fn fraction(&mut self, owner: Member, random: &mut RandomDraws) -> f64 {
        let group = self.group_fraction;
        let of_owner = || if random.fraction() < GROUP_PART { group } else { random.fraction() };
        let common = *self.owner_fractions.entry(owner).or_insert_with(of_owner);
        if random.fraction() < ALIKE_PART { common } else { random.fraction() }
    }

    fn hold(&mut self, held: HeldRoom, ends_in: i64, expected_in: i64) {
        let number = self.held.len();
        self.held.push(held);
        self.ends.push(Reverse((self.now + ends_in.max(1), number)));
        let expected = self.now + expected_in.max(1);
        self.expected_of.push(expected);
        if matches!(self.facts.input.backfill, BackfillMode::Easy) {
            self.expected_ends.insert((expected, number));
        }
    }

    fn end(&mut self, number: usize) {
        let held = &self.held[number];
        held.give_back(self.facts.input, &mut self.room);
        if let Some(shares) = &mut self.shares {
            let (owner, part) = match held {
                HeldRoom::Running(index) => (self.facts.input.running[*index].owner, self.facts.running_parts[*index]),
                HeldRoom::Started { owner, kind, .. } => (*owner, self.facts.parts[*kind]),
            };
            shares.end(owner, part, self.now);
        }
        self.expected_ends.remove(&(self.expected_of[number], number));
    }

    /// Puts a workload into the order. A workload that can never start is left out, because it must not hold up others.
    /// Returns if it waits.
    fn submit(&mut self, workload: DrawWorkload, place: u32) -> bool {
        let number = number_of(self.workloads.len());
        self.workloads.push(workload);
        let ForecastWorkload { owner, kind, expected_seconds, .. } = workload.facts;
        if !self.facts.fits_empty[kind] {
            return false;
        }
        // Only reservations look at the expected run time.
        let expected_seconds = expected_seconds.filter(|_| matches!(self.facts.input.backfill, BackfillMode::Easy));
        let owner = self.shares.is_some().then_some(owner);
        self.order.add(owner, kind, expected_seconds, (place, number));
        true
    }

    /// Brings the order of the owners up to date.
    fn order_owners(&mut self) {
        if let Some(shares) = &self.shares {
            self.order.update_keys(shares, self.now);
        }
    }

    /// Starts what the scheduler would start now.
    fn start_waiting(&mut self, random: &mut RandomDraws) {
        self.order_owners();
        match self.facts.input.backfill {
            BackfillMode::Nothing => while self.first_allowed().is_some_and(|lane| self.start(lane, random)) {},
            BackfillMode::Skip => {
                let mut refused = RefusedKinds::default();
                while let Some(lane) = self.first_that_fits(&refused, |_| true) {
                    if !self.start(lane, random) {
                        refused.insert(self.order.lane(lane).kind);
                    }
                }
            }
            BackfillMode::Easy => self.start_with_reservation(random),
        }
    }

    /// The lane of the first workload. Others pass those that wait for the limit of their queue, and not for room.
    fn first_allowed(&self) -> Option<usize> {
        if self.room.has_limits() {
            self.order.first_that(|kind| self.room.is_within_limits(kind), |_| true)
        } else {
            self.order.first()
        }
    }

    /// The lane with the first workload that may fit and passes.
    fn first_that_fits(&self, refused: &RefusedKinds, passes: impl Fn(&WaitingLane) -> bool) -> Option<usize> {
        self.order.first_that(|kind| !refused.contains(&kind) && self.room.may_fit(kind), passes)
    }

    /// Starts the first workload of the lane, if it fits.
    fn start(&mut self, lane: usize, random: &mut RandomDraws) -> bool {
        let kind = self.order.lane(lane).kind;
        let Some(places) = self.room.start(kind) else { return false };
        let Some(number) = self.order.take(lane) else { return false };
        let DrawWorkload { facts, ran_seconds } = self.workloads[number as usize];
        let ForecastWorkload { owner, asked_seconds, expected_seconds, .. } = facts;
        let class = self.facts.classes[kind].asking(asked_seconds);
        let job = DrawnJob { owner, class, asked_seconds, expected_seconds };
        let fraction = self.fraction(owner, random);
        let ran = ran_seconds.map_or_else(|| self.facts.input.run_times.draw(&job, 0.0, fraction), f64::from);
        let expected = expected_seconds.map_or(ran, f64::from);
        self.hold(HeldRoom::Started { owner, kind, places }, micros(ran), micros(expected));
        if let Some(shares) = &mut self.shares {
            shares.start(owner, self.facts.parts[kind], self.now, micros(expected));
            if shares.changes_with_starts() {
                self.order_owners();
            }
        }
        if let Some(start) = self.starts.get_mut(number as usize) {
            *start = Some(self.now);
            self.left -= usize::from(self.wanted.contains(&(number as usize)));
        }
        true
    }

    /// EASY: the first workload that does not fit has a reservation, and others start only if they do not delay it.
    fn start_with_reservation(&mut self, random: &mut RandomDraws) {
        while let Some(first) = self.first_allowed() {
            if self.start(first, random) {
                continue;
            }
            let kind = self.order.lane(first).kind;
            let mut refused: RefusedKinds = [kind].into_iter().collect();
            // A reservation takes long to find, and is not needed where nothing else fits.
            if self.first_that_fits(&refused, |_| true).is_none() {
                return;
            }
            let Some(mut reservation) = self.reserve(kind) else { return };
            loop {
                let admits =
                    |lane: &WaitingLane| self.ends_before(lane, reservation.at) || reservation.room.may_fit(lane.kind);
                let Some(lane) = self.first_that_fits(&refused, admits) else { return };
                if !self.start_beside(lane, &mut reservation, random) {
                    refused.insert(self.order.lane(lane).kind);
                    continue;
                }
                // Where starts change the order of owners, another workload may be the first now.
                if self.shares.as_ref().is_some_and(ShareState::changes_with_starts) {
                    break;
                }
            }
        }
    }

    /// Starts the first workload of the lane, if it fits and does not delay the reservation.
    fn start_beside(&mut self, lane: usize, reservation: &mut DrawReservation, random: &mut RandomDraws) -> bool {
        let kind = self.order.lane(lane).kind;
        if self.ends_before(self.order.lane(lane), reservation.at) {
            return self.start(lane, random);
        }
        let Some(places) = reservation.room.start(kind) else { return false };
        let starts = self.start(lane, random);
        if !starts {
            reservation.room.end(kind, &places);
        }
        starts
    }

    fn ends_before(&self, lane: &WaitingLane, at: i64) -> bool {
        lane.expected_seconds.is_some_and(|seconds| self.now + micros(f64::from(seconds)) <= at)
    }

    /// The time at which the expected ends leave room for a workload of the kind; `None`: they never do.
    fn reserve(&self, kind: usize) -> Option<DrawReservation> {
        let mut room = self.room.clone();
        for (end, number) in &self.expected_ends {
            self.held[*number].give_back(self.facts.input, &mut room);
            if room.start(kind).is_some() {
                return Some(DrawReservation { at: (*end).max(self.now), room });
            }
        }
        None
    }
}

/// The slots that a running workload holds.
fn sum_of(running: &ForecastRunning) -> SlotAmounts {
    let mut slots = SlotAmounts::default();
    for (_, of_member) in &running.members {
        slots.add(of_member);
    }
    slots
}

/// A running workload as its run time is drawn, and the seconds for which it has run.
fn running_job(input: &ForecastInput, running: &ForecastRunning) -> (DrawnJob, f64) {
    let class = JobClass::of(&sum_of(running), &input.capacity, running.asked_seconds);
    let elapsed = (input.now.micros() - running.started_at.micros()).max(0) as f64 / MICROS_PER_SECOND as f64;
    let ForecastRunning { owner, asked_seconds, expected_seconds, .. } = *running;
    (DrawnJob { owner, class, asked_seconds, expected_seconds }, elapsed)
}

fn micros(seconds: f64) -> i64 {
    // The cast saturates.
    (seconds * MICROS_PER_SECOND as f64) as i64
}

fn number_of(place: usize) -> u32 {
    // Four thousand million workloads do not fit into memory.
    u32::try_from(place).unwrap_or(u32::MAX)
}
