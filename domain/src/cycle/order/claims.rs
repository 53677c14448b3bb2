//! Which queues have a claim on room: those below their share with a workload that waits for it. A queue that has its
//! share waits for them (kube-batch's overused, CYCLE §5).
//!
//! The claims are kept for all queues at once, so that asking for one queue costs its depth, however many siblings it has.

use crate::decimal::Amount;
use crate::sequencer::turns::TurnState;

pub struct ShareClaims {
    /// By queue: its own workloads that wait for room, with what each needs. Where only workloads count that deserve the
    /// room, those that do not any more are taken off the end: a queue only comes to hold more while claims are asked for.
    waiting: Vec<Vec<usize>>,
    /// By queue: it or a queue below has such a workload.
    claims: Vec<bool>,
    /// By queue: the number of children that claim.
    claiming_children: Vec<usize>,
    /// By queue, the roots last: the number of children that claim and are below their share.
    hungry_children: Vec<usize>,
    is_hungry: Vec<bool>,
    only_deserving: bool,
}

impl ShareClaims {
    pub fn new(queues: usize, only_deserving: bool) -> Self {
        Self {
            waiting: vec![Vec::new(); queues],
            claims: vec![false; queues],
            claiming_children: vec![0; queues],
            hungry_children: vec![0; queues + 1],
            is_hungry: vec![false; queues],
            only_deserving,
        }
    }

    /// Notes a workload that waits for room, or behind one that does.
    pub fn add<'n>(&mut self, state: &TurnState, queue: usize, workload: usize, need: impl Fn(usize) -> &'n [Amount]) {
        self.waiting[queue].push(workload);
        self.update(state, queue, need);
    }

    /// Forgets a workload that has started.
    pub fn remove<'n>(
        &mut self,
        state: &TurnState,
        queue: usize,
        workload: usize,
        need: impl Fn(usize) -> &'n [Amount],
    ) {
        self.waiting[queue].retain(|other| *other != workload);
        self.update(state, queue, need);
    }

    /// Follows a change of what the queue holds or of what waits in it.
    pub fn update<'n>(&mut self, state: &TurnState, queue: usize, need: impl Fn(usize) -> &'n [Amount]) {
        if self.only_deserving {
            let deserves = |need: &[Amount]| {
                let (held, share) = (state.tree.allocated.row(queue), state.fair_share.row(queue));
                held.iter().zip(need).zip(share).all(|((held, need), share)| held.saturating_add(*need) <= *share)
            };
            while self.waiting[queue].last().is_some_and(|workload| !deserves(need(*workload))) {
                self.waiting[queue].pop();
            }
        }
        for at in state.tree.ancestry(queue) {
            let parent = state.tree.queues[at].parent;
            let claims = !self.waiting[at].is_empty() || self.claiming_children[at] > 0;
            if claims != self.claims[at] {
                self.claims[at] = claims;
                if let Some(parent) = parent {
                    adjust(&mut self.claiming_children[parent], claims);
                }
            }
            let hungry = claims && !state.has_its_share(at);
            if hungry != self.is_hungry[at] {
                self.is_hungry[at] = hungry;
                let level = parent.unwrap_or(self.is_hungry.len());
                adjust(&mut self.hungry_children[level], hungry);
            }
        }
    }

    /// The first queue, from this one upwards, that has its share while a sibling below its own claims room.
    pub fn keeps_back(&self, state: &TurnState, queue: usize) -> Option<usize> {
        state.tree.ancestry(queue).find(|at| {
            let level = state.tree.queues[*at].parent.unwrap_or(self.is_hungry.len());
            self.hungry_children[level] > 0 && state.has_its_share(*at)
        })
    }
}

fn adjust(count: &mut usize, up: bool) {
    *count = if up { *count + 1 } else { count.saturating_sub(1) };
}
