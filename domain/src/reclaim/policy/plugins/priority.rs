//! `priority`: higher priorities come first.

use std::cmp::Ordering;

use super::{PluginJob, ReclaimPlugin};
use crate::division::QueueAllocation;
use crate::reclaim::RunningWorkload;

/// Orders queues, workloads and members by priority, the higher first.
pub(super) struct PriorityPlugin;

impl ReclaimPlugin for PriorityPlugin {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn summary(&self) -> &'static str {
        "Higher priorities come first."
    }

    fn queue_order(&self, a: &QueueAllocation, b: &QueueAllocation) -> Ordering {
        let priority = |p: &QueueAllocation| p.tree.queues[p.queue].priority;
        priority(b).cmp(&priority(a))
    }

    fn task_order(&self, a: &RunningWorkload, b: &RunningWorkload) -> Ordering {
        b.priority.cmp(&a.priority)
    }

    fn job_order(&self, a: &PluginJob, b: &PluginJob) -> Ordering {
        b.workload.priority.cmp(&a.workload.priority)
    }

    fn queue_score_order(&self, queue: &QueueAllocation) -> Option<f64> {
        Some(-f64::from(queue.tree.queues[queue.queue].priority))
    }
}
