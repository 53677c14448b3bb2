//! A queue as it is configured and observed (§1). The JSON keys are those of the stateless shapes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use crate::domain::decimal::{Amount, DecimalError, text_serde};
use crate::domain::slots::{Amounts, SlotMap, SlotName};
use crate::domain::time::Timestamp;

/// The largest weight, ratio or history figure of a queue: far above any use, and products with it cannot overflow.
pub const MAX_WEIGHT: Amount = Amount::whole(1_000_000);
/// The largest over-quota weight: memory in bytes is a usual one. Quotas, which may be larger, are weights as well.
pub const MAX_OVER_QUOTA_WEIGHT: Amount = Amount::whole(1_000_000_000_000_000);

/// The most queues that one request may name.
pub const MAX_QUEUES: usize = 100_000;

/// A quota or limit of one slot. Ordered: unlimited is above every amount.
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

    /// What an unlimited bound counts as is up to the caller.
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
        if text == "unlimited" { Ok(Self::Unlimited) } else { text.parse().map(Self::Limited) }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limited(limit) => limit.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

text_serde!(Bound);

/// How a queue serves its children under `min_share` (§3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueMode {
    #[default]
    Fair,
    Fifo,
}

/// What over-quota capacity follows (§2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverQuotaBy {
    #[default]
    Weight,
    Quota,
}

/// One weight for all slots, or weights by slot (absent: 1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum OverQuotaWeight {
    Every(Amount),
    BySlot(Amounts),
}

impl OverQuotaWeight {
    pub fn of(&self, slot: SlotName) -> Amount {
        match self {
            Self::Every(weight) => *weight,
            Self::BySlot(weights) => weights.get(slot).unwrap_or(ONE),
        }
    }
}

impl Default for OverQuotaWeight {
    fn default() -> Self {
        Self::Every(ONE)
    }
}

impl<'de> Deserialize<'de> for OverQuotaWeight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::{Error, MapAccess, Visitor, value::MapAccessDeserializer};
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = OverQuotaWeight;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a decimal number, or an object of slot names and decimals")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OverQuotaWeight, A::Error> {
                Amounts::deserialize(MapAccessDeserializer::new(map)).map(OverQuotaWeight::BySlot)
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
        deserializer.deserialize_any(Either)
    }
}

const ONE: Amount = Amount::whole(1);

/// One queue as it is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = Queue)]
pub struct QueueSpec {
    pub name: String,
    pub parent: Option<String>,
    /// Higher is served first.
    pub priority: i32,
    /// For `min_share`, `proportion` and `drf`.
    pub weight: Amount,
    pub mode: QueueMode,
    pub created_at: Option<Timestamp>,
    /// Absent slot: 0.
    #[schema(value_type = std::collections::BTreeMap<String, Bound>)]
    pub quota: SlotMap<Bound>,
    /// Absent slot: unlimited.
    #[schema(value_type = std::collections::BTreeMap<String, Bound>)]
    pub limit: SlotMap<Bound>,
    pub guarantee: Amounts,
    pub over_quota_weight: OverQuotaWeight,
    pub children_over_quota_by: OverQuotaBy,
    /// A ratio of the whole group, at every depth.
    pub min_share_ratio: Amount,
    pub reclaimable: bool,
    /// Seconds.
    pub preempt_min_runtime: Option<u64>,
    /// Seconds.
    pub reclaim_min_runtime: Option<u64>,
    /// Allocated and pending. A parent's is the sum over its descendants unless it is given.
    pub request: Option<Amounts>,
    pub allocated: Option<Amounts>,
    pub allocated_non_preemptible: Option<Amounts>,
    /// Normalised decayed usage by slot, for the history gain (§2.5).
    pub usage: Amounts,
    /// What the queue's next workload asks for, for the queue order (§5).
    pub next_request: Option<Amounts>,
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            parent: None,
            priority: 0,
            weight: ONE,
            mode: QueueMode::default(),
            created_at: None,
            quota: SlotMap::default(),
            limit: SlotMap::default(),
            guarantee: Amounts::default(),
            over_quota_weight: OverQuotaWeight::default(),
            children_over_quota_by: OverQuotaBy::default(),
            min_share_ratio: Amount::ZERO,
            reclaimable: true,
            preempt_min_runtime: None,
            reclaim_min_runtime: None,
            request: None,
            allocated: None,
            allocated_non_preemptible: None,
            usage: Amounts::default(),
            next_request: None,
        }
    }
}

impl QueueSpec {
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}
