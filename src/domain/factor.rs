//! From buckets to decayed usage, factor and rank (FAIR_SHARE §6, §7).

use std::cmp::Ordering;
use std::sync::Arc;

use super::bucket::Bucket;
use super::maps::FastMap;
use super::normalize::Normalizer;
use super::options::Options;
use super::slots::{Amounts, ScaledSum, Usages};
use super::time::Day;
use super::weight::EffectiveWeight;

/// What an entity's buckets in the look-back window amount to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// `(1 / lookback_days) x sum_b decay_b x n_b`: usage as a part of the window's capacity.
    pub normalized_usage: f64,
    /// `sum_b decay_b x usage_b`, in slot-seconds.
    pub total_decayed_usage: Usages,
}

/// Turns buckets into [`History`] under one set of options on one day.
pub struct Decayer<'a> {
    options: &'a Options,
    today: Day,
    /// By address; each holds its capacity, so that no other can move in at that address.
    normalizers: FastMap<*const Amounts, (Arc<Amounts>, Normalizer)>,
    /// Decay weight by age, for every age inside the window.
    weights: Vec<f64>,
}

impl<'a> Decayer<'a> {
    pub fn new(options: &'a Options, today: Day) -> Self {
        let weights = (0..options.lookback_days).map(|age| options.decay.weight(age, options.half_life_days)).collect();
        Self { options, today, normalizers: FastMap::default(), weights }
    }

    /// The decay weight of a bucket, `None` once it has left the window. A bucket that a clock jump
    /// left in the future is as fresh as today's.
    pub fn weight(&self, bucket_start: Day) -> Option<f64> {
        let age = self.today.days_since(bucket_start).max(0);
        self.weights.get(age.unsigned_abs() as usize).copied()
    }

    /// The bucket's usage over one day of its capacity.
    pub fn normalized(&mut self, bucket: &Bucket) -> f64 {
        let weights = &self.options.resource_weights;
        self.normalizers
            .entry(Arc::as_ptr(&bucket.capacity))
            .or_insert_with(|| (Arc::clone(&bucket.capacity), Normalizer::new(&bucket.capacity, weights)))
            .1
            .normalized(&bucket.usage)
    }

    /// `buckets` ascend by start, so that the sum has one order.
    pub fn history<'b>(&mut self, buckets: impl IntoIterator<Item = &'b Bucket>) -> History {
        let mut sum = 0.0;
        let mut total = ScaledSum::default();
        let mut run = Usages::default();
        let mut run_weight = 0.0;
        for bucket in buckets {
            let Some(weight) = self.weight(bucket.start) else { continue };
            sum += weight * self.normalized(bucket);
            // Equal weights are added up exactly before they are scaled.
            #[expect(clippy::float_cmp, reason = "the very same table entry or not")]
            if weight != run_weight {
                total.add(&run, run_weight);
                run = Usages::default();
                run_weight = weight;
            }
            run.add(&bucket.usage);
        }
        total.add(&run, run_weight);
        History { normalized_usage: sum / f64::from(self.options.lookback_days), total_decayed_usage: total.rounded() }
    }
}

/// `e = normalized_usage / effective_weight`, quantised to 1e-12: what decides order and rank (FAIR_SHARE §2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponent(f64);

impl Exponent {
    /// Nothing used: factor 1.
    pub const ZERO: Self = Self(0.0);

    pub fn new(normalized_usage: f64, effective_weight: EffectiveWeight) -> Self {
        Self((normalized_usage / effective_weight.to_f64() * 1e12).round())
    }

    /// A key whose integer order is the exponent's order, for sorting without comparisons.
    pub fn sort_key(self) -> u64 {
        // Exponents are never negative, and non-negative floats order like their bits.
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

/// Standard competition ranks (1, 2, 2, 4) of keys that ascend.
pub fn competition_ranks<K: PartialEq>(sorted: impl IntoIterator<Item = K>) -> Vec<u32> {
    let mut ranks: Vec<u32> = Vec::new();
    let mut previous: Option<K> = None;
    for (position, key) in (1u32..).zip(sorted) {
        let rank = match (&previous, ranks.last()) {
            (Some(p), Some(last)) if *p == key => *last,
            _ => position,
        };
        ranks.push(rank);
        previous = Some(key);
    }
    ranks
}
