//! `conformance`: critical workloads, which the cluster needs, are never victims.

use super::{PluginDenial, ReclaimPlugin, Reclaimee};
use crate::reclaim::ReclaimRule;

/// Protects critical members.
pub(super) struct ConformancePlugin;

impl ReclaimPlugin for ConformancePlugin {
    fn name(&self) -> &'static str {
        "conformance"
    }

    fn summary(&self) -> &'static str {
        "Critical workloads are never victims."
    }

    fn reclaimable(&self, reclaimee: &Reclaimee) -> Option<Result<(), PluginDenial>> {
        let kept = PluginDenial { rule: ReclaimRule::Critical, column: None, ratio: None };
        Some(if reclaimee.job.workload.critical { Err(kept) } else { Ok(()) })
    }
}
