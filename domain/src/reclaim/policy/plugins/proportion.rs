//! `proportion`: a queue keeps the amounts that it deserves.

use std::cmp::Ordering;

use super::{PluginDenial, ReclaimPlugin, Reclaimee};
use crate::division::fraction::largest_ratio;
use crate::division::{Fraction, QueueAllocation};
use crate::reclaim::ReclaimRule;

/// Orders queues by allocated / deserved and protects what a queue deserves.
pub(super) struct ProportionPlugin;

impl ReclaimPlugin for ProportionPlugin {
    fn name(&self) -> &'static str {
        "proportion"
    }

    fn summary(&self) -> &'static str {
        "A queue keeps the amounts that it deserves."
    }

    /// Denies a reclaim by a queue that has all it deserves.
    fn gate(&self, reclaimer: &QueueAllocation) -> Result<(), PluginDenial> {
        let mut slots = reclaimer.fair_share.iter().zip(reclaimer.allocated);
        if slots.any(|(deserved, held)| held < deserved) {
            return Ok(());
        }
        let (column, ratio) = largest_ratio(0..reclaimer.allocated.len(), |column| reclaimer.saturation(column));
        Err(PluginDenial { rule: ReclaimRule::GateFairShare, column, ratio: Some(ratio) })
    }

    fn queue_order(&self, a: &QueueAllocation, b: &QueueAllocation) -> Ordering {
        share(a).cmp(&share(b))
    }

    fn reclaimable(&self, reclaimee: &Reclaimee) -> Option<Result<(), PluginDenial>> {
        let queue = &reclaimee.queue;
        for (column, deserved) in queue.fair_share.iter().enumerate() {
            let rest = queue.allocated[column].saturating_sub(reclaimee.slots[column]);
            if rest < *deserved {
                let ratio = Some(Fraction::of(rest, *deserved));
                return Some(Err(PluginDenial { rule: ReclaimRule::Strategy, column: Some(column), ratio }));
            }
        }
        Some(Ok(()))
    }

    fn queue_score_order(&self, queue: &QueueAllocation) -> Option<f64> {
        Some(share(queue).to_f64())
    }
}

/// The largest allocated / deserved; x/0 = 1.
fn share(position: &QueueAllocation) -> Fraction {
    let part = |column| {
        let part = position.saturation(column);
        if part.is_infinite() { Fraction::ONE } else { part }
    };
    (0..position.allocated.len()).map(part).max().unwrap_or(Fraction::ZERO)
}
