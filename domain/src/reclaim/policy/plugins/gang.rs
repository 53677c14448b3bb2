//! `gang`: a gang keeps the members that it needs.

use std::cmp::Ordering;

use super::{Job, Plugin, PluginDenial, Reclaimee};
use crate::division::Fraction;
use crate::reclaim::Rule;

/// Protects the minimum of gangs. Gangs that have not reached it come first.
pub(super) struct Gang;

impl Plugin for Gang {
    fn name(&self) -> &'static str {
        "gang"
    }

    fn summary(&self) -> &'static str {
        "A gang keeps the members that it needs."
    }

    fn job_order(&self, a: &Job, b: &Job) -> Ordering {
        let ready = |job: &Job| job.running >= job.gang_min;
        ready(a).cmp(&ready(b))
    }

    fn reclaimable(&self, reclaimee: &Reclaimee) -> Option<Result<(), PluginDenial>> {
        let Job { running, gang_min, .. } = reclaimee.job;
        if running > gang_min || gang_min == 1 {
            return Some(Ok(()));
        }
        let ratio = Some(Fraction::new(running as u128, gang_min as u128));
        Some(Err(PluginDenial { rule: Rule::Gang, column: None, ratio }))
    }
}
