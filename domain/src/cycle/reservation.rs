//! EASY reservations (CYCLE §6): the first workload that does not fit gets the earliest time at which expected ends leave
//! room for its minimum. Others start only if that stays so.

use super::facts::ResolvedRequest;
use super::holdings::ReservedHoldings;
use super::placement::{PlacementRequest, ReservationGuard, place, undo};
use super::predicates::NeighbourCounts;
use super::room::{AgentOccupancy, CountedMember};
use crate::decimal::Amount;
use crate::division::QueueTree;

/// A member that holds room until a moment.
#[derive(Clone, Copy)]
pub struct MemberEnd<'a> {
    /// In microseconds; never ends: `i64::MAX`.
    pub at: i64,
    pub member: CountedMember<'a>,
    pub agent: usize,
    pub queue: usize,
    pub preemptible: bool,
    /// The running workload and member; `None` for a member that started in this cycle.
    pub seat: Option<(usize, usize)>,
}

/// The state at the moment at which the reserved workload can start.
pub struct RoomReservation<'a> {
    pub workload: usize,
    /// In microseconds.
    pub at: i64,
    pub room: AgentOccupancy<'a>,
    pub holdings: ReservedHoldings,
    used: Vec<usize>,
    /// By agent, where counting decides: how many members of the reserved workload have room.
    counts: Option<Vec<usize>>,
    counted: usize,
    checks_quota: bool,
}

/// The search for the earliest time of one workload.
pub struct TimeSearch<'s, 'a> {
    pub facts: &'a ResolvedRequest<'a>,
    pub tree: &'s QueueTree,
    pub room: &'s AgentOccupancy<'a>,
    pub holdings: &'s ReservedHoldings,
    /// All members that hold room, by their ends.
    pub endings: &'s [MemberEnd<'a>],
    pub used: &'s [usize],
    pub checks_quota: bool,
}

impl<'a> TimeSearch<'_, 'a> {
    /// The reservation of the workload; `None` if no end leaves enough room.
    pub fn find(&self, workload: usize) -> Option<RoomReservation<'a>> {
        let ends = self.moments();
        let simple = self.facts.shape_of(workload).is_simple();
        let at = if simple { self.halve(workload, &ends)? } else { self.walk(workload, &ends)? };
        let mut reservation = self.start(workload);
        reservation.at = at;
        self.pass(&mut reservation, i64::MIN, at);
        reservation.count_again();
        Some(reservation)
    }

    /// The moments at which something ends, ascending.
    fn moments(&self) -> Vec<i64> {
        let mut moments: Vec<i64> = self.endings.iter().map(|ending| ending.at).filter(|at| *at < i64::MAX).collect();
        moments.dedup();
        moments
    }

    fn start(&self, workload: usize) -> RoomReservation<'a> {
        RoomReservation {
            workload,
            at: 0,
            room: self.room.copied(),
            holdings: self.holdings.clone(),
            used: self.used.to_vec(),
            counts: None,
            counted: 0,
            checks_quota: self.checks_quota,
        }
    }

    /// Lets everything end that ends after one moment and not after another.
    fn pass(&self, state: &mut RoomReservation<'a>, after: i64, until: i64) {
        let from = self.endings.partition_point(|ending| ending.at <= after);
        let to = self.endings.partition_point(|ending| ending.at <= until);
        for ending in &self.endings[from..to] {
            state.room.take_away(ending.member, ending.agent);
            let amounts = ending.member.request;
            state.holdings.remove(self.tree, ending.queue, amounts, ending.preemptible);
        }
    }

    fn fits(&self, state: &mut RoomReservation<'a>) -> bool {
        state.holds_bounds(self.tree) && state.has_room()
    }

    /// More room is never worse for equal members, so the moments are halved.
    fn halve(&self, workload: usize, ends: &[i64]) -> Option<i64> {
        let fits_at = |at: i64| {
            let mut state = self.start(workload);
            self.pass(&mut state, i64::MIN, at);
            self.fits(&mut state)
        };
        ends.last().filter(|last| fits_at(**last))?;
        let (mut low, mut high) = (0, ends.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if fits_at(ends[middle]) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(ends[low])
    }

    fn walk(&self, workload: usize, ends: &[i64]) -> Option<i64> {
        let mut state = self.start(workload);
        let mut before = i64::MIN;
        for at in ends.iter().copied() {
            self.pass(&mut state, before, at);
            before = at;
            if self.fits(&mut state) {
                return Some(at);
            }
        }
        None
    }
}

