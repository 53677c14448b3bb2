//! The steps of a division: each that gave a queue something, so that a person can redo it.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::decimal::Amount;

/// What a step gives; below 0 where whole devices take a fraction back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gift {
    pub amount: Amount,
    pub is_taken: bool,
}

impl Gift {
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

    /// The gift as a count of `10^-12`.
    pub fn units(self) -> i128 {
        // The largest amount is far below the largest integer.
        let units = i128::try_from(self.amount.units()).unwrap_or(i128::MAX);
        if self.is_taken { -units } else { units }
    }
}

impl From<Amount> for Gift {
    fn from(amount: Amount) -> Self {
        Self { amount, is_taken: false }
    }
}

impl fmt::Display for Gift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_taken { "-" } else { "" };
        write!(f, "{sign}{}", self.amount)
    }
}

impl Serialize for Gift {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One gift to one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub queue: usize,
    /// The slot; `None` for a step over all slots (a ratio).
    pub column: Option<usize>,
    /// What gave it: `quota`, `over_quota`, `last_digit`, `whole`, `remainder`; `min_share`, `demand`, `limit`, `parent`,
    /// `capacity`, `fifo`; `request`, `guarantee`; `by_weight`; `filling`.
    pub rule: &'static str,
    /// Rounds count from 1 in each level, slot and priority group; 0 for rules without rounds.
    pub round: u32,
    pub priority: Option<i32>,
    /// What was divided in this round.
    pub divided: Option<Amount>,
    pub weight: Option<Amount>,
    pub weight_sum: Option<Amount>,
    pub offer: Option<Amount>,
    pub gift: Gift,
    /// Dominant share over weight at which the filling of `drf` left the queue.
    pub level: Option<Amount>,
    /// What kept the gift below the offer or ended the growth: `request`, `limit`, `whole units`, a slot that is used up, ...
    pub capped_by: Option<Cow<'static, str>>,
}

/// Collects steps, or nothing at all when no explanation is asked for.
#[derive(Debug, Default)]
pub struct Trace {
    steps: Option<Vec<Step>>,
}

impl Trace {
    pub fn on() -> Self {
        Self { steps: Some(Vec::new()) }
    }

    pub fn off() -> Self {
        Self::default()
    }

    pub fn is_on(&self) -> bool {
        self.steps.is_some()
    }

    /// Keeps the step when it gave something or was an offer that came to nothing.
    pub fn push(&mut self, step: impl FnOnce() -> Step) {
        if let Some(steps) = &mut self.steps {
            steps.push(step());
        }
    }

    /// What was collected; `None`: nothing was asked for.
    pub fn into_steps(self) -> Option<Vec<Step>> {
        self.steps
    }
}

/// What `rounding: kai` cuts an offer to.
pub(super) const WHOLE_UNITS: &str = "whole units";
