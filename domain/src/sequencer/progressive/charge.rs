//! The charge for a workload, and the account of an owner.

use std::ops::AddAssign;

use crate::factor::{Exponent, fair_share_factor};
use crate::weight::EffectiveWeight;

/// The number of units in the whole capacity of one window.
const UNITS_OF_CAPACITY: f64 = 1e18;

/// A part of the capacity of the look-back window, in the same scale as normalised usage. It is an integer, so that a
/// sum does not depend on the order of its parts.
// Packed to the alignment of `u64`, so that a pending workload with its charge takes a quarter less memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed(8))]
pub struct UsageCharge(u128);

impl UsageCharge {
    pub const ZERO: Self = Self(0);

    /// The charge for normalised usage. NaN and negative numbers cost nothing.
    pub fn of(normalized_usage: f64) -> Self {
        // The conversion saturates.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is what is meant")]
        Self((normalized_usage * UNITS_OF_CAPACITY).round() as u128)
    }

    #[expect(clippy::cast_precision_loss, reason = "sums are exact; what is compared is rounded once")]
    pub fn to_f64(self) -> f64 {
        // Most charges fit into 64 bits, which the processor converts to the same number in one instruction.
        let units = u64::try_from(self.0).map_or_else(|_| self.0 as f64, |units| units as f64);
        units / UNITS_OF_CAPACITY
    }
}

impl AddAssign for UsageCharge {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// The usage of a domain, project or user, recorded and not, and the weight that divides it.
#[derive(Clone, Copy, Debug)]
pub struct UsageAccount {
    pub normalized_usage: f64,
    pub charged: UsageCharge,
    pub weight: EffectiveWeight,
}

impl UsageAccount {
    /// Recorded usage plus all charges.
    pub fn used(&self) -> f64 {
        self.normalized_usage + self.charged.to_f64()
    }

    pub fn factor(&self) -> f64 {
        fair_share_factor(self.used(), self.weight)
    }

    /// The sort key: it ascends with usage / weight.
    pub fn key(&self) -> u64 {
        Exponent::new(self.used(), self.weight).sort_key()
    }

    /// The sort key with half of the next workload's charge. That half counts at most as much as the usage so far, so
    /// that owners with little usage are not held back by a large workload.
    pub fn key_before(&self, next: UsageCharge) -> u64 {
        let used = self.used();
        Exponent::new(used + used.min(next.to_f64() / 2.0), self.weight).sort_key()
    }
}
