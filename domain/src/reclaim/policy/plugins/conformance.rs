//! `conformance`: what the cluster needs is never a victim.

use super::{Kept, Plugin, Reclaimee};
use crate::reclaim::Rule;

/// Critical members stay.
pub(super) struct Conformance;

impl Plugin for Conformance {
    fn name(&self) -> &'static str {
        "conformance"
    }

    fn reclaimable(&self, reclaimee: &Reclaimee) -> Option<Result<(), Kept>> {
        let kept = Kept { rule: Rule::Critical, column: None, ratio: None };
        Some(if reclaimee.job.workload.critical { Err(kept) } else { Ok(()) })
    }
}
