//! A short proof that no set of victims is lawful: more has to be freed of a slot than all sides together may lose.

use crate::domain::decimal::Amount;
use crate::domain::division::Grid;
use crate::domain::division::exact::greatest_common_divisor;
use crate::domain::reclaim::free_capacity::{Class, Rooms};
use crate::domain::reclaim::holdings::Standing;
use crate::domain::reclaim::policy::Policy;
use crate::domain::reclaim::snapshot::Scene;
use crate::domain::reclaim::snapshot::Unit;

/// Whether every class alone could get what it lacks. `least` is what the reclaimer's sides hold at best, by step.
pub fn may_suffice(
    (scene, policy, classes): (&Scene, &dyn Policy, &[Class]),
    rooms: &Rooms,
    (standing, least): (&Standing, &Grid<Amount>),
    mut units: Vec<&Unit>,
) -> bool {
    let side = |unit: &Unit| scene.pairs[unit.queue].map(|pair| pair.theirs);
    units.sort_by_key(|unit| side(unit));
    let sides: Vec<&[&Unit]> = units.chunk_by(|a, b| side(a) == side(b)).collect();
    let most = |units: &&[&Unit], column: usize| {
        let amounts = units.iter().map(|unit| scene.size(unit, column));
        let (all, step) = amounts
            .fold((0u128, 0), |(sum, step), size| (sum.saturating_add(size), greatest_common_divisor(step, size)));
        let place = units.first().and_then(|unit| scene.pairs[unit.queue]).map_or(0, |pair| pair.step);
        let most = policy.ceiling(standing, units, least.row(place), column).map_or(all, |ceiling| ceiling.min(all));
        // Whole units go: what they add up to is a multiple of what their sizes have in common.
        most - most.checked_rem(step).unwrap_or(0)
    };
    classes.iter().all(|class| {
        class.request.iter().all(|(column, _)| {
            let lacking = rooms.shortage(class, *column);
            lacking == 0 || lacking <= sides.iter().map(|units| most(units, *column)).fold(0, u128::saturating_add)
        })
    })
}
