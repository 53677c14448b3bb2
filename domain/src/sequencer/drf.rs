//! `drf`: dominant resource fairness.

use super::progressive::{
    ChargeRate, ProgressiveInput, ProgressiveOrder, ProgressiveSequence, ResourceRequest, dominant_decisions,
    dominant_order,
};
use super::{OrderDecision, OwnerReason, SequenceRule, SequenceWorkload, ShareLookup};
use crate::maps::FastMap;
use crate::slots::SlotUsages;
use crate::time::MICROS_PER_SECOND;

static DOMINANT_SHARE: OwnerReason = OwnerReason {
    name: "dominant_share",
    sentence: "The user of the one ahead occupies a smaller part of the cluster.",
};
static CHARGED_DOMINANT_SHARE: OwnerReason = OwnerReason {
    name: "dominant_share",
    sentence: "At this point of the order, the user of the one ahead occupies a smaller part of the cluster. Their \
               workloads further ahead count.",
};

/// The user whose running kernels have the smallest dominant share comes first.
pub(super) struct DrfSequencer;

impl SequenceRule for DrfSequencer {
    fn name(&self) -> &'static str {
        "drf"
    }

    fn summary(&self) -> &'static str {
        "The user with the smallest dominant share of what runs now starts first."
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by ascending dominant share"
    }

    fn keys(&self, workloads: &[SequenceWorkload], shares: &dyn ShareLookup) -> Vec<u64> {
        // Shares are never negative, and non-negative floats have the same order as their bits.
        workloads.iter().map(|w| shares.dominant_share(w.owner.user).to_bits()).collect()
    }

    fn decides(
        &self,
        one: &SequenceWorkload,
        other: &SequenceWorkload,
        shares: &dyn ShareLookup,
    ) -> Option<OrderDecision> {
        let share = |workload: &SequenceWorkload| shares.dominant_share(workload.owner.user).to_bits();
        (share(one) != share(other)).then_some(OrderDecision::Owner(&DOMINANT_SHARE))
    }

    fn progressive(&self) -> Option<&dyn ProgressiveSequence> {
        Some(self)
    }
}

/// The dominant share grows with each workload that is placed. Usage costs nothing here; only the slots that are held count.
impl ProgressiveSequence for DrfSequencer {
    fn compares_usage(&self) -> bool {
        false
    }

    fn order(&self, input: &ProgressiveInput) -> ProgressiveOrder {
        let rate = ChargeRate::new(input.group.today(), input.group.options());
        let second = MICROS_PER_SECOND.unsigned_abs();
        let request = |request: &ResourceRequest| rate.asked(request.slots).for_micros(second);
        let mut started = FastMap::<_, SlotUsages>::default();
        for (owner, placed) in input.placed {
            started.entry(owner.user).or_default().add(&request(placed));
        }
        let requests: Vec<SlotUsages> = input.requests.iter().map(request).collect();
        let share = |user, more: &SlotUsages| match started.get(&user) {
            None => input.group.dominant_share_with(user, more),
            Some(started) => {
                let mut sum = started.clone();
                sum.add(more);
                input.group.dominant_share_with(user, &sum)
            }
        };
        let order = dominant_order(input.workloads, &requests, share, input.most);
        let decisions = if input.explain {
            dominant_decisions(&CHARGED_DOMINANT_SHARE, input.workloads, &requests, share, &order)
        } else {
            Vec::new()
        };
        ProgressiveOrder { order, charged: Vec::new(), decisions }
    }
}
