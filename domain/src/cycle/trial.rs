//! Finds room for a workload under all rules of a start (CYCLE §5), without starting it.

use super::facts::add_times;
use super::placement::{FailedPlacement, PlacementRequest, ReservationGuard, SeatedMember, place, undo};
use super::reasons::NotedReason;
use super::state::{CycleState, KnownFailure};
use crate::decimal::Amount;

impl CycleState<'_> {
    /// True if the workload has to leave room for the reserved one.
    pub fn must_leave_room(&self, workload: usize) -> bool {
        let ends_by = |at: i64| self.facts.end_after_start(workload).is_some_and(|end| end <= at);
        self.reservation.as_ref().is_some_and(|known| known.workload != workload && !ends_by(known.at))
    }

    /// Puts members on agents if every rule lets them start. The reason is that of the first rule that does not.
    pub fn try_place(
        &mut self,
        wanted: PlacementRequest,
        need: &[Amount],
        heeds_share: bool,
    ) -> Result<Vec<SeatedMember>, NotedReason> {
        let workload = wanted.workload;
        self.check_bounds(workload, need)?;
        let queue = self.facts.workloads[workload].queue;
        if heeds_share && let Some(queue) = self.claims.keeps_back(&self.turn, queue) {
            return Err(NotedReason::QueueShare(queue));
        }
        let placed = self.find_room(wanted, need)?;
        // Members that were skipped may leave others that ask for more.
        let asked = self.asked(workload, &placed);
        if asked != need
            && let Err(reason) =
                self.check_bounds(workload, &asked).and_then(|()| self.check_reserved(workload, &asked))
        {
            self.give_up(workload, &placed);
            return Err(reason);
        }
        Ok(placed)
    }

    /// Checks that the limits and quotas of the reserved workload still hold at its time.
    fn check_reserved(&mut self, workload: usize, asked: &[Amount]) -> Result<(), NotedReason> {
        let must_leave = self.must_leave_room(workload);
        let Self { reservation, turn, .. } = self;
        let Some(known) = reservation.as_mut().filter(|_| must_leave) else { return Ok(()) };
        if known.leaves_bounds(&turn.tree, workload, asked) { Ok(()) } else { Err(self.delaying()) }
    }

    /// Checks the limits of the queue and of those above, and the quotas for work that may not be evicted.
    pub fn check_bounds(&self, workload: usize, need: &[Amount]) -> Result<(), NotedReason> {
        let waiting = &self.facts.workloads[workload];
        let tree = &self.turn.tree;
        if let Some((queue, column)) = self.held.over_limit(tree, waiting.queue, need) {
            return Err(NotedReason::QueueLimit { queue, column });
        }
        if self.checks_quota
            && !waiting.input.preemptible
            && let Some((queue, column)) = self.held.over_quota(tree, waiting.queue, need)
        {
            return Err(NotedReason::Quota { queue, column });
        }
        Ok(())
    }

    fn find_room(&mut self, wanted: PlacementRequest, need: &[Amount]) -> Result<Vec<SeatedMember>, NotedReason> {
        let PlacementRequest { workload, number, .. } = wanted;
        let waiting = &self.facts.workloads[workload];
        let shape = &self.facts.shapes[waiting.shape];
        let progress = &self.progress[workload];
        // Workloads of one shape have the same minimum, unless one has lost running members.
        let is_minimum = !progress.minimum_runs(shape) && progress.lost.is_empty();
        let stamp = if shape.fails_alike() { self.evicting_plans } else { self.changes };
        if is_minimum && let Some(known) = self.failures.get(&waiting.shape).filter(|known| known.stamp == stamp) {
            return Err(known.reason.clone());
        }
        let guards = self.must_leave_room(workload);
        let delay_key = (waiting.shape, waiting.queue, waiting.input.preemptible);
        if guards && is_minimum && self.delays.get(&delay_key) == Some(&stamp) {
            return Err(self.delaying());
        }
        let failed = match self.place_beside_reservation(wanted, need, guards) {
            Ok(placed) => return Ok(placed),
            Err(failed) => failed,
        };
        let placed = if guards { place(&mut self.room, wanted, None) } else { Err(failed) };
        match placed {
            Ok(placed) => {
                undo(&mut self.room, workload, &placed, None);
                if is_minimum {
                    self.delays.insert(delay_key, stamp);
                }
                Err(self.delaying())
            }
            Err(unplaced) => {
                let reason = NotedReason::of(&unplaced, number);
                if is_minimum {
                    self.failures.insert(waiting.shape, KnownFailure { stamp, reason: reason.clone() });
                }
                Err(reason)
            }
        }
    }

    fn place_beside_reservation(
        &mut self,
        wanted: PlacementRequest,
        need: &[Amount],
        guards: bool,
    ) -> Result<Vec<SeatedMember>, FailedPlacement> {
        let Self { room, reservation, turn, .. } = self;
        let Some(reservation) = reservation.as_mut().filter(|_| guards) else { return place(room, wanted, None) };
        if !reservation.leaves_bounds(&turn.tree, wanted.workload, need) {
            return Err(FailedPlacement { fit: 0, skipped: 0, refused: None });
        }
        place(room, wanted, Some(reservation))
    }

    fn delaying(&self) -> NotedReason {
        let known = self.reservation.as_ref();
        known.map_or(NotedReason::NoRoom, |known| NotedReason::Reserved { by: known.workload, until: known.at })
    }

    /// Takes placed members back that do not start after all.
    pub fn give_up(&mut self, workload: usize, placed: &[SeatedMember]) {
        let guards = self.must_leave_room(workload);
        let guard = self.reservation.as_mut().filter(|_| guards).map(|known| known as &mut dyn ReservationGuard);
        undo(&mut self.room, workload, placed, guard);
    }

    /// The sum of the requests of placed members, by column.
    pub fn asked(&self, workload: usize, placed: &[SeatedMember]) -> Vec<Amount> {
        let shape = self.facts.shape_of(workload);
        let mut asked = vec![Amount::ZERO; self.facts.capacity.len()];
        for member in placed {
            add_times(&mut asked, &self.facts.kinds[shape.groups[member.group].kind].request, 1);
        }
        asked
    }
}
