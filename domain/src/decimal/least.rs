//! The least usage of which something is true.

use ethnum::U256;

use super::{USAGE_DECIMALS, Usage};

/// Digits after the point of the usages that are tried: thousandths of a slot-second.
const TRIED_DECIMALS: u32 = 3;

impl Usage {
    /// The least usage in whole thousandths of a slot-second for which `holds`, which holds for every larger one too; `None`: it
    /// holds for no usage.
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
