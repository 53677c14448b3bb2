//! The steps of a division. Each step records something that a queue got, so that a person can redo the calculation.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::decimal::Amount;

/// The amount that a step gives. It is negative (`is_taken`) where rounding to whole devices takes a fraction back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocationStep {
    pub amount: Amount,
    pub is_taken: bool,
}

impl AllocationStep {
    /// `to - from`.
    pub fn between(from: Amount, to: Amount) -> Self {
        if from > to {
            Self { amount: from.saturating_sub(to), is_taken: true }
        } else {
            to.saturating_sub(from).into()
        }
    }

    pub fn is_zero(self) -> bool {
        self.amount.is_zero()
    }

    /// The signed amount, in units of 10^-12.
    pub fn units(self) -> i128 {
        // The largest amount is far below `i128::MAX`.
        let units = i128::try_from(self.amount.units()).unwrap_or(i128::MAX);
        if self.is_taken { -units } else { units }
    }
}

impl From<Amount> for AllocationStep {
    fn from(amount: Amount) -> Self {
        Self { amount, is_taken: false }
    }
}

impl fmt::Display for AllocationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_taken { "-" } else { "" };
        write!(f, "{sign}{}", self.amount)
    }
}

impl Serialize for AllocationStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One step: one gift to one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DivisionStep {
    pub queue: usize,
    /// The column of the slot; `None` for a step over all slots (a ratio).
    pub column: Option<usize>,
    /// The rule that gave it: `quota`, `over_quota`, `last_digit`, `whole`, `remainder`; `min_share`, `demand`,
    /// `limit`, `parent`, `capacity`, `fifo`; `request`, `guarantee`; `by_weight`; `filling`.
    pub rule: &'static str,
    /// The round, counted from 1 in each level, slot and priority group; 0 for rules without rounds.
    pub round: u32,
    pub priority: Option<i32>,
    /// The amount that was divided in this round.
    pub divided: Option<Amount>,
    pub weight: Option<Amount>,
    pub weight_sum: Option<Amount>,
    pub offer: Option<Amount>,
    pub gift: AllocationStep,
    /// For `drf`: the dominant share / weight that the queue had reached at the end of the filling.
    pub level: Option<Amount>,
    /// The reason why the gift is below the offer or the growth ended: `request`, `limit`, `whole units`, a slot that
    /// is used up, ...
    pub capped_by: Option<Cow<'static, str>>,
}

/// Collects steps, or nothing if no explanation is wanted.
#[derive(Debug, Default)]
pub struct DivisionTrace {
    steps: Option<Vec<DivisionStep>>,
}

impl DivisionTrace {
    pub fn on() -> Self {
        Self { steps: Some(Vec::new()) }
    }

    pub fn off() -> Self {
        Self::default()
    }

    pub fn is_on(&self) -> bool {
        self.steps.is_some()
    }

    /// Keeps the step if steps are collected.
    pub fn push(&mut self, step: impl FnOnce() -> DivisionStep) {
        if let Some(steps) = &mut self.steps {
            steps.push(step());
        }
    }

    /// The collected steps; `None` if no explanation is wanted.
    pub fn into_steps(self) -> Option<Vec<DivisionStep>> {
        self.steps
    }
}

/// The `capped_by` of an offer that `rounding: kai` cut to whole units.
pub(super) const WHOLE_UNITS: &str = "whole units";
