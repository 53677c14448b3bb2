//! `conformance`: critical workloads, which the cluster needs, are never victims.

use super::{Plugin, PluginDenial, Reclaimee};
use crate::reclaim::Rule;

/// Protects critical members.
pub(super) struct Conformance;

impl Plugin for Conformance {
    fn name(&self) -> &'static str {
        "conformance"
    }

    fn summary(&self) -> &'static str {
        "Critical workloads are never victims."
    }

    fn reclaimable(&self, reclaimee: &Reclaimee) -> Option<Result<(), PluginDenial>> {
        let kept = PluginDenial { rule: Rule::Critical, column: None, ratio: None };
        Some(if reclaimee.job.workload.critical { Err(kept) } else { Ok(()) })
    }
}
