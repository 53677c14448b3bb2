//! Ratios of two amounts, compared without rounding.

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};

use super::exact::{cmp_products, mul_div};
use crate::decimal::Amount;

/// `num / den`; 0/0 is 0, x/0 is infinite (DIVISION §2.6).
#[derive(Clone, Copy, Debug)]
pub struct Fraction {
    num: u128,
    den: u128,
}

const UNITS_OF_ONE: u128 = Amount::whole(1).units();

impl Fraction {
    pub const ZERO: Self = Self { num: 0, den: 1 };
    pub const ONE: Self = Self { num: 1, den: 1 };

    pub const fn new(num: u128, den: u128) -> Self {
        match (num, den) {
            (0, _) => Self::ZERO,
            (_, 0) => Self { num: 1, den: 0 },
            (num, den) => Self { num, den },
        }
    }

    pub const fn of(part: Amount, whole: Amount) -> Self {
        Self::new(part.units(), whole.units())
    }

    /// An amount as a plain number.
    pub const fn plain(amount: Amount) -> Self {
        Self::new(amount.units(), UNITS_OF_ONE)
    }

    /// `1 - self`, and 0 if this is above 1.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self { num: self.den.saturating_sub(self.num), den: if self.den == 0 { 1 } else { self.den } }
    }

    pub const fn is_infinite(self) -> bool {
        self.den == 0
    }

    /// Compares `self x factor` with `other`.
    pub fn cmp_scaled(self, factor: Amount, other: Self) -> Ordering {
        match (self.is_infinite(), other.is_infinite()) {
            (true, other) => other.cmp(&true).reverse(),
            (false, true) => Ordering::Less,
            (false, false) => {
                use ethnum::U256;
                // Amounts are below 2^110 and factors below 2^70, so the product saturates only for values outside of
                // these ranges.
                let left = U256::from(self.num) * U256::from(factor.units());
                let right = U256::from(other.num) * U256::from(UNITS_OF_ONE);
                left.saturating_mul(other.den.into()).cmp(&right.saturating_mul(self.den.into()))
            }
        }
    }

    /// `units` times the fraction, rounded down; `None` if the fraction is infinite.
    pub fn times(self, units: u128) -> Option<u128> {
        (!self.is_infinite()).then(|| mul_div(units, self.num, self.den).0)
    }

    pub fn to_f64(self) -> f64 {
        if self.is_infinite() { f64::INFINITY } else { self.num as f64 / self.den as f64 }
    }

    /// The fraction rounded half up to 12 decimals; `None` if it is infinite.
    pub fn to_amount(self) -> Option<Amount> {
        let (units, rest) = mul_div(self.num, UNITS_OF_ONE, self.den);
        let up = u128::from(rest >= self.den - self.den / 2 && rest > 0);
        (!self.is_infinite()).then(|| Amount::from_units(units.saturating_add(up)))
    }
}

/// The column with the largest ratio, and that ratio.
pub fn largest_ratio<C: Copy>(
    columns: impl Iterator<Item = C>,
    ratio: impl Fn(C) -> Fraction,
) -> (Option<C>, Fraction) {
    let mut largest = (None, Fraction::ZERO);
    for column in columns {
        let ratio = ratio(column);
        if largest.0.is_none() || ratio > largest.1 {
            largest = (Some(column), ratio);
        }
    }
    largest
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_infinite(), other.is_infinite()) {
            (false, false) => cmp_products(self.num, other.den, other.num, self.den),
            (mine, theirs) => mine.cmp(&theirs),
        }
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Fraction {}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_amount() {
            Some(amount) => amount.fmt(f),
            None => f.write_str("inf"),
        }
    }
}

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
