//! `gang`: a gang keeps the members that it needs.

use std::cmp::Ordering;

use super::{PluginDenial, PluginJob, ReclaimPlugin, Reclaimee};
use crate::division::Fraction;
use crate::reclaim::ReclaimRule;

/// Protects the minimum of gangs. Gangs that have not reached it come first.
pub(super) struct GangPlugin;

impl ReclaimPlugin for GangPlugin {
    fn name(&self) -> &'static str {
        "gang"
    }

    fn summary(&self) -> &'static str {
        "A gang keeps the members that it needs."
    }

    fn job_order(&self, a: &PluginJob, b: &PluginJob) -> Ordering {
        let ready = |job: &PluginJob| job.running >= job.gang_min;
        ready(a).cmp(&ready(b))
    }

    fn reclaimable(&self, reclaimee: &Reclaimee) -> Option<Result<(), PluginDenial>> {
        let PluginJob { running, gang_min, .. } = reclaimee.job;
        if running > gang_min || gang_min == 1 {
            return Some(Ok(()));
        }
        let ratio = Some(Fraction::new(running as u128, gang_min as u128));
        Some(Err(PluginDenial { rule: ReclaimRule::Gang, column: None, ratio }))
    }
}
