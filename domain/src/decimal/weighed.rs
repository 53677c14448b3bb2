//! Exact sums of very many products of a usage and a proportion.

use ethnum::U256;

use super::Usage;
use super::grain::Grain;
use super::proportion::Proportion;
use super::scaled::ScaledUsage;

/// The sum of products of a number of grains and a proportion, without a loss.
#[derive(Clone, Copy, Debug)]
pub struct WeighedSum {
    grain: Grain,
    /// The sum in units of 2^-128 grains: the upper and the lower half.
    high: u128,
    low: u128,
    /// Products that are too large for the two numbers above, and those with proportions that are too small.
    rest: ScaledUsage,
}

impl WeighedSum {
    /// An upper bound of the counts. With it, 256 bits hold the sum of a thousand million products.
    pub const MOST: u128 = 1 << 96;

    pub fn new(grain: Grain) -> Self {
        Self { grain, high: 0, low: 0, rest: ScaledUsage::default() }
    }

    /// Adds `part` of `sum`, which is a sum of at most as many counts below [`Self::MOST`] as a look-back has days.
    pub fn add(&mut self, sum: u128, part: Proportion) {
        // The proportion is 0 or 1.
        if part.shift == 0 {
            self.high += sum * u128::from(part.mantissa);
            return;
        }
        let Some(up) = u128::BITS.checked_sub(part.shift) else {
            return self.add_usage(Usage(U256::from(sum) * U256::from(self.grain.unit())), part);
        };
        let (upper, lower) = words(sum);
        let product = u128::from(lower) * u128::from(part.mantissa);
        self.put(product.checked_shr(part.shift).unwrap_or(0), product << up);
        if upper > 0 {
            let product = (U256::from(upper) * U256::from(part.mantissa)) << (up + 64);
            let (high, low) = product.into_words();
            self.put(high, low);
        }
    }

    /// Adds `part` of a usage of any size.
    pub fn add_usage(&mut self, usage: Usage, part: Proportion) {
        self.rest = self.rest + usage.times(part);
    }

    fn put(&mut self, high: u128, low: u128) {
        let (sum, carry) = self.low.overflowing_add(low);
        self.low = sum;
        self.high += high + u128::from(carry);
    }

    /// Rounds half up to 10^-18.
    pub fn rounded(self) -> Usage {
        let unit = U256::from(self.grain.unit());
        let (above, fraction) = (U256::from(self.low) * unit).into_words();
        let whole = Usage(U256::from(self.high).saturating_mul(unit).saturating_add(U256::from(above)));
        (ScaledUsage { whole, fraction } + self.rest).rounded()
    }
}

/// The upper and the lower half of a number.
fn words(number: u128) -> (u64, u64) {
    let word = |half: u128| u64::try_from(half).unwrap_or(u64::MAX);
    (word(number >> 64), word(number & u128::from(u64::MAX)))
}
