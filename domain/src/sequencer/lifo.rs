//! `lifo`: in the reverse order of submission.

use super::{SequenceRule, SequenceWorkload, ShareLookup};

/// Last submitted, first started.
pub(super) struct LifoSequencer;

impl SequenceRule for LifoSequencer {
    fn name(&self) -> &'static str {
        "lifo"
    }

    fn summary(&self) -> &'static str {
        "Last come, first served."
    }

    fn success_message(&self) -> &'static str {
        "Sessions sequenced in reverse submission order"
    }

    fn keys(&self, workloads: &[SequenceWorkload], _: &dyn ShareLookup) -> Vec<u64> {
        vec![0; workloads.len()]
    }

    fn latest_first(&self) -> bool {
        true
    }
}
