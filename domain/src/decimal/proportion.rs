//! Factors from 0 to 1, split once into mantissa and exponent, so that many exact products are fast.

/// The factor as exactly `mantissa / 2^shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactFactor {
    pub(super) mantissa: u64,
    pub(super) shift: u32,
}

impl ExactFactor {
    /// A factor above 1 becomes 1; NaN and negative factors become 0.
    pub fn new(factor: f64) -> Self {
        const MANTISSA_BITS: u32 = 52;
        if factor >= 1.0 {
            return Self { mantissa: 1, shift: 0 };
        }
        if factor.is_nan() || factor <= 0.0 {
            return Self { mantissa: 0, shift: 0 };
        }
        let bits = factor.to_bits();
        let biased = u32::try_from(bits >> MANTISSA_BITS & 0x7ff).unwrap_or(0);
        let mantissa = bits & ((1 << MANTISSA_BITS) - 1) | 1 << MANTISSA_BITS;
        let shift = 1023 + MANTISSA_BITS - biased;
        Self { mantissa, shift }
    }
}
