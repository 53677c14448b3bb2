//! `drf`: smaller dominant shares come first.

use std::cmp::Ordering;

use super::{PluginJob, ReclaimPlugin};
use crate::division::{Fraction, QueueAllocation};

/// Orders by dominant share of the capacity, the smaller first.
pub(super) struct DrfPlugin;

impl ReclaimPlugin for DrfPlugin {
    fn name(&self) -> &'static str {
        "drf"
    }

    fn summary(&self) -> &'static str {
        "Queues and workloads with the smaller dominant share come first."
    }

    fn queue_order(&self, a: &QueueAllocation, b: &QueueAllocation) -> Ordering {
        capacity_share(a).cmp(&capacity_share(b))
    }

    fn job_order(&self, a: &PluginJob, b: &PluginJob) -> Ordering {
        a.dominant_share.cmp(&b.dominant_share)
    }

    fn queue_score_order(&self, queue: &QueueAllocation) -> Option<f64> {
        Some(capacity_share(queue).to_f64())
    }
}

fn capacity_share(position: &QueueAllocation) -> Fraction {
    let capacity = position.tree.capacity.iter().zip(position.allocated).filter(|(capacity, _)| !capacity.is_zero());
    capacity.map(|(capacity, held)| Fraction::of(*held, *capacity)).max().unwrap_or(Fraction::ZERO)
}
