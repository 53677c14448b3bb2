//! The cycle itself: rounds in order, one after the other, until nothing more starts. Nothing is remembered from one question
//! to the next but what has started.

use serde_json::{Value, json};

use super::cluster::{Amounts, NEVER, NaiveCluster, OccupiedSeat, WaitingWorkload};
use super::placement::{SeatedMembers, UnplacedMembers, WantedPlaces, seat_of};

/// The reason why a workload waits.
#[derive(Clone, Debug)]
pub enum NaiveReason {
    NoRoom,
    Gang,
    Predicates,
    Limit { queue: String, slot: usize },
    Quota { queue: String, slot: usize },
    Behind(usize),
    Reserved { by: usize, until: i64 },
}

impl NaiveReason {
    pub fn of(unplaced: &UnplacedMembers, number: usize) -> Self {
        if unplaced.refused.is_some() {
            Self::Predicates
        } else if number > 1 && unplaced.fit > 0 {
            Self::Gang
        } else {
            Self::NoRoom
        }
    }

    fn is_for_room(&self) -> bool {
        matches!(self, Self::NoRoom | Self::Gang)
    }
}

pub struct NaiveCycle {
    pub cluster: NaiveCluster,
    /// By workload: it can never start.
    pub never: Vec<Option<&'static str>>,
    /// The members that run or have started.
    pub seats: Vec<OccupiedSeat>,
    /// By workload and place in task order.
    pub started: Vec<Vec<bool>>,
    pub reasons: Vec<Option<NaiveReason>>,
    /// The workload that waits for room before all others of this round.
    blocker: Option<usize>,
    /// The workload with the reservation, and its time.
    pub reserved: Option<(usize, i64)>,
    pub starts: Vec<Value>,
}

impl NaiveCycle {
    /// A cycle with the actions `allocate` and `backfill` and the order `sequencer`.
    pub fn run(document: &Value) -> Self {
        let cluster = NaiveCluster::read(document);
        let never: Vec<_> = cluster.workloads.iter().map(|workload| cluster.never(workload)).collect();
        let mut cycle = Self {
            seats: cluster.running.clone(),
            started: cluster.workloads.iter().map(|workload| vec![false; workload.members.len()]).collect(),
            reasons: cluster.workloads.iter().map(|_| None).collect(),
            never,
            cluster,
            blocker: None,
            reserved: None,
            starts: Vec::new(),
        };
        loop {
            let before = cycle.starts.len();
            while cycle.start_minimums() {}
            cycle.start_surplus();
            if cycle.starts.len() == before {
                return cycle;
            }
        }
    }

    pub fn position(&self, workload: usize) -> Option<usize> {
        let before = self.never[..workload].iter().filter(|never| never.is_none()).count();
        self.never[workload].is_none().then_some(before + 1)
    }

    fn count_started(&self, workload: usize) -> usize {
        self.started[workload].iter().filter(|started| **started).count()
    }

    /// How many members its minimum needs still.
    pub fn missing(&self, workload: usize) -> usize {
        let waiting = &self.cluster.workloads[workload];
        waiting.gang.saturating_sub(waiting.running + self.count_started(workload))
    }

    /// How many members wait for something of the cycle.
    pub fn count_waiting(&self, workload: usize) -> usize {
        self.cluster.workloads[workload].most.saturating_sub(self.count_started(workload))
    }

    pub fn unstarted(&self, workload: usize) -> Vec<usize> {
        (0..self.started[workload].len()).filter(|place| !self.started[workload][*place]).collect()
    }

    /// The amounts that its minimum asks for; where that runs, those of the next member.
    pub fn need(&self, workload: usize) -> Amounts {
        let waiting = &self.cluster.workloads[workload];
        match self.missing(workload) {
            0 => waiting.members[self.unstarted(workload)[0]].slots,
            _ => self.cluster.need(waiting),
        }
    }

    /// Gives each workload its turn, in order. Returns true if one has started.
    fn start_minimums(&mut self) -> bool {
        let before = self.starts.len();
        (self.blocker, self.reserved) = (None, None);
        let waits = |cycle: &Self, workload: usize| cycle.never[workload].is_none() && cycle.missing(workload) > 0;
        let order: Vec<usize> = (0..self.cluster.workloads.len()).filter(|workload| waits(self, *workload)).collect();
        for workload in order {
            self.reasons[workload] = None;
            let is_free = self.cluster.workloads[workload].asks_for_nothing();
            if let Some(blocker) = self.blocker.filter(|_| self.cluster.backfill == "none" && !is_free) {
                self.reasons[workload] = Some(NaiveReason::Behind(blocker));
                continue;
            }
            let (members, number, need) = (self.unstarted(workload), self.missing(workload), self.need(workload));
            match self.find_places(workload, &members, number, need, true) {
                Ok(placed) => self.start(workload, &placed, false),
                Err(reason) => {
                    if reason.is_for_room() {
                        self.blocker.get_or_insert(workload);
                        if self.cluster.backfill == "easy" && self.reserved.is_none() {
                            self.reserved = self.earliest_time(workload).map(|at| (workload, at));
                        }
                    }
                    self.reasons[workload] = Some(reason);
                }
            }
        }
        self.starts.len() > before
    }

