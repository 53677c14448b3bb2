//! The contributions of buckets to an owner's usage, step by step.

use crate::bucket::Bucket;
use crate::decimal::Usage;
use crate::normalize::UsageNormalizer;
use crate::options::FairShareOptions;
use crate::slots::{SlotAmounts, SlotName, SlotUsages};
use crate::time::Day;

/// The contribution of one bucket, with the values that it follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketContribution {
    /// In whole days. A bucket in the future, which a jump of the clock can leave behind, has the age 0.
    pub age_days: u32,
    /// The decay, 0 to 1; 0 for a bucket that has left the window.
    pub decay_weight: f64,
    /// The usage divided by the capacity of one day.
    pub normalized_usage: f64,
    /// The part of the owner's normalised usage that comes from this bucket.
    pub contribution: f64,
}

/// Computes the contributions of buckets on one day under one set of options.
#[derive(Clone, Copy, Debug)]
pub struct ContributionScale<'a> {
    pub options: &'a FairShareOptions,
    pub today: Day,
}

impl ContributionScale<'_> {
    pub fn count(self, start: Day, usage: &SlotUsages, capacity: &SlotAmounts) -> BucketContribution {
        let FairShareOptions { lookback_days, half_life_days, decay, ref resource_weights, .. } = *self.options;
        let age_days = self.today.days_since(start).max(0).unsigned_abs();
        let decay_weight = if age_days < lookback_days { decay.weight(age_days, half_life_days) } else { 0.0 };
        let normalized_usage = UsageNormalizer::new(capacity, resource_weights).normalized(usage);
        let contribution = decay_weight * normalized_usage / f64::from(lookback_days);
        BucketContribution { age_days, decay_weight, normalized_usage, contribution }
    }

    /// The buckets of the window, ascending, each with its contribution.
    pub fn recount(self, buckets: Vec<Bucket>) -> OwnerContributions {
        let mut sum = 0.0;
        let mut counted = Vec::with_capacity(buckets.len());
        for bucket in buckets {
            let count = self.count(bucket.start, &bucket.usage, &bucket.capacity);
            if count.age_days < self.options.lookback_days {
                sum += count.decay_weight * count.normalized_usage;
                counted.push((bucket, count));
            }
        }
        OwnerContributions { buckets: counted, normalized_usage: sum / f64::from(self.options.lookback_days) }
    }

    /// The contribution of usage of today, as a part of the window's capacity.
    pub fn charge(self, usage: &SlotUsages, capacity: &SlotAmounts) -> f64 {
        self.count(self.today, usage, capacity).contribution
    }
}

/// The buckets of an owner with their contributions, and their sum.
#[derive(Clone, Debug)]
pub struct OwnerContributions {
    pub buckets: Vec<(Bucket, BucketContribution)>,
    pub normalized_usage: f64,
}

impl OwnerContributions {
    /// The bucket with the largest contribution; `None` if nothing contributes.
    pub fn largest(&self) -> Option<&(Bucket, BucketContribution)> {
        let counts = self.buckets.iter().filter(|(_, count)| count.contribution > 0.0);
        counts.max_by(|a, b| a.1.contribution.total_cmp(&b.1.contribution))
    }
}

/// The slot that contributes the most to a bucket, with its usage; `None` if none contributes.
pub fn dominant_slot(bucket: &Bucket, resource_weights: &SlotAmounts) -> Option<(SlotName, Usage)> {
    let part = |slot, usage| {
        let one: SlotUsages = std::iter::once((slot, usage)).collect();
        // The normalised usage of one slot is its part of the mean, and 0 if the slot has no weight.
        UsageNormalizer::new(&bucket.capacity, resource_weights).normalized(&one)
    };
    let parts = bucket.usage.iter().map(|(slot, usage)| (part(slot, usage), slot, usage));
    let largest = parts.filter(|(part, ..)| *part > 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
    largest.map(|(_, slot, usage)| (slot, usage))
}
