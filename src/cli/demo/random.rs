//! A small seeded generator (`SplitMix64`). It gives the same numbers on every machine and in every version.

pub struct SeededRandom(u64);

impl SeededRandom {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer from `low` to `high`, both included.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        let width = u128::from(low.abs_diff(high)) + 1;
        let offset = (u128::from(self.number()) * width) >> 64;
        low + i64::try_from(offset).unwrap_or(0)
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: i64) -> bool {
        self.range(1, 100) <= percent
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let at = self.range(0, i64::try_from(of.len()).ok()? - 1);
        of.get(usize::try_from(at).ok()?).copied()
    }
}
