//! A search for the least usage with some property.

use ethnum::U256;

use super::{USAGE_DECIMALS, Usage};

/// The number of decimals of the usages that are tried: thousandths of a slot-second.
const TRIED_DECIMALS: u32 = 3;

impl Usage {
    /// The least usage, in thousandths of a slot-second, for which `holds` is true; `None` if there is none. `holds`
    /// must be true for every larger usage too.
    pub fn least_thousandths(holds: impl Fn(Self) -> bool) -> Option<Self> {
        let unit = U256::from(10u128.pow(USAGE_DECIMALS - TRIED_DECIMALS));
        let usage = |count: U256| Self(count * unit);
        let (mut low, mut high) = (U256::ONE, U256::MAX / unit);
        if !holds(usage(high)) {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(usage(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(usage(low))
    }
}
