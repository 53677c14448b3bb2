//! Converts usage into charges.

use super::charge::UsageCharge;
use crate::decimal::{Amount, Usage};
use crate::normalize::UsageNormalizer;
use crate::options::FairShareOptions;
use crate::slots::{SlotAmounts, SlotName, SlotUsages};

/// Converts usage into a charge, in the same way as a bucket of today becomes normalised usage (FAIR_SHARE §6).
pub struct ChargeRate {
    normalizer: UsageNormalizer,
    /// The decay weight of today, divided by the days of the window.
    scale: f64,
    /// The amount 1 of each slot that counts.
    unit: SlotAmounts,
}

impl ChargeRate {
    /// `capacity` is the one of today.
    pub fn new(capacity: &SlotAmounts, options: &FairShareOptions) -> Self {
        let weights = &options.resource_weights;
        let counts = |slot, amount: Amount| {
            !amount.is_zero() && (weights.is_empty() || weights.get(slot).is_some_and(|weight| !weight.is_zero()))
        };
        let counted = capacity.iter().filter(|(slot, amount)| counts(*slot, *amount));
        Self {
            normalizer: UsageNormalizer::new(capacity, weights),
            scale: options.decay.weight(0, options.half_life_days) / f64::from(options.lookback_days),
            unit: counted.map(|(slot, _)| (slot, Amount::ONE)).collect(),
        }
    }

    pub fn charge(&self, usage: &SlotUsages) -> UsageCharge {
        self.charge_by(|slot| usage.get(slot))
    }

    /// The charge for a workload that holds its slots for `micros` microseconds.
    pub fn cost(&self, slots: Option<&SlotAmounts>, micros: u64) -> UsageCharge {
        let held = self.asked(slots);
        self.charge_by(|slot| held.get(slot).map(|amount| amount.for_micros(micros)))
    }

    fn charge_by(&self, usage: impl Fn(SlotName) -> Option<Usage>) -> UsageCharge {
        UsageCharge::of(self.normalizer.normalized_by(usage) * self.scale)
    }

    /// The slots that a workload counts as asking for: 1 of each slot that counts, if it names no such slot.
    pub fn asked<'a>(&'a self, slots: Option<&'a SlotAmounts>) -> &'a SlotAmounts {
        let counts = |(slot, amount): (SlotName, Amount)| !amount.is_zero() && self.unit.get(slot).is_some();
        slots.filter(|slots| slots.iter().any(counts)).unwrap_or(&self.unit)
    }
}
