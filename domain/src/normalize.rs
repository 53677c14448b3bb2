//! Normalised usage: usage divided by capacity, as one number (FAIR_SHARE §6; `calculate_normalized_usage` in the
//! proposal).

use std::sync::Arc;

use super::decimal::Usage;
use super::maps::FastMap;
use super::slots::{SlotAmounts, SlotName, SlotUsages};
use super::time::SECONDS_PER_DAY;

/// Normalises usage by the capacity of one day. It is built once for each capacity and used for every bucket with that
/// capacity.
#[derive(Clone, Debug)]
pub struct UsageNormalizer {
    /// Slot, capacity of one day in slot-seconds, and resource weight.
    slots: Vec<(SlotName, f64, f64)>,
    weight_sum: f64,
}

impl UsageNormalizer {
    /// Slots without capacity are left out. Without resource weights, every slot with capacity has the weight 1.
    pub fn new(capacity: &SlotAmounts, resource_weights: &SlotAmounts) -> Self {
        let slots: Vec<_> = capacity
            .iter()
            .filter(|(_, amount)| !amount.is_zero())
            .filter_map(|(name, amount)| {
                let weight = if resource_weights.is_empty() {
                    Some(1.0)
                } else {
                    resource_weights.get(name).map(super::decimal::Amount::to_f64)
                };
                weight.filter(|w| *w > 0.0).map(|w| (name, amount.to_f64() * SECONDS_PER_DAY as f64, w))
            })
            .collect();
        let weight_sum = slots.iter().map(|(_, _, w)| w).sum();
        Self { slots, weight_sum }
    }

    /// The weighted mean of usage / capacity of one day; 0 if no slot is left.
    pub fn normalized(&self, usage: &SlotUsages) -> f64 {
        self.normalized_by(|slot| usage.get(slot))
    }

    /// [`Self::normalized`] with a function that returns the usage of each slot.
    pub fn normalized_by(&self, usage: impl Fn(SlotName) -> Option<Usage>) -> f64 {
        if self.weight_sum <= 0.0 {
            return 0.0;
        }
        let mut weighted = 0.0;
        for (name, day_capacity, weight) in &self.slots {
            if let Some(used) = usage(*name) {
                weighted += used.to_f64() / day_capacity * weight;
            }
        }
        weighted / self.weight_sum
    }
}

/// The normalizers of many capacities under the same resource weights, each built once.
#[derive(Default)]
pub struct UsageNormalizers {
    /// By the address of the capacity. Each entry owns its capacity, so no other one can get the same address.
    known: FastMap<usize, (Arc<SlotAmounts>, UsageNormalizer)>,
}

impl UsageNormalizers {
    pub fn of(&mut self, capacity: &Arc<SlotAmounts>, resource_weights: &SlotAmounts) -> &UsageNormalizer {
        let made = || (Arc::clone(capacity), UsageNormalizer::new(capacity, resource_weights));
        &self.known.entry(Arc::as_ptr(capacity).addr()).or_insert_with(made).1
    }
}
