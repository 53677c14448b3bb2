//! Queues take turns (CYCLE §3): from the roots down the queue that comes first gives its first workload.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::cycle::facts::ResolvedRequest;
use crate::cycle::state::WorkloadProgress;
use crate::decimal::Amount;
use crate::division::score_weights::ScoreWeights;
use crate::division::{Fraction, QueueSlotGrid};
use crate::sequencer::saturation::BySaturation;
use crate::sequencer::score::SiblingScores;
use crate::sequencer::turns::{TurnRule, TurnState};

/// The order of a queue's own workloads: priority, those below their minimum, the smaller dominant share held, age.
type JobKey = (Reverse<i32>, bool, Fraction, usize);

pub struct QueueTurns<'a> {
    turns: Box<dyn TurnRule + 'a>,
    /// By queue: its own workloads.
    own: Vec<BinaryHeap<Reverse<(JobKey, usize)>>>,
    /// By queue: the workload that it or a queue below would give next.
    next: Vec<Option<usize>>,
}

impl<'a> QueueTurns<'a> {
    /// Turns for these workloads. `state` gets what each queue asks for next.
    pub fn new(
        (facts, progress, state): (&ResolvedRequest, &[WorkloadProgress], &mut TurnState),
        workloads: impl Iterator<Item = usize>,
        (by_score, weights): (bool, &'a ScoreWeights),
    ) -> Self {
        let rows = state.tree.len();
        let turns: Box<dyn TurnRule + 'a> = if by_score {
            Box::new(SiblingScores::new(rows, weights, true))
        } else {
            Box::new(BySaturation::new(rows, true))
        };
        let mut own: Vec<Vec<_>> = vec![Vec::new(); rows];
        for workload in workloads {
            own[facts.workloads[workload].queue].push(Reverse((key(facts, progress, workload), workload)));
        }
        let own = own.into_iter().map(BinaryHeap::from).collect();
        let mut queue_turns = Self { turns, own, next: vec![None; rows] };
        state.next = QueueSlotGrid::new(rows, state.tree.slots.len(), Amount::ZERO);
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); rows + 1];
        for queue in state.tree.top_down().to_vec().into_iter().rev() {
            queue_turns.turns.open(state, Some(queue), std::mem::take(&mut waiting[queue]));
            if queue_turns.look_ahead(facts, progress, state, queue) {
                waiting[state.tree.queues[queue].parent.unwrap_or(rows)].push(queue);
            }
        }
        queue_turns.turns.open(state, None, std::mem::take(&mut waiting[rows]));
        queue_turns
    }

    /// Takes the workload whose turn it is. [`QueueTurns::settle`] has to follow once it is decided.
    pub fn take(&mut self) -> Option<usize> {
        let mut queue = self.turns.first(None)?;
        while self.own[queue].is_empty() {
            queue = self.turns.first(Some(queue))?;
        }
        self.own[queue].pop().map(|Reverse((_, workload))| workload)
    }

    /// Brings the order up to date after the turn of a queue.
    pub fn settle(
        &mut self,
        facts: &ResolvedRequest,
        progress: &[WorkloadProgress],
        state: &mut TurnState,
        queue: usize,
    ) {
        let path: Vec<usize> = state.tree.ancestry(queue).collect();
        for at in path {
            let waits = self.look_ahead(facts, progress, state, at);
            self.turns.gave(state, at, waits);
        }
    }

    /// Lets a workload have another turn.
    pub fn put_back(&mut self, facts: &ResolvedRequest, progress: &[WorkloadProgress], workload: usize) {
        self.own[facts.workloads[workload].queue].push(Reverse((key(facts, progress, workload), workload)));
    }

    /// Takes all other workloads of a queue out of the turns.
    pub fn drain(&mut self, queue: usize) -> Vec<usize> {
        std::mem::take(&mut self.own[queue]).into_iter().map(|Reverse((_, workload))| workload).collect()
    }

    /// Updates the workload that the queue would give next. Returns true if there is one.
    fn look_ahead(
        &mut self,
        facts: &ResolvedRequest,
        progress: &[WorkloadProgress],
        state: &mut TurnState,
        queue: usize,
    ) -> bool {
        let own = self.own[queue].peek().map(|Reverse((_, workload))| *workload);
        let next = own.or_else(|| self.next[self.turns.first(Some(queue))?]);
        let row = state.next.row_mut(queue);
        row.fill(Amount::ZERO);
        if let Some(workload) = next {
            progress[workload].write_need(facts, workload, row);
        }
        self.next[queue] = next;
        next.is_some()
    }
}

fn key(facts: &ResolvedRequest, progress: &[WorkloadProgress], workload: usize) -> JobKey {
    let waiting = &facts.workloads[workload];
    let progress = &progress[workload];
    let minimum_runs = progress.minimum_runs(facts.shape_of(workload));
    (Reverse(waiting.input.priority), minimum_runs, progress.dominant_share(facts, workload), waiting.age)
}
