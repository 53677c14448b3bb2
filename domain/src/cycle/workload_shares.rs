//! The fair shares of workloads under `min_share` with `leaves: "workloads"` (DIVISION §3).

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::facts::{ResolvedRequest, add_times};
use super::never::{self, ImpedimentIndices};
use super::request::workloads::CycleRunning;
use crate::decimal::Amount;
use crate::division::{LeafLevel, MinShareRatios, MinShareRule, QueueTree, WorkloadDemand};

/// The fair share of a workload in its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WorkloadShare {
    #[schema(value_type = String)]
    pub workload_id: Arc<str>,
    /// A part of the group's capacity, 0 to 1.
    pub fair_share_ratio: Amount,
    /// True if that is less than one member of the workload needs.
    pub below_one_member: bool,
}

/// A workload that runs or waits, or both.
struct PresentWorkload {
    id: Arc<str>,
    priority: i32,
    /// Its rank by submission; `None` for those that do not wait, which come first.
    age: Option<usize>,
    demand: WorkloadDemand,
}

impl PresentWorkload {
    fn new(id: &Arc<str>, priority: i32, columns: usize) -> Self {
        let zeros = vec![Amount::ZERO; columns];
        let demand = WorkloadDemand { held: zeros.clone(), demand: zeros, members: Vec::new() };
        Self { id: Arc::clone(id), priority, age: None, demand }
    }

    /// Adds the demand of `count` members that ask for `request` each.
    fn add_members(&mut self, request: &[(usize, u128)], count: usize) {
        add_times(&mut self.demand.demand, request, count);
        let mut member = vec![Amount::ZERO; self.demand.held.len()];
        add_times(&mut member, request, 1);
        self.demand.members.push(member);
    }
}

/// The workloads of a request, whose shares are asked for.
pub struct SharedRequest<'a> {
    pub facts: &'a ResolvedRequest<'a>,
    pub running: &'a [CycleRunning],
    pub tree: &'a QueueTree,
    /// By waiting workload: the reason why it never starts.
    pub never: &'a [Option<ImpedimentIndices>],
}

impl SharedRequest<'_> {
    /// The shares of the workloads of each queue, in the order in which a `fifo` queue serves them: by priority, those of which
    /// no member waits first, then by submission and id.
    pub fn divide(&self, ratios: &[MinShareRatios], rule: MinShareRule) -> Vec<Vec<WorkloadShare>> {
        let divide = |(queue, mut workloads): (usize, Vec<PresentWorkload>)| {
            workloads.sort_by(|a, b| (b.priority, a.age, &a.id).cmp(&(a.priority, b.age, &b.id)));
            let of_children = self.tree.children(Some(queue)).iter().map(|child| ratios[*child].fair_share);
            let share = of_children.fold(ratios[queue].fair_share, Amount::saturating_sub);
            let level = LeafLevel { capacity: &self.facts.capacity, rule, mode: self.tree.queues[queue].mode, share };
            let (ids, demands): (Vec<Arc<str>>, Vec<WorkloadDemand>) =
                workloads.into_iter().map(|workload| (workload.id, workload.demand)).unzip();
            let named = ids.into_iter().zip(level.divide(&demands)).map(|(workload_id, share)| WorkloadShare {
                workload_id,
                fair_share_ratio: share.ratio,
                below_one_member: share.is_below_one_member,
            });
            named.collect()
        };
        self.by_queue().into_iter().enumerate().map(divide).collect()
    }

    /// The workloads of each queue. Workloads and members that are too large ask for nothing, as in the figures of queues.
    fn by_queue(&self) -> Vec<Vec<PresentWorkload>> {
        let Self { facts, running, tree, never } = self;
        let columns = facts.capacity.len();
        let mut queues: Vec<Vec<PresentWorkload>> = (0..tree.len()).map(|_| Vec::new()).collect();
        let mut of_running: Vec<PresentWorkload> = Vec::with_capacity(running.len());
        for (workload, seats) in running.iter().zip(&facts.seats) {
            let mut present = PresentWorkload::new(&workload.workload_id, workload.priority, columns);
            for seat in seats {
                add_times(&mut present.demand.held, &seat.request, 1);
                present.add_members(&seat.request, 1);
            }
            of_running.push(present);
        }
        let mut of_running: Vec<Option<PresentWorkload>> = of_running.into_iter().map(Some).collect();
        for (number, waiting) in facts.workloads.iter().enumerate() {
            let shape = &facts.shapes[waiting.shape];
            let rest = shape.rest_of.and_then(|running| of_running[running].take());
            let input = waiting.input;
            let mut present = rest.unwrap_or_else(|| PresentWorkload::new(&input.workload_id, input.priority, columns));
            present.priority = input.priority;
            present.age = Some(waiting.age);
            if !never[number].is_some_and(ImpedimentIndices::is_too_large) {
                for (group, count) in never::members_that_could_start(facts, tree, waiting) {
                    present.add_members(&facts.kinds[group.kind].request, count);
                }
            }
            queues[waiting.queue].push(present);
        }
        for (present, queue) in of_running.into_iter().zip(&facts.running_queues) {
            queues[*queue].extend(present);
        }
        queues
    }
}
