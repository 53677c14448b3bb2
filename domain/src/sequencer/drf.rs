//! `drf`: dominant resource fairness.

use super::{Decision, ProgressiveMetric, Sequence, ShareLookup, Workload};

/// The user whose running kernels have the smallest dominant share comes first.
pub(super) struct Drf;

impl Sequence for Drf {
    fn name(&self) -> &'static str {
        "drf"
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by ascending dominant share"
    }

    fn keys(&self, workloads: &[Workload], shares: &dyn ShareLookup) -> Vec<u64> {
        // Shares are never negative, and non-negative floats have the same order as their bits.
        workloads.iter().map(|w| shares.dominant_share(w.owner.user).to_bits()).collect()
    }

    fn decides(&self, one: &Workload, other: &Workload, shares: &dyn ShareLookup) -> Option<Decision> {
        let share = |workload: &Workload| shares.dominant_share(workload.owner.user).to_bits();
        (share(one) != share(other)).then_some(Decision::DominantShare)
    }

    fn grows(&self) -> Option<ProgressiveMetric> {
        Some(ProgressiveMetric::DominantShare)
    }
}
