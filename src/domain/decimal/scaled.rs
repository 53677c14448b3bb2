//! Usages multiplied by a factor, with what rounding would lose, so that a sum of them is rounded once.

use std::ops::Add;

use ethnum::U256;

use super::Usage;

/// A usage with the part of its last digit, so that a sum of scaled usages is rounded once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScaledUsage {
    pub(super) whole: Usage,
    /// In `2^-128` of the last digit.
    pub(super) fraction: u128,
}

impl ScaledUsage {
    /// Rounded half up to `10^-18`.
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
    /// `self x factor` for a factor in 0..=1, with what rounding to `10^-18` would lose.
    pub fn times(self, factor: f64) -> ScaledUsage {
        const MANTISSA_BITS: i32 = 52;
        if factor >= 1.0 {
            return ScaledUsage { whole: self, fraction: 0 };
        }
        if factor.is_nan() || factor <= 0.0 {
            return ScaledUsage::default();
        }
        let bits = factor.to_bits();
        let biased = i32::try_from(bits >> MANTISSA_BITS & 0x7ff).unwrap_or(0);
        let shift = u32::try_from(1023 + MANTISSA_BITS - biased).unwrap_or(0);
        // So small a part of any usage is nothing.
        if biased == 0 || shift > 255 {
            return ScaledUsage::default();
        }
        let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | (1 << MANTISSA_BITS);
        let (high, low) = self.0.into_words();
        if high == 0 && low >> 127 == 0 && shift <= 128 {
            return scaled(low, mantissa, shift);
        }
        let product = self.0.saturating_mul(U256::from(mantissa));
        let rest = product - ((product >> shift) << shift);
        let fraction = if shift <= 128 { rest << (128 - shift) } else { rest >> (shift - 128) };
        ScaledUsage { whole: Self(product >> shift), fraction: fraction.as_u128() }
    }
}

/// `value x mantissa / 2^shift` in 128 bits, for a value below 2^127, a mantissa below 2^53, and a shift of 52 to 128.
fn scaled(value: u128, mantissa: u64, shift: u32) -> ScaledUsage {
    let mantissa = u128::from(mantissa);
    let (high, low) = (value >> 64, value & u128::from(u64::MAX));
    let lowest = low * mantissa;
    // The product is `upper x 2^64 + lower`, of 117 and 64 bits.
    let (upper, lower) = (high * mantissa + (lowest >> 64), lowest & u128::from(u64::MAX));
    let (whole, rest) = if shift < 64 {
        (upper << (64 - shift) | lower >> shift, lower & ((1 << shift) - 1))
    } else {
        let above = shift - 64;
        (upper >> above, (upper & ((1 << above) - 1)) << 64 | lower)
    };
    let fraction = if shift == 128 { rest } else { rest << (128 - shift) };
    ScaledUsage { whole: Usage(U256::from(whole)), fraction }
}

#[cfg(test)]
mod tests {
    use ethnum::U256;

    use super::Usage;

    #[test]
    fn small_numbers_are_scaled_as_large_ones_are() {
        // The sum is too large for the fast way, and scaling is exact.
        let large = Usage(U256::ONE << 140);
        let numbers = (0..127).map(|bits| (1u128 << bits) + (1 << (bits / 2)) - 1).chain([(1 << 127) - 1]);
        let factors = (0..77).flat_map(|power| [0.5, 0.3, 0.999_999].map(|part| part * 0.5f64.powi(power)));
        for factor in factors {
            for number in numbers.clone() {
                let small = Usage(U256::from(number));
                assert_eq!(
                    (small + large).times(factor),
                    small.times(factor) + large.times(factor),
                    "{number} {factor}"
                );
            }
        }
    }
}
