//! Exact sums of very many usages, each times a proportion.

use ethnum::U256;

use super::proportion::Proportion;
use super::scaled::ScaledUsage;
use super::{AMOUNT_UNIT, Usage};

/// A usage as it was packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// So many whole amounts for a microsecond, in `10^-6`.
    Micros(u128),
    Other(Usage),
}

impl Number {
    pub fn usage(self) -> Usage {
        match self {
            Self::Micros(count) => Usage(U256::from(count) * U256::from(AMOUNT_UNIT)),
            Self::Other(usage) => usage,
        }
    }
}

/// The sum, with nothing lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct WeighedSum {
    /// Of the [`Number::Micros`], in `2^-128` of `10^-6`: the upper and the lower half.
    high: u128,
    low: u128,
    /// Of all others.
    rest: ScaledUsage,
}

impl WeighedSum {
    pub fn add(&mut self, number: Number, part: Proportion) {
        match number {
            // What is summed in 256 bits is below 2^96, so that they hold the sum of more than a million days.
            Number::Micros(count) if count >> 96 == 0 && part.shift <= u128::BITS => {
                // The factor is 0 or 1.
                if part.shift == 0 {
                    self.high += count * u128::from(part.mantissa);
                    return;
                }
                let (upper, lower) = words(count);
                let (high, low) = product(lower, part.parts);
                self.put(high, low);
                if upper > 0 {
                    let (high, low) = product(upper, part.parts);
                    self.put(high << 64 | low >> 64, low << 64);
                }
            }
            _ => self.rest = self.rest + number.usage().times(part),
        }
    }

    fn put(&mut self, high: u128, low: u128) {
        let (sum, carry) = self.low.overflowing_add(low);
        self.low = sum;
        self.high += high + u128::from(carry);
    }

    /// Rounded half up to `10^-18`.
    pub fn rounded(self) -> Usage {
        let unit = U256::from(AMOUNT_UNIT);
        let (above, fraction) = (U256::from(self.low) * unit).into_words();
        let whole = Usage(U256::from(self.high).saturating_mul(unit).saturating_add(U256::from(above)));
        (ScaledUsage { whole, fraction } + self.rest).rounded()
    }
}

/// The upper and the lower half.
fn words(number: u128) -> (u64, u64) {
    let word = |half: u128| u64::try_from(half).unwrap_or(u64::MAX);
    (word(number >> 64), word(number & u128::from(u64::MAX)))
}

/// `one x other` in 256 bits, the upper half first.
fn product(one: u64, other: u128) -> (u128, u128) {
    let one = u128::from(one);
    let (upper, lower) = words(other);
    let below = one * u128::from(lower);
    let above = one * u128::from(upper) + (below >> 64);
    (above >> 64, above << 64 | below & u128::from(u64::MAX))
}
