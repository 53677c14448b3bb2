//! Usages multiplied by a proportion, together with the rounding remainder, so that a sum of them is rounded only once.

use std::ops::Add;

use ethnum::U256;

use super::Usage;
use super::proportion::ExactFactor;

/// A usage with a fraction of its last unit (10^-18), so that a sum of scaled usages is rounded only once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScaledUsage {
    pub(super) whole: Usage,
    /// In units of 2^-128 x 10^-18.
    pub(super) fraction: u128,
}

impl ScaledUsage {
    /// Rounds half up to 10^-18.
    pub fn rounded(self) -> Usage {
        Usage(self.whole.0.saturating_add(U256::from(self.fraction >> 127)))
    }
}

impl Add for ScaledUsage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (fraction, carry) = self.fraction.overflowing_add(other.fraction);
        let whole = self.whole + other.whole;
        Self { whole: Usage(whole.0.saturating_add(U256::from(u128::from(carry)))), fraction }
    }
}

impl Usage {
    /// `part` of the usage, with the remainder that rounding to 10^-18 would lose.
    pub fn times(self, part: ExactFactor) -> ScaledUsage {
        // Such a small part of any usage is 0.
        if part.shift > 255 {
            return ScaledUsage::default();
        }
        let (product, shift) = (self.0.saturating_mul(U256::from(part.mantissa)), part.shift);
        let rest = product - ((product >> shift) << shift);
        let fraction = match shift {
            0 => U256::ZERO,
            1..=128 => rest << (128 - shift),
            _ => rest >> (shift - 128),
        };
        ScaledUsage { whole: Self(product >> shift), fraction: fraction.as_u128() }
    }
}
