//! Quotients of usages and weights, compared without rounding.

use std::cmp::Ordering;

use super::Usage;

impl Usage {
    /// Compares `self / weight` with `other / other_weight`. A quotient by 0 is greater than all others.
    pub fn cmp_per_weight(self, weight: u64, other: Self, other_weight: u64) -> Ordering {
        let (Some(one), Some(two)) = (self.divided(weight), other.divided(other_weight)) else {
            return (weight == 0).cmp(&(other_weight == 0));
        };
        let rests = (one.1 * u128::from(other_weight)).cmp(&(two.1 * u128::from(weight)));
        one.0.cmp(&two.0).then(rests)
    }

    /// The quotient rounded down, and the remainder, which is less than the weight; `None` for a division by 0.
    fn divided(self, weight: u64) -> Option<(Self, u128)> {
        let weight = ethnum::U256::from(weight);
        let quotient = self.0.checked_div(weight)?;
        Some((Self(quotient), (self.0 - quotient * weight).as_u128()))
    }
}
