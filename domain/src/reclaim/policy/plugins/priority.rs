//! `priority`: higher priorities come first.

use std::cmp::Ordering;

use super::{Job, Plugin};
use crate::division::Position;
use crate::reclaim::Workload;

/// Orders queues, workloads and members by priority, the higher first.
pub(super) struct Priority;

impl Plugin for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn summary(&self) -> &'static str {
        "Higher priorities come first."
    }

    fn queue_order(&self, a: &Position, b: &Position) -> Ordering {
        let priority = |p: &Position| p.tree.queues[p.queue].priority;
        priority(b).cmp(&priority(a))
    }

    fn task_order(&self, a: &Workload, b: &Workload) -> Ordering {
        b.priority.cmp(&a.priority)
    }

    fn job_order(&self, a: &Job, b: &Job) -> Ordering {
        b.workload.priority.cmp(&a.workload.priority)
    }

    fn queue_score_order(&self, queue: &Position) -> Option<f64> {
        Some(-f64::from(queue.tree.queues[queue.queue].priority))
    }
}
