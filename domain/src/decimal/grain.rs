//! Usages as multiples of a common unit, the grain, so that the numbers of a column take few bytes.

use ethnum::U256;

use super::Usage;

/// The number of trailing zero digits: a usage is counted in 10^grain units of 10^-18.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grain(u8);

impl Grain {
    /// For whole amounts times microseconds, which usages nearly always are.
    pub const COARSEST: Self = Self(12);
    /// For thousandths and millionths of amounts times microseconds, and for any usage.
    const FINER: [Self; 3] = [Self(9), Self(6), Self(0)];

    /// The coarsest grain, this one or a finer one, of which `usage` is a multiple.
    #[must_use]
    pub fn fit(self, usage: Usage) -> Self {
        let finer = Self::FINER.into_iter().filter(|grain| *grain < self);
        std::iter::once(self).chain(finer).find(|grain| grain.counts(usage)).unwrap_or(Self(0))
    }

    /// True if the usage is a multiple of the grain.
    pub fn counts(self, usage: Usage) -> bool {
        match usage.0.into_words() {
            (0, low) => low % self.unit() == 0,
            _ => usage.0 % U256::from(self.unit()) == U256::ZERO,
        }
    }

    /// The usage divided by the grain. The usage must be a multiple of it.
    pub fn count(self, usage: Usage) -> Count {
        match usage.0.into_words() {
            (0, low) => Count(U256::from(low / self.unit())),
            _ => Count(usage.0 / U256::from(self.unit())),
        }
    }

    pub fn usage(self, count: Count) -> Usage {
        Usage(count.0 * U256::from(self.unit()))
    }

    /// The number of bytes in this grain of a number that takes `width` bytes in a coarser grain, at most.
    pub fn width_of(self, coarser: Self, width: u8) -> u8 {
        let most = Count::of(&[u8::MAX; 32][..width.into()]);
        Count(most.0.saturating_mul(U256::from(coarser.unit() / self.unit()))).width()
    }

    /// The grain in units of 10^-18.
    pub(super) fn unit(self) -> u128 {
        10u128.pow(self.0.into())
    }
}

/// A number of grains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(U256);

impl Count {
    /// The number of bytes that it takes.
    pub fn width(self) -> u8 {
        u8::try_from((U256::BITS - self.0.leading_zeros()).div_ceil(8)).unwrap_or(32)
    }

    /// Writes the number into all of `bytes`, which must be at least `width` bytes.
    pub fn put(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.0.to_le_bytes()[..bytes.len()]);
    }

    /// The number in `bytes`, which are at most 32.
    pub fn of(bytes: &[u8]) -> Self {
        let mut all = [0; 32];
        all[..bytes.len()].copy_from_slice(bytes);
        Self(U256::from_le_bytes(all))
    }
}

impl From<u64> for Count {
    fn from(number: u64) -> Self {
        Self(U256::from(number))
    }
}

impl From<Count> for u64 {
    /// The number, or `u64::MAX` if it is larger.
    fn from(count: Count) -> Self {
        Self::try_from(count.0).unwrap_or(Self::MAX)
    }
}
