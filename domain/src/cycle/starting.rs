//! Starts members that have room: queues hold more, agents have less, and the answer has one more line.

use std::sync::Arc;

use super::outcome::{CycleStart, MemberPlacement, TraceStep};
use super::placement::SeatedMember;
use super::request::options::BackfillMode;
use super::reservation::MemberEnd;
use super::state::CycleState;
use crate::decimal::Amount;

impl CycleState<'_> {
    /// Starts members that are in the room already.
    pub fn start(&mut self, workload: usize, placed: &[SeatedMember], action: &'static str, surplus: bool) {
        let result = if surplus { "surplus" } else { "started" };
        self.note(workload, action, result, placed.len());
        let asked = self.asked(workload, placed);
        let waiting = &self.facts.workloads[workload];
        if self.must_leave_room(workload)
            && let Some(reservation) = &mut self.reservation
        {
            reservation.holdings.add(&self.turn.tree, waiting.queue, &asked, waiting.input.preemptible);
        }
        if self.reservation.as_ref().is_some_and(|known| known.workload == workload) {
            self.end_reservation();
        }
        if self.settings.by_queues && self.progress[workload].reason.is_some() {
            let facts = self.facts;
            self.claims.remove(&self.turn, waiting.queue, workload, |workload| facts.need_of(workload));
        }
        self.hold(workload, &asked);
        self.seat(workload, placed, action, surplus);
        self.progress[workload].reason = None;
        self.changes += 1;
    }

    /// Adds amounts to what the workload's queue holds.
    pub fn hold(&mut self, workload: usize, asked: &[Amount]) {
        let waiting = &self.facts.workloads[workload];
        self.held.add(&self.turn.tree, waiting.queue, asked, waiting.input.preemptible);
        self.show_holdings(waiting.queue);
    }

    /// Lets the tree have what the queue and those above hold now.
    pub fn show_holdings(&mut self, queue: usize) {
        let path: Vec<usize> = self.turn.tree.ancestry(queue).collect();
        let tree = &mut self.turn.tree;
        for at in path {
            tree.allocated.row_mut(at).copy_from_slice(self.held.allocated.row(at));
            tree.allocated_non_preemptible.row_mut(at).copy_from_slice(self.held.non_preemptible.row(at));
        }
        let facts = self.facts;
        if self.settings.by_queues {
            self.claims.update(&self.turn, queue, |workload| facts.need_of(workload));
        }
    }

    fn seat(&mut self, workload: usize, placed: &[SeatedMember], action: &'static str, surplus: bool) {
        let waiting = &self.facts.workloads[workload];
        let shape = &self.facts.shapes[waiting.shape];
        let progress = &mut self.progress[workload];
        let end = self.facts.end_after_start(workload).unwrap_or(i64::MAX);
        let mut members = Vec::with_capacity(placed.len());
        for SeatedMember { group, agent } in placed.iter().copied() {
            let member = shape.groups[group].first + progress.used[group];
            progress.used[group] += 1;
            let known = self.facts.agents.get(agent);
            let agent_id = known.map(|agent| Arc::clone(&agent.agent_id));
            members.push(MemberPlacement { member, agent_id, kernel_id: None });
            let member = self.room.footprint(workload, shape.groups[group].kind);
            let (queue, preemptible) = (waiting.queue, waiting.input.preemptible);
            if self.settings.backfill == BackfillMode::Easy {
                self.endings.push(MemberEnd { at: end, member, agent, queue, preemptible, seat: None });
            }
        }
        self.endings_are_sorted = false;
        progress.started += placed.len();
        members.sort_unstable_by_key(|seated| seated.member);
        self.starts.push(CycleStart {
            workload_id: Arc::clone(&waiting.input.workload_id),
            queue: Arc::clone(&self.turn.tree.queues[waiting.queue].name),
            position: progress.position.unwrap_or_default(),
            action,
            surplus,
            members,
        });
    }

    /// Adds a step to the trace, if one is wanted.
    pub fn note(&mut self, workload: usize, action: &'static str, result: &str, members: usize) {
        let Some(steps) = &mut self.steps else { return };
        let waiting = &self.facts.workloads[workload];
        let tree = &self.turn.tree;
        steps.push(TraceStep {
            action,
            workload_id: Arc::clone(&waiting.input.workload_id),
            queue: Arc::clone(&tree.queues[waiting.queue].name),
            position: self.progress[workload].position.unwrap_or_default(),
            result: result.to_owned(),
            members,
            held: tree.amounts(tree.allocated.row(waiting.queue)),
        });
    }
}
