//! `fifo`: in the order of submission.

use super::{SequenceRule, SequenceWorkload, ShareLookup};

/// First submitted, first started.
pub(super) struct FifoSequencer;

impl SequenceRule for FifoSequencer {
    fn name(&self) -> &'static str {
        "fifo"
    }

    fn summary(&self) -> &'static str {
        "First come, first served."
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced in submission order"
    }

    fn keys(&self, workloads: &[SequenceWorkload], _: &dyn ShareLookup) -> Vec<u64> {
        vec![0; workloads.len()]
    }
}
