//! Preemption inside a queue (DIVISION §6.5).

use std::cmp::Ordering;

use super::{EvictionDenial, EvictionPolicy, EvictionReason, by_priority};
use crate::division::QueueAllocation;
use crate::division::report::order::{self, QueueOrderKey};
use crate::reclaim::holdings::QueueHoldings;
use crate::reclaim::snapshot::{EvictionUnit, ReclaimSnapshot};

/// The policy inside a queue. It allows every unit, because the candidates are already limited to lower priorities.
pub struct PreemptionPolicy {
    pub queue: usize,
}

impl EvictionPolicy for PreemptionPolicy {
    fn gate(&self, _: &QueueHoldings) -> Result<(), EvictionDenial> {
        Ok(())
    }

    fn before(&self, _: &QueueHoldings, _: &EvictionUnit) -> Result<EvictionReason, EvictionDenial> {
        Ok(EvictionReason { rule: "priority".into(), level: self.queue, column: None })
    }

    fn after(&self, _: &QueueHoldings, _: usize) -> Result<(), EvictionDenial> {
        Ok(())
    }

    fn compare_queues(&self, a: (&QueueAllocation, &QueueOrderKey), b: (&QueueAllocation, &QueueOrderKey)) -> Ordering {
        order::compare(a, b)
    }

    fn compare_jobs(&self, snapshot: &ReclaimSnapshot, a: usize, b: usize) -> Ordering {
        by_priority(snapshot, a, b)
    }
}