impl RoomReservation<'_> {
    fn wanted(&self) -> usize {
        self.room.facts.shape_of(self.workload).minimum()
    }

    /// True if the minimum of the reserved workload has room at its time.
    pub fn has_room(&mut self) -> bool {
        let used = std::mem::take(&mut self.used);
        let wanted = PlacementRequest { workload: self.workload, used: &used, number: self.wanted(), group: None };
        let placed = place(&mut self.room, wanted, None);
        if let Ok(placed) = &placed {
            undo(&mut self.room, self.workload, placed, None);
        }
        self.used = used;
        placed.is_ok()
    }

    /// Counts the members that have room, where counting is exact: equal members that no other workload keeps away.
    pub fn count_again(&mut self) {
        let facts = self.room.facts;
        let shape = facts.shape_of(self.workload);
        if !shape.is_simple() || !facts.terms.is_empty() {
            return;
        }
        let counts: Vec<usize> = (0..facts.rows).map(|agent| self.count(agent)).collect();
        self.counted = counts.iter().sum();
        self.counts = Some(counts);
    }

    fn count(&self, agent: usize) -> usize {
        let shape = self.room.facts.shape_of(self.workload);
        let kind = shape.groups[0].kind;
        if self.room.refuses(kind, agent) {
            return 0;
        }
        let own = self.room.members_on(self.workload, agent);
        let wanted = self.wanted();
        self.room.count(kind, agent, shape.max_per_agent.map_or(wanted, |most| wanted.min(most.saturating_sub(own))))
    }

    pub fn put(&mut self, member: CountedMember, agent: usize) {
        self.room.put(member, agent);
        self.count_agent(agent);
    }

    pub fn take_away(&mut self, member: CountedMember, agent: usize) {
        self.room.take_away(member, agent);
        self.count_agent(agent);
    }

    fn count_agent(&mut self, agent: usize) {
        let Some(mut counts) = self.counts.take() else { return };
        if let Some(old) = counts.get(agent).copied() {
            counts[agent] = self.count(agent);
            self.counted = self.counted - old + counts[agent];
        }
        self.counts = Some(counts);
    }

    /// True if the limits, and the quotas for work that may not be evicted, hold for the reserved workload at its time.
    fn holds_bounds(&self, tree: &QueueTree) -> bool {
        let facts = self.room.facts;
        let waiting = &facts.workloads[self.workload];
        let need = facts.need_of(self.workload);
        let heeds_quota = self.checks_quota && !waiting.input.preemptible;
        self.holdings.over_limit(tree, waiting.queue, need).is_none()
            && !(heeds_quota && self.holdings.over_quota(tree, waiting.queue, need).is_some())
    }

    /// True if the bounds of the reserved workload still hold at its time with `asked` by another workload.
    pub fn leaves_bounds(&mut self, tree: &QueueTree, workload: usize, asked: &[Amount]) -> bool {
        let other = &self.room.facts.workloads[workload];
        self.holdings.add(tree, other.queue, asked, other.input.preemptible);
        let holds = self.holds_bounds(tree);
        self.holdings.subtract(tree, other.queue, asked, other.input.preemptible);
        holds
    }
}

impl ReservationGuard for RoomReservation<'_> {
    fn admit(&mut self, member: CountedMember, agent: usize) -> bool {
        self.put(member, agent);
        let holds = if self.counts.is_some() { self.counted >= self.wanted() } else { self.has_room() };
        if !holds {
            self.take_away(member, agent);
        }
        holds
    }

    fn dismiss(&mut self, member: CountedMember, agent: usize) {
        self.take_away(member, agent);
    }
}
