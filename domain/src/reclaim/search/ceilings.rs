//! A quick proof that no set of victims is lawful: more has to be freed of a slot than all sides together may lose.

use crate::decimal::Amount;
use crate::division::QueueSlotGrid;
use crate::division::exact::greatest_common_divisor;
use crate::reclaim::free_capacity::{FreeCapacity, PendingClass};
use crate::reclaim::holdings::QueueHoldings;
use crate::reclaim::policy::EvictionPolicy;
use crate::reclaim::snapshot::{EvictionUnit, ReclaimSnapshot};

/// False if some class alone cannot get what it lacks. `least` has, by step, the least that the reclaimer's sides can
/// hold.
pub fn may_suffice(
    (snapshot, policy, classes): (&ReclaimSnapshot, &dyn EvictionPolicy, &[PendingClass]),
    free: &FreeCapacity,
    (holdings, least): (&QueueHoldings, &QueueSlotGrid<Amount>),
    mut units: Vec<&EvictionUnit>,
) -> bool {
    let side = |unit: &EvictionUnit| snapshot.pairs[unit.queue].map(|pair| pair.theirs);
    units.sort_by_key(|unit| side(unit));
    let sides: Vec<&[&EvictionUnit]> = units.chunk_by(|a, b| side(a) == side(b)).collect();
    let most = |units: &&[&EvictionUnit], column: usize| {
        let amounts = units.iter().map(|unit| snapshot.size(unit, column));
        let (all, step) = amounts
            .fold((0u128, 0), |(sum, step), size| (sum.saturating_add(size), greatest_common_divisor(step, size)));
        let place = units.first().and_then(|unit| snapshot.pairs[unit.queue]).map_or(0, |pair| pair.step);
        let most = policy.ceiling(holdings, units, least.row(place), column).map_or(all, |ceiling| ceiling.min(all));
        // Only whole units are evicted, so the sum is a multiple of the greatest common divisor of their sizes.
        most - most.checked_rem(step).unwrap_or(0)
    };
    classes.iter().all(|class| {
        class.request.iter().all(|(column, _)| {
            let lacking = free.shortage(class, *column);
            lacking == 0 || lacking <= sides.iter().map(|units| most(units, *column)).fold(0, u128::saturating_add)
        })
    })
}
