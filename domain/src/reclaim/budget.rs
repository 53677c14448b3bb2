//! The length of a search, counted in steps. A limit in time would let the same input end in different ways.

/// About the number of steps that a slow machine takes in a millisecond.
const STEPS_PER_MS: u64 = 1000;

pub struct SearchBudget {
    left: u64,
}

/// The error of a search whose budget is used up.
#[derive(Clone, Copy, Debug)]
pub struct BudgetExhausted;

impl SearchBudget {
    pub fn from_ms(ms: u64) -> Self {
        Self { left: ms.saturating_mul(STEPS_PER_MS) }
    }

    /// Subtracts the cost of work on `size` items: one step, and another one for every 16 items.
    pub fn pay(&mut self, size: usize) -> Result<(), BudgetExhausted> {
        let steps = 1 + size as u64 / 16;
        self.left = self.left.checked_sub(steps).ok_or(BudgetExhausted)?;
        Ok(())
    }
}
