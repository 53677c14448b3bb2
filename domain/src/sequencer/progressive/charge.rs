//! What a workload costs its owner, and what an owner has been charged.

use std::ops::AddAssign;

use crate::factor::{Exponent, fair_share_factor};
use crate::weight::EffectiveWeight;

/// Units of a charge in one window's whole capacity.
const UNITS: f64 = 1e18;

/// A part of the look-back window's capacity, as normalised usage is, in whole units, so that a sum does not depend on the
/// order of its parts.
// Packed as closely as other numbers are: what waits with its charge takes a quarter less memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed(8))]
pub struct Charge(u128);

impl Charge {
    pub const ZERO: Self = Self(0);

    /// Of normalised usage. What is no number, or is negative, costs nothing.
    pub fn of(normalized_usage: f64) -> Self {
        // The conversion saturates.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is what is meant")]
        Self((normalized_usage * UNITS).round() as u128)
    }

    #[expect(clippy::cast_precision_loss, reason = "sums are exact; what is compared is rounded once")]
    pub fn to_f64(self) -> f64 {
        // Most fit into 64 bits, of which the machine makes the same number in one instruction.
        let units = u64::try_from(self.0).map_or_else(|_| self.0 as f64, |units| units as f64);
        units / UNITS
    }
}

impl AddAssign for Charge {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// What a domain, project or user has used, recorded and not, and the weight that divides it.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub normalized_usage: f64,
    pub charged: Charge,
    pub weight: EffectiveWeight,
}

impl Account {
    /// Recorded usage with all charges.
    pub fn used(&self) -> f64 {
        self.normalized_usage + self.charged.to_f64()
    }

    pub fn factor(&self) -> f64 {
        fair_share_factor(self.used(), self.weight)
    }

    /// Ascends with usage over weight.
    pub fn key(&self) -> u64 {
        Exponent::new(self.used(), self.weight).sort_key()
    }

    /// [`Self::key`] at the middle of the next workload. It counts no more than what was used so far, so that small owners
    /// are served.
    pub fn key_before(&self, next: Charge) -> u64 {
        let used = self.used();
        Exponent::new(used + used.min(next.to_f64() / 2.0), self.weight).sort_key()
    }
}
