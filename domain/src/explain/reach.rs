//! Which weight leads to a place, and which usage costs one.

use super::line_up::{Climber, Rivals};
use crate::decimal::Usage;
use crate::factor::Exponent;
use crate::normalize::Normalizer;
use crate::options::Options;
use crate::slots::{Amounts, SlotName};
use crate::weight::{EffectiveWeight, Weight};

/// A weight and the place that it leads to, if all else stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    pub weight: Weight,
    pub place: u32,
}

/// What an owner is compared by, as a function of its own weight.
pub struct Own<W> {
    pub normalized_usage: f64,
    pub effective: W,
}

impl<W: Fn(Weight) -> EffectiveWeight> Own<W> {
    fn key(&self, weight: Weight) -> u64 {
        Exponent::new(self.normalized_usage, (self.effective)(weight)).sort_key()
    }

    /// The smallest weight that leads to the place or a better one; `None`: no weight does.
    pub fn least_weight(&self, rivals: &Rivals, place: u32) -> Option<Reached> {
        let limit = rivals.largest_key_at(place)?;
        let weight = first(|weight| self.key(weight) <= limit)?;
        Some(Reached { weight, place: rivals.place(self.key(weight)) })
    }

    /// The largest weight that leads to the place or a worse one; `None`: no weight does.
    pub fn most_weight(&self, rivals: &Rivals, place: u32) -> Option<Reached> {
        let is_better = |weight: Weight| rivals.place(self.key(weight)) < place;
        let weight = match first(is_better) {
            None => Weight::MAX,
            Some(better) => Weight::from_ten_thousandths(better.ten_thousandths() - 1)?,
        };
        Some(Reached { weight, place: rivals.place(self.key(weight)) })
    }
}

/// The smallest weight for which `holds`, which holds for every larger one too.
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

/// Usage that costs a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// So much more, as a part of the window's capacity.
    pub normalized_usage: f64,
    pub place: u32,
}

/// What an owner has used and the weight that divides it.
pub type Used = (f64, EffectiveWeight);

/// More usage than anyone can have.
const MOST: f64 = 1e30;

/// The least usage with which the place is worse than without it; `None`: no usage makes it worse. `outer` is the climber in
/// tiers, with what its domain and its project have used, which use it too; `None`: only the own key decides.
pub fn cost(rivals: &Rivals, own: Used, outer: Option<(Climber, [Used; 2])>) -> Option<Cost> {
    let key = |(used, weight): Used, more: f64| Exponent::new(used + more, weight).sort_key();
    if let Some((climber, [domain, project])) = outer {
        return first_worse(|more| climber.place(key(domain, more), key(project, more), key(own, more)));
    }
    first_worse(|more| rivals.place(key(own, more)))
}

/// `place` tells the place with so much more usage, and never gets better.
fn first_worse(place: impl Fn(f64) -> u32) -> Option<Cost> {
    let now = place(0.0);
    // Numbers from 0 up ascend like their bits.
    let (mut stands, mut costs) = (0, MOST.to_bits());
    if place(MOST) == now {
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
    Some(Cost { normalized_usage: more, place: place(more) })
}

/// The least usage in each slot alone that comes to `normalized_usage` in a bucket of this decay weight, by the calculation of
/// runs: exact to a thousandth of a slot-second. Slots without capacity or weight are left out.
pub fn in_slots(
    normalized_usage: f64,
    decay_weight: f64,
    capacity: &Amounts,
    options: &Options,
) -> Vec<(SlotName, Usage)> {
    let normalizer = Normalizer::new(capacity, &options.resource_weights);
    let counts_for = |slot: SlotName, usage: Usage| {
        let normalized = normalizer.normalized_by(|name| (name == slot).then_some(usage));
        decay_weight * normalized / f64::from(options.lookback_days)
    };
    let least = |slot| Usage::least_thousandths(|usage| counts_for(slot, usage) >= normalized_usage);
    capacity.iter().filter_map(|(slot, _)| Some((slot, least(slot)?))).collect()
}
