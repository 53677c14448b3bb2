//! From buckets to decayed usage, exponent and factor (FAIR_SHARE §6, §7).

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::bucket::Chain;
use super::decimal::{Proportion, WeighedSum};
use super::fairness::Days;
use super::normalize::{Normalizer, Normalizers};
use super::options::Options;
use super::slots::{Amounts, Usages};
use super::time::Day;
use super::trail::{Part, Trail};
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
    normalizers: Normalizers,
    /// Decay weight by age, for every age inside the window.
    weights: Vec<(f64, Proportion)>,
}

impl<'a> Decayer<'a> {
    pub fn new(options: &'a Options, today: Day) -> Self {
        let weights = (0..options.lookback_days).map(|age| options.decay.weight(age, options.half_life_days));
        let weights = weights.map(|weight| (weight, Proportion::new(weight))).collect();
        Self { options, today, normalizers: Normalizers::default(), weights }
    }

    /// The decay weight of a bucket, `None` once it has left the window. A bucket that a clock jump
    /// left in the future is as fresh as today's.
    pub fn weight(&self, bucket_start: Day) -> Option<f64> {
        self.decay(bucket_start).map(|(weight, _)| weight)
    }

    fn decay(&self, bucket_start: Day) -> Option<(f64, Proportion)> {
        let age = self.today.days_since(bucket_start).max(0);
        self.weights.get(age.unsigned_abs() as usize).copied()
    }

    pub fn resource_weights(&self) -> &'a Amounts {
        &self.options.resource_weights
    }

    /// Has each bucket keep its usage over one day of its capacity.
    pub fn normalize(&mut self, chain: &mut Chain) {
        for at in 0..chain.len() {
            if chain.normalized(at).is_some() {
                continue;
            }
            let normalizer = self.normalizers.of(chain.capacity(at), &self.options.resource_weights);
            let normalized = normalizer.normalized(&chain.usage(at));
            chain.set_normalized(at, normalized);
        }
    }

    /// A bucket's usage over one day of its capacity.
    fn normalized(&self, chain: &Chain, at: usize) -> f64 {
        let anew = || Normalizer::new(chain.capacity(at), &self.options.resource_weights).normalized(&chain.usage(at));
        chain.normalized(at).unwrap_or_else(anew)
    }

    /// What each bucket comes to before decay.
    pub fn trail(&self, chain: &Chain) -> Trail {
        let part = |at| {
            let (first, last) = chain.span(at);
            Part::new(Days { first, last }, self.normalized(chain, at))
        };
        (0..chain.len()).map(part).collect()
    }

    /// Buckets ascend by start, so that the sum has one order. What the chain knows of normalised usages is of the same
    /// weights of slots.
    pub fn history(&self, chain: &Chain) -> History {
        let mut sum = 0.0;
        let mut decayed: SmallVec<[WeighedSum; 4]> = SmallVec::from_elem(WeighedSum::default(), chain.slots().len());
        for at in 0..chain.len() {
            let Some((weight, proportion)) = self.decay(chain.start(at)) else { continue };
            sum += weight * self.normalized(chain, at);
            for (slot, usage) in chain.usages(at) {
                decayed[slot].add(usage, proportion);
            }
        }
        let totals = chain.slots().iter().zip(&decayed).map(|(name, total)| (*name, total.rounded()));
        History {
            normalized_usage: sum / f64::from(self.options.lookback_days),
            total_decayed_usage: totals.filter(|(_, usage)| !usage.is_zero()).collect(),
        }
    }
}

/// `e = normalized_usage / effective_weight`, quantised to 1e-12: what decides order and rank (FAIR_SHARE §2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponent(f64);

impl Exponent {
    /// Nothing used: factor 1.
    pub const ZERO: Self = Self(0.0);

    pub fn new(normalized_usage: f64, effective_weight: EffectiveWeight) -> Self {
        Self::over(normalized_usage, effective_weight.to_f64())
    }

    /// [`Self::new`], for those who compare at one weight often.
    pub fn over(normalized_usage: f64, effective_weight: f64) -> Self {
        Self((normalized_usage / effective_weight * 1e12).round())
    }

    /// The exponent that has this sort key.
    pub fn of_key(key: u64) -> Self {
        Self(f64::from_bits(key))
    }

    /// What is compared, before it is multiplied by `10^12`.
    pub fn to_f64(self) -> f64 {
        self.0 / 1e12
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