    /// Members above the minimum, in rounds of one member for each workload.
    fn start_surplus(&mut self) {
        let has_surplus = |cycle: &Self, workload: &usize| {
            cycle.never[*workload].is_none() && cycle.missing(*workload) == 0 && cycle.count_waiting(*workload) > 0
        };
        let mut left: Vec<usize> = (0..self.cluster.workloads.len()).filter(|w| has_surplus(self, w)).collect();
        while !left.is_empty() {
            left.retain(|workload| self.start_one(*workload) && has_surplus(self, workload));
        }
    }

    fn start_one(&mut self, workload: usize) -> bool {
        if let Some(blocker) = self.blocker.filter(|_| self.cluster.backfill == "none") {
            self.reasons[workload] = Some(NaiveReason::Behind(blocker));
            return false;
        }
        let mut refused = None;
        for place in self.unstarted(workload) {
            let need = self.cluster.workloads[workload].members[place].slots;
            match self.find_places(workload, &[place], 1, need, false) {
                Ok(placed) => {
                    self.start(workload, &placed, true);
                    return true;
                }
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        self.reasons[workload] = refused;
        false
    }

    fn start(&mut self, workload: usize, placed: &SeatedMembers, surplus: bool) {
        let waiting = &self.cluster.workloads[workload];
        let mut members = Vec::new();
        for (place, agent) in placed.iter().copied() {
            let member = &waiting.members[place];
            self.seats.push(seat_of(waiting, member, agent, waiting.seconds.unwrap_or(NEVER)));
            self.started[workload][place] = true;
            members.push((member.number, self.cluster.nodes[agent].id.clone()));
        }
        members.sort_unstable();
        let members: Vec<Value> =
            members.into_iter().map(|(member, agent)| json!({"member": member, "agent_id": agent})).collect();
        let is_behind = self.blocker.is_some_and(|blocker| blocker < workload);
        let action = if is_behind || waiting.asks_for_nothing() { "backfill" } else { "allocate" };
        self.starts.push(json!({"workload_id": waiting.id, "position": self.position(workload), "action": action,
            "surplus": surplus, "members": members}));
        self.reasons[workload] = None;
    }

    /// Agents for members under all rules of a start, or the first rule that refuses them.
    fn find_places(
        &self,
        workload: usize,
        members: &[usize],
        number: usize,
        need: Amounts,
        tries_sizes: bool,
    ) -> Result<SeatedMembers, NaiveReason> {
        let waiting = &self.cluster.workloads[workload];
        if let Some(bound) = self.cluster.bound(&self.seats, waiting, need) {
            return Err(bound);
        }
        let wanted = WantedPlaces { workload: waiting, members, number, tries_sizes, lasting: false, leaves: None };
        let must_leave =
            self.reserved.filter(|(by, at)| *by != workload && waiting.seconds.is_none_or(|end| end > *at));
        let Some((by, until)) = must_leave else {
            let placed = self.cluster.place(&self.seats, wanted).map_err(|failed| NaiveReason::of(&failed, number))?;
            self.check_asked(waiting, &placed, need)?;
            return Ok(placed);
        };
        let leaves_room = |seats: &[OccupiedSeat]| self.cluster.fits_at(seats, &self.cluster.workloads[by], until);
        let leaves_bounds = |asked: Amounts| {
            let one = seat_of(
                waiting,
                &super::cluster::WaitingMember { number: 0, slots: asked, labels: waiting.labels.clone() },
                0,
                NEVER,
            );
            self.cluster.holds_bounds_at(&[&self.seats[..], &[one]].concat(), &self.cluster.workloads[by], until)
        };
        let reserved = || NaiveReason::Reserved { by, until };
        if leaves_bounds(need)
            && let Ok(placed) = self.cluster.place(&self.seats, WantedPlaces { leaves: Some(&leaves_room), ..wanted })
        {
            self.check_asked(waiting, &placed, need)?;
            let asked = Self::asked_by(waiting, &placed);
            return if asked == need || leaves_bounds(asked) { Ok(placed) } else { Err(reserved()) };
        }
        let placed = self.cluster.place(&self.seats, wanted);
        Err(placed.map_or_else(|failed| NaiveReason::of(&failed, number), |_| reserved()))
    }

    fn asked_by(waiting: &WaitingWorkload, placed: &SeatedMembers) -> Amounts {
        placed.iter().fold([0, 0], |sum, (place, _)| add(sum, waiting.members[*place].slots))
    }

    /// Members that were skipped may leave others that ask for more than was checked.
    fn check_asked(&self, waiting: &WaitingWorkload, placed: &SeatedMembers, need: Amounts) -> Result<(), NaiveReason> {
        let asked = Self::asked_by(waiting, placed);
        let bound = if asked == need { None } else { self.cluster.bound(&self.seats, waiting, asked) };
        bound.map_or(Ok(()), Err)
    }

    /// The earliest end at which the minimum has room, found by trying one end after the other.
    fn earliest_time(&self, workload: usize) -> Option<i64> {
        let waiting = &self.cluster.workloads[workload];
        let mut ends: Vec<i64> = self.seats.iter().map(|seat| seat.end).filter(|end| *end != NEVER).collect();
        ends.sort_unstable();
        let fits = |at: &i64| {
            self.cluster.holds_bounds_at(&self.seats, waiting, *at) && self.cluster.fits_at(&self.seats, waiting, *at)
        };
        ends.into_iter().find(fits)
    }
}

pub fn add(one: Amounts, other: Amounts) -> Amounts {
    [one[0] + other[0], one[1] + other[1]]
}
