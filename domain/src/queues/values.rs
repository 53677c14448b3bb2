//! The value types that only queues have: bounds, modes and over-quota weights (DIVISION §1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use crate::choices::choices;
use crate::decimal::{Amount, DecimalError, text_serde};
use crate::quantity::{Quantity, parse};
use crate::slots::{SlotAmounts, SlotName, SlotValue};

/// The largest weight, ratio or usage figure of a queue. It is far above any real value, and products with it cannot
/// overflow.
pub const MAX_WEIGHT: Amount = Amount::whole(1_000_000);
/// The largest over-quota weight. Memory in bytes is a common weight, which [`MAX_WEIGHT`] would not admit. A quota,
/// which may be larger, can be a weight too.
pub const MAX_OVER_QUOTA_WEIGHT: Amount = Amount::whole(1_000_000_000_000_000);

/// The largest number of queues in one request.
pub const MAX_QUEUES: usize = 100_000;

/// The text of an unlimited bound.
const UNLIMITED: &str = "unlimited";

/// A quota or limit of one slot. In the order of bounds, unlimited is above every amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    Limited(Amount),
    Unlimited,
}

impl Bound {
    /// The smaller of the bound and `amount`.
    pub fn cut(self, amount: Amount) -> Amount {
        match self {
            Self::Limited(limit) => limit.min(amount),
            Self::Unlimited => amount,
        }
    }

    /// The amount of the bound, or `unlimited` if it has none.
    pub fn unwrap_or(self, unlimited: Amount) -> Amount {
        match self {
            Self::Limited(limit) => limit,
            Self::Unlimited => unlimited,
        }
    }
}

impl FromStr for Bound {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        if text == UNLIMITED { Ok(Self::Unlimited) } else { text.parse().map(Self::Limited) }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limited(limit) => limit.fmt(f),
            Self::Unlimited => f.write_str(UNLIMITED),
        }
    }
}

text_serde!(Bound);

impl FromStr for Quantity<Bound> {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        if text == UNLIMITED { Ok(Self(Bound::Unlimited)) } else { parse(text).map(Bound::Limited).map(Self) }
    }
}

impl From<Quantity<Self>> for Bound {
    fn from(Quantity(bound): Quantity<Self>) -> Self {
        bound
    }
}

impl SlotValue for Bound {
    type Written = Quantity<Self>;
}

choices! {
    /// How a queue serves its children under `min_share` (DIVISION §3).
    #[derive(Default)]
    pub enum QueueMode {
        #[default]
        Fair = "fair", "By weight.";
        Fifo = "fifo", "In the order of their age.";
    }
}

choices! {
    /// The figure that over-quota capacity is divided by (DIVISION §2.4).
    #[derive(Default)]
    pub enum OverQuotaBy {
        #[default]
        Weight = "weight", "By over-quota weights.";
        Quota = "quota", "In proportion to quotas.";
    }
}

/// One weight for all slots, or weights by slot (absent: 1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum OverQuotaWeight {
    Every(Amount),
    BySlot(SlotAmounts),
}

impl OverQuotaWeight {
    pub fn of(&self, slot: SlotName) -> Amount {
        match self {
            Self::Every(weight) => *weight,
            Self::BySlot(weights) => weights.get(slot).unwrap_or(Amount::whole(1)),
        }
    }
}

impl Default for OverQuotaWeight {
    fn default() -> Self {
        Self::Every(Amount::whole(1))
    }
}

impl<'de> Deserialize<'de> for OverQuotaWeight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::{Error, MapAccess, Visitor, value::MapAccessDeserializer};
        struct WeightVisitor;
        impl<'de> Visitor<'de> for WeightVisitor {
            type Value = OverQuotaWeight;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a decimal number, or an object of slot names and decimals")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OverQuotaWeight, A::Error> {
                SlotAmounts::deserialize(MapAccessDeserializer::new(map)).map(OverQuotaWeight::BySlot)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<OverQuotaWeight, E> {
                text.parse().map(OverQuotaWeight::Every).map_err(E::custom)
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<OverQuotaWeight, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<OverQuotaWeight, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<OverQuotaWeight, E> {
                use serde::de::IntoDeserializer;
                Amount::deserialize(value.into_deserializer()).map(OverQuotaWeight::Every)
            }
        }
        deserializer.deserialize_any(WeightVisitor)
    }
}
