//! Fair-share weights (FAIR_SHARE §7), and their product over the hierarchy.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::decimal::written::deserialize_decimal;
use super::decimal::{DecimalError, parse_fixed, text_serde, write_fixed};

/// The number of decimals that a weight has at most.
pub const WEIGHT_DECIMALS: u32 = 4;
const WEIGHT_UNIT: u64 = 10u64.pow(WEIGHT_DECIMALS);

/// A weight: above 0, at most 999999.9999, at most 4 decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u64);

/// The reason why a text is not a legal weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; a weight is above 0, at most 999999.9999, with at most 4 decimals")]
pub struct WeightError(DecimalError);

impl Weight {
    pub const ONE: Self = Self(WEIGHT_UNIT);
    pub const MIN: Self = Self(1);
    pub const MAX: Self = Self(9_999_999_999);

    /// The stored form: an integer in units of 1/10,000.
    pub fn ten_thousandths(self) -> i64 {
        self.0.cast_signed()
    }

    pub fn from_ten_thousandths(value: i64) -> Option<Self> {
        u64::try_from(value).ok().filter(|v| (1..=Self::MAX.0).contains(v)).map(Self)
    }

    /// Parses a weight, with an error message for users.
    pub fn parse(text: &str) -> Result<Self, WeightError> {
        text.parse().map_err(WeightError)
    }

    pub fn to_f64(self) -> f64 {
        self.0 as f64 / WEIGHT_UNIT as f64
    }
}

impl FromStr for Weight {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let value = parse_fixed(text, WEIGHT_DECIMALS)?;
        match u64::try_from(value) {
            Ok(0) => Err(DecimalError::Zero),
            Ok(v) if v <= Self::MAX.0 => Ok(Self(v)),
            _ => Err(DecimalError::TooLarge),
        }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fixed(f, self.0.into(), WEIGHT_DECIMALS)
    }
}

text_serde!(Weight);

/// Domain weight x project weight x own weight, exact in units of 10^-12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectiveWeight(u128);

impl EffectiveWeight {
    /// The effective weight of a domain or project, which is its own weight alone.
    pub fn single(own: Weight) -> Self {
        Self::product(own, Weight::ONE, Weight::ONE)
    }

    pub fn product(domain: Weight, project: Weight, user: Weight) -> Self {
        Self(u128::from(domain.0) * u128::from(project.0) * u128::from(user.0))
    }

    pub fn to_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl fmt::Display for EffectiveWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_fixed(f, self.0, 3 * WEIGHT_DECIMALS)
    }
}

impl Serialize for EffectiveWeight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A decimal as it was sent: the text, or the digits of a number.
#[derive(Clone, Debug)]
pub struct DecimalText(pub String);

impl FromStr for DecimalText {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        Ok(Self(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for DecimalText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_decimal(deserializer)
    }
}

/// Reads `weight` from a request. An absent key and `null` differ: a required key may be `null`, which unsets the
/// weight.
pub fn deserialize_nullable_text<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<DecimalText>::deserialize(d)?.map(|text| text.0))
}
