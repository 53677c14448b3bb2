//! Limits, quotas, room at a later time, and workloads that can never start.

use super::cluster::{Amounts, NaiveCluster, OccupiedSeat, SLOTS, WaitingWorkload};
use super::placement::WantedPlaces;
use super::rounds::{NaiveReason, add};

impl NaiveCluster {
    /// The amounts that the queue and those below it hold.
    pub fn held(&self, seats: &[OccupiedSeat], queue: &str, only_lasting: bool) -> Amounts {
        let counts =
            |seat: &&OccupiedSeat| self.ancestry(&seat.queue).contains(&queue) && !(only_lasting && seat.preemptible);
        seats.iter().filter(counts).fold([0, 0], |sum, seat| add(sum, seat.slots))
    }

    /// The first queue, upwards, and the first slot by name whose limit or quota does not let the workload have that much more.
    pub fn bound(&self, seats: &[OccupiedSeat], workload: &WaitingWorkload, asked: Amounts) -> Option<NaiveReason> {
        let over = |is_quota: bool| {
            self.ancestry(&workload.queue).into_iter().find_map(|name| {
                let (held, queue) = (self.held(seats, name, is_quota), &self.queues[name]);
                let bound = |slot: usize| if is_quota { Some(queue.quota[slot]) } else { queue.limit[slot] };
                let is_over = |slot: &usize| {
                    asked[*slot] > 0 && bound(*slot).is_some_and(|bound| held[*slot] + asked[*slot] > bound)
                };
                (0..SLOTS.len()).find(is_over).map(|slot| (name.to_owned(), slot))
            })
        };
        if let Some((queue, slot)) = over(false) {
            return Some(NaiveReason::Limit { queue, slot });
        }
        let has_quotas = self.queues.values().any(|queue| queue.quota.iter().any(|quota| *quota > 0));
        let heeds_quotas = has_quotas && !workload.preemptible;
        over(true).filter(|_| heeds_quotas).map(|(queue, slot)| NaiveReason::Quota { queue, slot })
    }

    /// The sum of the first members that could ever run, as many as the minimum.
    pub fn need(&self, workload: &WaitingWorkload) -> Amounts {
        let able = workload.members.iter().filter(|member| self.could_run(workload, member));
        able.take(workload.minimum()).fold([0, 0], |sum, member| add(sum, member.slots))
    }

    fn left_at(seats: &[OccupiedSeat], at: i64) -> Vec<OccupiedSeat> {
        seats.iter().filter(|seat| seat.end > at).cloned().collect()
    }

    /// True if the minimum has room once everything has ended that ends by then.
    pub fn fits_at(&self, seats: &[OccupiedSeat], workload: &WaitingWorkload, at: i64) -> bool {
        let members: Vec<usize> = (0..workload.members.len()).collect();
        let wanted = WantedPlaces {
            workload,
            members: &members,
            number: workload.minimum(),
            tries_sizes: true,
            lasting: false,
            leaves: None,
        };
        self.place(&Self::left_at(seats, at), wanted).is_ok()
    }

    pub fn holds_bounds_at(&self, seats: &[OccupiedSeat], workload: &WaitingWorkload, at: i64) -> bool {
        self.bound(&Self::left_at(seats, at), workload, self.need(workload)).is_none()
    }

    /// The capacity, or that of all nodes if one of them takes no members now and may come back.
    fn full_capacity(&self, slot: usize) -> i64 {
        if self.nodes.iter().all(|node| node.schedulable) {
            return self.capacity[slot];
        }
        self.nodes.iter().map(|node| node.total[slot]).sum::<i64>().max(self.capacity[slot])
    }

    /// The reason why it can never start, if there is one.
    pub fn never(&self, workload: &WaitingWorkload) -> Option<&'static str> {
        let minimum = workload.minimum();
        let count = |is_able: &dyn Fn(usize) -> bool| (0..workload.members.len()).filter(|at| is_able(*at)).count();
        if count(&|at| self.has_agent(workload, &workload.members[at])) < minimum {
            return Some("predicates");
        }
        if count(&|at| self.could_run(workload, &workload.members[at])) < minimum {
            return Some("agent");
        }
        let own = self.running.iter().filter(|seat| seat.workload == workload.id && workload.gang > workload.running);
        let asked = own.fold(self.need(workload), |sum, seat| add(sum, seat.slots));
        if (0..SLOTS.len()).any(|slot| asked[slot] > self.full_capacity(slot)) {
            return Some("group");
        }
        let exceeds = |name: &&str| {
            (0..SLOTS.len()).any(|slot| self.queues[*name].limit[slot].is_some_and(|limit| asked[slot] > limit))
        };
        if self.ancestry(&workload.queue).iter().any(exceeds) {
            return Some("queue");
        }
        let members: Vec<usize> = (0..workload.members.len()).collect();
        let wanted = WantedPlaces {
            workload,
            members: &members,
            number: minimum,
            tries_sizes: true,
            lasting: true,
            leaves: None,
        };
        let asks_for_others = !workload.with.is_empty() || !workload.against.is_empty();
        (!asks_for_others && self.place(&[], wanted).is_err()).then_some("members")
    }
}
