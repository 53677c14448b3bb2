//! How long a search may be, in steps: time would make the same input end in different ways.

/// About what a slow machine does in a millisecond.
const STEPS_PER_MS: u64 = 1000;

pub struct Budget {
    left: u64,
}

/// The budget is used up.
#[derive(Clone, Copy, Debug)]
pub struct Exhausted;

impl Budget {
    pub fn from_ms(ms: u64) -> Self {
        Self { left: ms.saturating_mul(STEPS_PER_MS) }
    }

    /// Pays for work on `size` things.
    pub fn pay(&mut self, size: usize) -> Result<(), Exhausted> {
        let steps = 1 + size as u64 / 16;
        self.left = self.left.checked_sub(steps).ok_or(Exhausted)?;
        Ok(())
    }
}
