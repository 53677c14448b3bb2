//! `fifo`: in the order of submission.

use super::{Sequence, ShareLookup, Workload};

/// First submitted, first started.
pub(super) struct Fifo;

impl Sequence for Fifo {
    fn name(&self) -> &'static str {
        "fifo"
    }

    fn summary(&self) -> &'static str {
        "First come, first served."
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced in submission order"
    }

    fn keys(&self, workloads: &[Workload], _: &dyn ShareLookup) -> Vec<u64> {
        vec![0; workloads.len()]
    }
}
