//! Computes the weight that leads to a place, and the usage that costs a place.

use super::candidate_order::{RisingOwner, Siblings};
use crate::decimal::Usage;
use crate::factor::Exponent;
use crate::normalize::UsageNormalizer;
use crate::options::FairShareOptions;
use crate::slots::{SlotAmounts, SlotName};
use crate::weight::{EffectiveWeight, Weight};

/// A weight and the place that it leads to, if everything else stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachablePlace {
    pub weight: Weight,
    pub place: u32,
}

/// An owner's usage, and its effective weight as a function of its own weight.
pub struct WeightResponse<W> {
    pub normalized_usage: f64,
    pub effective: W,
}

impl<W: Fn(Weight) -> EffectiveWeight> WeightResponse<W> {
    fn key(&self, weight: Weight) -> u64 {
        Exponent::new(self.normalized_usage, (self.effective)(weight)).sort_key()
    }

    /// The smallest weight that leads to the place or a better one; `None` if no weight does.
    pub fn least_weight(&self, rivals: &Siblings, place: u32) -> Option<ReachablePlace> {
        let limit = rivals.largest_key_at(place)?;
        let weight = first(|weight| self.key(weight) <= limit)?;
        Some(ReachablePlace { weight, place: rivals.place(self.key(weight)) })
    }

    /// The largest weight that leads to the place or a worse one; `None` if no weight does.
    pub fn most_weight(&self, rivals: &Siblings, place: u32) -> Option<ReachablePlace> {
        let is_better = |weight: Weight| rivals.place(self.key(weight)) < place;
        let weight = match first(is_better) {
            None => Weight::MAX,
            Some(better) => Weight::from_ten_thousandths(better.ten_thousandths() - 1)?,
        };
        Some(ReachablePlace { weight, place: rivals.place(self.key(weight)) })
    }
}

/// The smallest weight for which `holds` is true. `holds` must be true for every larger weight too.
fn first(holds: impl Fn(Weight) -> bool) -> Option<Weight> {
    let of = |units: i64| Weight::from_ten_thousandths(units);
    let (mut low, mut high) = (1, Weight::MAX.ten_thousandths());
    if !of(high).is_some_and(&holds) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if of(middle).is_some_and(&holds) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    of(low)
}

/// The usage that costs a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsageCost {
    /// The additional usage, as a part of the window's capacity.
    pub normalized_usage: f64,
    pub place: u32,
}

/// The normalised usage of an owner, and its effective weight.
pub type UsageAndWeight = (f64, EffectiveWeight);

/// An upper bound for additional usage, which no owner can reach.
const UNREACHABLE_USAGE: f64 = 1e30;

/// The least usage that makes the place worse; `None` if no usage does. With `outer`, places are compared by tiers: the
/// usage also counts for the project and the domain, whose usage and weights are given. Without it only the own key
/// decides.
pub fn cost_of_place(
    rivals: &Siblings,
    own: UsageAndWeight,
    outer: Option<(RisingOwner, [UsageAndWeight; 2])>,
) -> Option<UsageCost> {
    let key = |(used, weight): UsageAndWeight, more: f64| Exponent::new(used + more, weight).sort_key();
    if let Some((climber, [domain, project])) = outer {
        return first_worse(|more| climber.place(key(domain, more), key(project, more), key(own, more)));
    }
    first_worse(|more| rivals.place(key(own, more)))
}

/// The least usage that makes the place worse. `place` maps additional usage to a place and must never get better.
fn first_worse(place: impl Fn(f64) -> u32) -> Option<UsageCost> {
    let now = place(0.0);
    // Non-negative floats have the same order as their bits, so the search halves the range of bits.
    let (mut stands, mut costs) = (0, UNREACHABLE_USAGE.to_bits());
    if place(UNREACHABLE_USAGE) == now {
        return None;
    }
    while stands + 1 < costs {
        let middle = stands + (costs - stands) / 2;
        if place(f64::from_bits(middle)) == now {
            stands = middle;
        } else {
            costs = middle;
        }
    }
    let more = f64::from_bits(costs);
    Some(UsageCost { normalized_usage: more, place: place(more) })
}

/// The least usage of each slot alone whose contribution is `normalized_usage`, in a bucket with this decay weight. It
/// is calculated as in a run, and exact to a thousandth of a slot-second. Slots without capacity or weight are left
/// out.
pub fn in_slots(
    normalized_usage: f64,
    decay_weight: f64,
    capacity: &SlotAmounts,
    options: &FairShareOptions,
) -> Vec<(SlotName, Usage)> {
    let normalizer = UsageNormalizer::new(capacity, &options.resource_weights);
    let counts_for = |slot: SlotName, usage: Usage| {
        let normalized = normalizer.normalized_by(|name| (name == slot).then_some(usage));
        decay_weight * normalized / f64::from(options.lookback_days)
    };
    let least = |slot| Usage::least_thousandths(|usage| counts_for(slot, usage) >= normalized_usage);
    capacity.iter().filter_map(|(slot, _)| Some((slot, least(slot)?))).collect()
}
