//! Finds room for a workload under all rules of a start (CYCLE §5), without starting it.

use super::facts::add_times;
use super::placement::{Guard, Placed, Unplaced, Wanted, place, undo};
use super::reasons::Reason;
use super::state::{Cycle, KnownFailure};
use crate::decimal::Amount;

impl Cycle<'_> {
    /// True if the workload has to leave room for the reserved one.
    pub fn must_leave_room(&self, workload: usize) -> bool {
        let ends_by = |at: i64| self.facts.end_after_start(workload).is_some_and(|end| end <= at);
        self.reservation.as_ref().is_some_and(|known| known.workload != workload && !ends_by(known.at))
    }

    /// Puts members on agents if every rule lets them start. The reason is that of the first rule that does not.
    pub fn try_place(
        &mut self,
        workload: usize,
        used: &[usize],
        number: usize,
        need: &[Amount],
        heeds_share: bool,
    ) -> Result<Vec<Placed>, Reason> {
        let queue = self.facts.workloads[workload].queue;
        self.check_bounds(workload, need)?;
        if heeds_share && let Some(queue) = self.claims.keeps_back(&self.turn, queue) {
            return Err(Reason::QueueShare(queue));
        }
        let wanted = Wanted { workload, used, number };
        let placed = self.find_room(wanted, need)?;
        // Members that were skipped may leave others that ask for more.
        let asked = self.asked(workload, &placed);
        if asked != need
            && let Err(reason) = self.check_bounds(workload, &asked)
        {
            self.give_up(workload, &placed);
            return Err(reason);
        }
        Ok(placed)
    }

    /// Checks the limits of the queue and of those above, and the quotas for work that may not be evicted.
    pub fn check_bounds(&self, workload: usize, need: &[Amount]) -> Result<(), Reason> {
        let waiting = &self.facts.workloads[workload];
        let tree = &self.turn.tree;
        if let Some((queue, column)) = self.held.over_limit(tree, waiting.queue, need) {
            return Err(Reason::QueueLimit { queue, column });
        }
        if self.checks_quota
            && !waiting.input.preemptible
            && let Some((queue, column)) = self.held.over_quota(tree, waiting.queue, need)
        {
            return Err(Reason::Quota { queue, column });
        }
        Ok(())
    }

    fn find_room(&mut self, wanted: Wanted, need: &[Amount]) -> Result<Vec<Placed>, Reason> {
        let Wanted { workload, number, .. } = wanted;
        let waiting = &self.facts.workloads[workload];
        let shape = &self.facts.shapes[waiting.shape];
        let is_minimum = !self.progress[workload].minimum_runs(shape);
        let stamp = if shape.is_simple() { self.evicting_plans } else { self.changes };
        if is_minimum && let Some(known) = self.failures.get(&waiting.shape).filter(|known| known.stamp == stamp) {
            return Err(known.reason.clone());
        }
        let guards = self.must_leave_room(workload);
        if guards && is_minimum && self.delays.get(&(waiting.shape, waiting.queue)) == Some(&stamp) {
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
                    self.delays.insert((waiting.shape, waiting.queue), stamp);
                }
                Err(self.delaying())
            }
            Err(unplaced) => {
                let reason = Reason::of(&unplaced, number);
                if is_minimum {
                    self.failures.insert(waiting.shape, KnownFailure { stamp, reason: reason.clone() });
                }
                Err(reason)
            }
        }
    }

    fn place_beside_reservation(
        &mut self,
        wanted: Wanted,
        need: &[Amount],
        guards: bool,
    ) -> Result<Vec<Placed>, Unplaced> {
        let queue = self.facts.workloads[wanted.workload].queue;
        let Self { room, reservation, turn, .. } = self;
        let Some(reservation) = reservation.as_mut().filter(|_| guards) else { return place(room, wanted, None) };
        if !reservation.leaves_bounds(&turn.tree, queue, need) {
            return Err(Unplaced { fit: 0, skipped: 0, refused: None });
        }
        place(room, wanted, Some(reservation))
    }

    fn delaying(&self) -> Reason {
        let known = self.reservation.as_ref();
        known.map_or(Reason::NoRoom, |known| Reason::Reserved { by: known.workload, until: known.at })
    }

    /// Takes placed members back that do not start after all.
    pub fn give_up(&mut self, workload: usize, placed: &[Placed]) {
        let guards = self.must_leave_room(workload);
        let guard = self.reservation.as_mut().filter(|_| guards).map(|known| known as &mut dyn Guard);
        undo(&mut self.room, workload, placed, guard);
    }

    /// The sum of the requests of placed members, by column.
    pub fn asked(&self, workload: usize, placed: &[Placed]) -> Vec<Amount> {
        let shape = self.facts.shape_of(workload);
        let mut asked = vec![Amount::ZERO; self.facts.capacity.len()];
        for member in placed {
            add_times(&mut asked, &self.facts.kinds[shape.groups[member.group].kind].request, 1);
        }
        asked
    }
}
