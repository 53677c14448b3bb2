//! Likely mistakes in a group's options. A warning never refuses a request, because the missing slot or capacity may come
//! later.

use super::snapshots::snapshot_data::GroupSnapshotData;
use crate::api::input_warning::InputWarning;
use crate::domain::fault::escape_key;
use crate::domain::options::{FairshareOrder, SequenceMode};
use crate::domain::slots::SlotName;

type WarningRule = fn(&GroupSnapshotData, &mut Vec<InputWarning>);

/// Every rule, in the order of the answers. A new rule is one function and one entry.
const RULES: [WarningRule; 8] = [
    unused_slots,
    only_zeros,
    no_capacity,
    not_progressive,
    unexpected_decay,
    flat_misses_domain_weights,
    half_life_exceeds_lookback,
    purged_usage,
];

const RESOURCE_WEIGHTS: &str = "/scheduler_opts/resource_weights";

impl GroupSnapshotData {
    /// Likely mistakes in the options, as the group is now.
    pub fn warnings(&self) -> Vec<InputWarning> {
        let mut warnings = Vec::new();
        for rule in RULES {
            rule(self, &mut warnings);
        }
        warnings
    }

    /// A strong validator for answers about the scheduler and its options, which most changes of a group leave alone.
    pub fn options_etag(&self) -> String {
        self.profile().options_etag(&self.warnings())
    }

    fn offers(&self, slot: SlotName) -> bool {
        self.capacity.get(slot).is_some_and(|amount| !amount.is_zero())
    }

    /// True if kernels hold the slot or ask for it, or used it in the look-back window.
    fn uses(&self, slot: SlotName) -> bool {
        let mut held = self.demand.iter().flat_map(|(_, held)| [&held.allocated, &held.pending]);
        let mut recorded = self.rows.domains.iter().map(|domain| &domain.share.history.total_decayed_usage);
        held.any(|amounts| amounts.get(slot).is_some_and(|amount| !amount.is_zero()))
            || recorded.any(|usage| usage.get(slot).is_some())
    }
}

/// A weight for a slot that is probably misspelt.
fn unused_slots(group: &GroupSnapshotData, warnings: &mut Vec<InputWarning>) {
    for (slot, _) in group.options.resource_weights.iter() {
        if !group.offers(slot) && !group.uses(slot) {
            warnings.push(InputWarning::at(
                format!("{RESOURCE_WEIGHTS}/{}", escape_key(slot.as_str())),
                "unused_slot",
                format!("`{slot}` has a weight, but no agent offers this slot and no kernel uses it"),
            ));
        }
    }
}

/// Progressive mode is set, and the scheduler has no progressive order.
fn not_progressive(group: &GroupSnapshotData, warnings: &mut Vec<InputWarning>) {
    if group.options.sequence_mode == SequenceMode::Progressive && group.scheduler.progressive().is_none() {
        warnings.push(InputWarning::at(
            "/scheduler_opts/sequence_mode",
            "mode_without_effect",
            format!("the scheduler `{}` has no progressive order; its sequences are plain", group.scheduler.name()),
        ));
    }
}

/// The scheduler stands for an order with another decay.
fn unexpected_decay(group: &GroupSnapshotData, warnings: &mut Vec<InputWarning>) {
    let (expected, decay) = (group.scheduler.expected_decay(), group.options.decay.name());
    if let Some(expected) = expected.filter(|expected| *expected != decay) {
        let detail = format!(
            "the scheduler `{}` computes the order of Slurm, and `decay` is `{decay}`: usage of earlier days counts otherwise than \
             in Slurm. `{expected}` decays as Slurm does",
            group.scheduler.name()
        );
        warnings.push(InputWarning::at("/scheduler_opts/decay", "unlike_slurm", detail));
    }
}

/// Domains have different weights, and `order: flat` compares users only.
fn flat_misses_domain_weights(group: &GroupSnapshotData, warnings: &mut Vec<InputWarning>) {
    if group.options.order != FairshareOrder::Flat || !group.scheduler.compares_usage() {
        return;
    }
    let shown = group.rows.domains.iter().filter(|domain| !domain.hidden);
    let mut weights = shown.map(|domain| group.weight(&domain.share));
    let first = weights.next();
    if weights.any(|weight| Some(weight) != first) {
        warnings.push(InputWarning::at(
            "/scheduler_opts/order",
            "flat_misses_domain_weights",
            "domains have different weights, but `order` is `flat`: all users are compared at once, so a domain with \
                     more users receives more than its weight says. `tiered` keeps to the weights of domains. An example from \
                     another cluster, which was full: to domains with the weights 2, 1, 1 and 0.5 `flat` delivered 34.5, \
                     22.5, 21.6 and 21.4 %, and `tiered` 44.0, 22.2, 22.2 and 11.5 %",
        ));
    }
}

/// The look-back reaches days whose buckets and day totals are purged.
fn purged_usage(group: &GroupSnapshotData, warnings: &mut Vec<InputWarning>) {
    let Some((from, last)) = group.totals_from.zip(group.calculation.as_ref()) else { return };
    let first = group.options.window_start(last.lookback_end);
    if first < from {
        let days = group.options.lookback_days;
        let detail = format!(
            "the look-back of {days} days begins on {first}, and usage of days before {from} was purged \
             (`keep_buckets_days`): it does not count, and nothing brings it back"
        );
        warnings.push(InputWarning::at("/scheduler_opts/lookback_days", "purged_usage", detail));
    }
}

/// All resource weights are 0.
fn only_zeros(group: &GroupSnapshotData, warnings: &mut Vec<InputWarning>) {
    let weights = &group.options.resource_weights;
    if !weights.is_empty() && weights.iter().all(|(_, weight)| weight.is_zero()) {
        warnings.push(InputWarning::at(
            RESOURCE_WEIGHTS,
            "all_weights_zero",
            "`resource_weights` are all 0: no usage counts, and everybody's factor is 1",
        ));
    }
}

/// No slot with a resource weight has capacity, by which usage would be divided.
fn no_capacity(group: &GroupSnapshotData, warnings: &mut Vec<InputWarning>) {
    let weighted = || group.options.resource_weights.iter().filter(|(_, weight)| !weight.is_zero());
    if weighted().next().is_some() && !weighted().any(|(slot, _)| group.offers(slot)) {
        warnings.push(InputWarning::at(
            RESOURCE_WEIGHTS,
            "no_weighted_capacity",
            "`resource_weights` name no slot that has capacity: no new usage counts",
        ));
    }
}

/// Usage leaves the look-back window before it has lost half of its weight.
fn half_life_exceeds_lookback(group: &GroupSnapshotData, warnings: &mut Vec<InputWarning>) {
    let (half_life, lookback) = (group.options.half_life_days, group.options.lookback_days);
    if half_life > lookback {
        let detail = format!(
            "the half-life of {half_life} days is longer than the look-back of {lookback} days: usage is forgotten all at once \
             while it still counts more than half"
        );
        warnings.push(InputWarning::at("/scheduler_opts/half_life_days", "half_life_exceeds_lookback", detail));
    }
}
