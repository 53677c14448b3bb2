//! Usages as counts of a grain: a unit that all numbers of a column are whole multiples of, so that they take few bytes.

use ethnum::U256;

use super::Usage;

/// So many digits of a usage are all zero: it is counted in `10^grain` of its last digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grain(u8);

impl Grain {
    /// Whole amounts for microseconds, as usages nearly always are.
    pub const COARSEST: Self = Self(12);
    /// Thousandths and millionths of an amount for microseconds, and whatever else there is.
    const FINER: [Self; 3] = [Self(9), Self(6), Self(0)];

    /// The coarsest grain, this one or a finer one, that counts `usage` without a rest.
    #[must_use]
    pub fn fit(self, usage: Usage) -> Self {
        let finer = Self::FINER.into_iter().filter(|grain| *grain < self);
        std::iter::once(self).chain(finer).find(|grain| grain.counts(usage)).unwrap_or(Self(0))
    }

    /// Whether the usage is a whole count of the grain.
    pub fn counts(self, usage: Usage) -> bool {
        match usage.0.into_words() {
            (0, low) => low % self.unit() == 0,
            _ => usage.0 % U256::from(self.unit()) == U256::ZERO,
        }
    }

    /// How often the grain is in a usage that it counts.
    pub fn count(self, usage: Usage) -> Count {
        match usage.0.into_words() {
            (0, low) => Count(U256::from(low / self.unit())),
            _ => Count(usage.0 / U256::from(self.unit())),
        }
    }

    pub fn usage(self, count: Count) -> Usage {
        Usage(count.0 * U256::from(self.unit()))
    }

    /// How many bytes numbers that take `width` bytes in a coarser grain may take in this one.
    pub fn width_of(self, coarser: Self, width: u8) -> u8 {
        let most = Count::of(&[u8::MAX; 32][..width.into()]);
        Count(most.0.saturating_mul(U256::from(coarser.unit() / self.unit()))).width()
    }

    /// In the last digit of a usage.
    pub(super) fn unit(self) -> u128 {
        10u128.pow(self.0.into())
    }
}

/// How often a grain is in a usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(U256);

impl Count {
    /// How many bytes it takes.
    pub fn width(self) -> u8 {
        u8::try_from((U256::BITS - self.0.leading_zeros()).div_ceil(8)).unwrap_or(32)
    }

    /// Writes the number in all of `bytes`, which are at least as many as its width.
    pub fn put(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.0.to_le_bytes()[..bytes.len()]);
    }

    /// The number in `bytes`, at most 32.
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
    /// The number, or the largest that there is.
    fn from(count: Count) -> Self {
        Self::try_from(count.0).unwrap_or(Self::MAX)
    }
}
