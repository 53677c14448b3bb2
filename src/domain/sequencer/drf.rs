//! `drf`: dominant resource fairness.

use super::{GroupShares, Sequence, Workload};

/// The user who occupies the smallest dominant share now comes first.
pub(super) struct Drf;

impl Sequence for Drf {
    fn name(&self) -> &'static str {
        "drf"
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced by ascending dominant share"
    }

    fn keys(&self, workloads: &[Workload], shares: &GroupShares) -> Vec<u64> {
        // Shares are never negative, and non-negative floats order like their bits.
        let share = |w: &Workload| shares.dominant_shares.get(&w.owner.user).map_or(0, |s| s.to_bits());
        workloads.iter().map(share).collect()
    }
}
