//! Computes decayed usage, exponents and factors from buckets (FAIR_SHARE §6, §7).

use std::cmp::Ordering;
use std::fmt;

use super::bucket_series::BucketSeries;
use super::normalize::{UsageNormalizer, UsageNormalizers};
use super::normalized_days::NormalizedDays;
use super::options::FairShareOptions;
use super::slots::{ScaledSum, SlotAmounts, SlotUsages};
use super::time::Day;
use super::weight::EffectiveWeight;

/// The sums over an owner's buckets in the look-back window.
#[derive(Clone, Default)]
pub struct DecayedHistory {
    /// `(1 / lookback_days) x sum_b decay_b x n_b`: usage as a part of the window's capacity.
    pub normalized_usage: f64,
    /// `sum_b decay_b x usage_b`, in slot-seconds.
    pub total_decayed_usage: SlotUsages,
    /// The normalised usage of each bucket before decay. It is not in the database, so it is empty before the first run
    /// of this process.
    pub normalized_days: NormalizedDays,
}

impl fmt::Debug for DecayedHistory {
    /// Prints only the values that are compared.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { normalized_usage, total_decayed_usage, normalized_days: _ } = self;
        write!(f, "History {{ {normalized_usage:?}, {total_decayed_usage:?} }}")
    }
}

impl PartialEq for DecayedHistory {
    /// Compares only the sums. A normalised days may be missing, or may reach back further than the window.
    fn eq(&self, other: &Self) -> bool {
        self.normalized_usage == other.normalized_usage && self.total_decayed_usage == other.total_decayed_usage
    }
}

/// Computes a [`DecayedHistory`] from buckets under one set of options on one day.
pub struct HistoryDecayer<'a> {
    options: &'a FairShareOptions,
    /// The first day of the window.
    first: Day,
    /// The days of the window by decay weight, the oldest first.
    spans: Vec<WeightSpan>,
}

/// Consecutive days whose buckets have the same decay weight.
struct WeightSpan {
    last: Day,
    weight: f64,
}

impl<'a> HistoryDecayer<'a> {
    pub fn new(options: &'a FairShareOptions, today: Day) -> Self {
        let mut spans: Vec<WeightSpan> = Vec::new();
        for age in (0..options.lookback_days).rev() {
            let weight = options.decay.weight(age, options.half_life_days);
            // A bucket in the future, which a jump of the clock can leave behind, counts like one of today.
            let last = if age == 0 { Day(i32::MAX) } else { today.plus(-age.cast_signed()) };
            match spans.last_mut() {
                Some(span) if span.weight.to_bits() == weight.to_bits() => span.last = last,
                _ => spans.push(WeightSpan { last, weight }),
            }
        }
        Self { options, first: options.window_start(today), spans }
    }

    /// The decay weight of a bucket; `None` if it has left the window.
    pub fn weight(&self, bucket_start: Day) -> Option<f64> {
        let at = self.spans.partition_point(|span| span.last < bucket_start);
        self.spans.get(at).filter(|_| bucket_start >= self.first).map(|span| span.weight)
    }

    pub fn resource_weights(&self) -> &'a SlotAmounts {
        &self.options.resource_weights
    }

    /// Returns a function that computes the normalised usage of each bucket of a series and stores it there.
    pub fn normalizing(&self) -> impl FnMut(&mut BucketSeries) {
        let (mut normalizers, weights) = (UsageNormalizers::default(), self.resource_weights());
        move |series| series.keep_normalized(|capacity, usage| normalizers.of(capacity, weights).normalized(usage))
    }

    /// The normalised usage of each bucket before decay.
    pub(super) fn normalized_days(&self, series: &BucketSeries) -> NormalizedDays {
        series.normalized_days(|capacity, usage| {
            UsageNormalizer::new(capacity, &self.options.resource_weights).normalized(usage)
        })
    }

    /// Sums up the buckets. They ascend by start, so the order of addition is fixed. Normalised usages in the series
    /// must be based on the same weights of slots.
    pub fn history(&self, series: &BucketSeries) -> DecayedHistory {
        let normalized_days = self.normalized_days(series);
        let (mut normalized_sum, mut decayed_sum) = (0.0, ScaledSum::default());
        for (bucket, day) in series.buckets().iter().zip(normalized_days.iter()) {
            let Some(weight) = self.weight(bucket.start) else { continue };
            normalized_sum += weight * day.normalized;
            decayed_sum.add(&bucket.usage, weight);
        }
        DecayedHistory {
            normalized_usage: normalized_sum / f64::from(self.options.lookback_days),
            total_decayed_usage: decayed_sum.rounded(),
            normalized_days,
        }
    }
}

/// `e = normalized_usage / effective_weight`, rounded to 1e-12. It determines order and rank (FAIR_SHARE §2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponent(f64);

impl Exponent {
    /// The exponent without usage; its factor is 1.
    pub const ZERO: Self = Self(0.0);

    pub fn new(normalized_usage: f64, effective_weight: EffectiveWeight) -> Self {
        Self::over(normalized_usage, effective_weight.to_f64())
    }

    /// [`Self::new`] with a weight that is already converted, for many comparisons with the same weight.
    pub fn over(normalized_usage: f64, effective_weight: f64) -> Self {
        Self((normalized_usage / effective_weight * 1e12).round())
    }

    /// The exponent of an owner in an order that has positions and no quotients; the first one has the position 0.
    pub fn of_position(position: usize) -> Self {
        // The product is exact for the positions of a group, which are far below 2^25.
        Self(position as f64 * 1e12)
    }

    /// The exponent with this sort key.
    pub fn of_key(key: u64) -> Self {
        Self(f64::from_bits(key))
    }

    /// The exponent as a plain number. Internally it is an integer in units of 10^-12.
    pub fn to_f64(self) -> f64 {
        self.0 / 1e12
    }

    /// An integer key in the same order as the exponents, for sorting without comparisons of floats.
    pub fn sort_key(self) -> u64 {
        // Exponents are never negative, and non-negative floats have the same order as their bits.
        self.0.to_bits()
    }
}

impl Eq for Exponent {}
impl PartialOrd for Exponent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Exponent {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// `2 ^ (-normalized_usage / effective_weight)`, in 0..=1.
pub fn fair_share_factor(normalized_usage: f64, effective_weight: EffectiveWeight) -> f64 {
    (-normalized_usage / effective_weight.to_f64()).exp2()
}
