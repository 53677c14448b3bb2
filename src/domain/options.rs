//! `scheduler_opts` of a resource group (§8): defaults, ranges, merging.

use serde_json::{Map, Value};

use super::decay::Decay;
use super::division::TreeFault;
use super::queues::DivisionChoice;
use super::slice::GapPolicy;
use super::slots::{Amounts, SlotName, SlotNameError};
use super::weight::Weight;

/// The longest bucket that options allow.
pub const MAX_DECAY_UNIT_DAYS: u32 = 365;

/// The options in force: what is stored, over the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// 1..=3650 days.
    pub half_life_days: u32,
    /// 1..=3650 days.
    pub lookback_days: u32,
    /// 1..=365 days, at most `lookback_days`.
    pub decay_unit_days: u32,
    /// 1..=86400 seconds.
    pub slice_interval_seconds: u32,
    pub default_weight: Weight,
    pub gap_policy: GapPolicy,
    /// 0..=8760 hours.
    pub max_gap_hours: u32,
    /// Slot -> weight >= 0; empty: every slot with capacity counts 1.
    pub resource_weights: Amounts,
    pub decay: Decay,
    /// How capacity is divided over queues, and how reclaims are planned.
    pub division: DivisionChoice,
    /// What the `fairshare` sequencer compares.
    pub order: Order,
}

/// Whether `fairshare` compares users across the group, or domains, then projects, then users (§9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Flat,
    Tiered,
}

impl Order {
    const ALL: [(&'static str, Self); 2] = [("flat", Self::Flat), ("tiered", Self::Tiered)];

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, order)| order)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Tiered => "tiered",
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            half_life_days: 7,
            lookback_days: 28,
            decay_unit_days: 1,
            slice_interval_seconds: 300,
            default_weight: Weight::ONE,
            gap_policy: GapPolicy::Interpolate,
            max_gap_hours: 24,
            resource_weights: Amounts::default(),
            decay: Decay::default(),
            division: DivisionChoice::default(),
            order: Order::default(),
        }
    }
}

/// One refused key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// JSON pointer inside `scheduler_opts`, like `/half_life_days`.
    pub pointer: String,
    pub code: &'static str,
    pub detail: String,
}

impl OptionError {
    fn new(key: &str, code: &'static str, detail: impl Into<String>) -> Self {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        Self { pointer: format!("/{escaped}"), code, detail: detail.into() }
    }

    /// A fault inside the value of `key`.
    fn inside(key: &str, fault: &TreeFault) -> Self {
        let inner = Self::new(key, fault.code, fault.detail.clone());
        Self { pointer: inner.pointer + &fault.pointer, ..inner }
    }
}

const KEYS: [&str; 11] = [
    "half_life_days",
    "lookback_days",
    "decay_unit_days",
    "slice_interval_seconds",
    "default_weight",
    "gap_policy",
    "max_gap_hours",
    "resource_weights",
    "decay",
    "division",
    "order",
];

impl Options {
    /// Reads options from the database: the slots that they name are known however many there are.
    pub fn parse_stored(stored: &Map<String, Value>) -> Result<Self, Vec<OptionError>> {
        for name in stored.get("resource_weights").and_then(Value::as_object).into_iter().flatten() {
            // What is no legal name, `parse` refuses.
            let _ = SlotName::stored(name.0);
        }
        Self::parse(stored)
    }

    /// Reads options. Every fault is named.
    pub fn parse(stored: &Map<String, Value>) -> Result<Self, Vec<OptionError>> {
        let mut options = Self::default();
        let mut errors = Vec::new();
        for (key, value) in stored {
            if key == "division" {
                match DivisionChoice::parse(value) {
                    Ok(division) => options.division = division,
                    Err(faults) => errors.extend(faults.iter().map(|fault| OptionError::inside(key, fault))),
                }
            } else if let Err(error) = options.set(key, value) {
                errors.push(error);
            }
        }
        if errors.is_empty() && options.decay_unit_days > options.lookback_days {
            errors.push(OptionError::new(
                "decay_unit_days",
                "out_of_range",
                "decay_unit_days must not exceed lookback_days",
            ));
        }
        if errors.is_empty() { Ok(options) } else { Err(errors) }
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), OptionError> {
        match key {
            "half_life_days" => self.half_life_days = integer(key, value, 1, 3650)?,
            "lookback_days" => self.lookback_days = integer(key, value, 1, 3650)?,
            "decay_unit_days" => self.decay_unit_days = integer(key, value, 1, MAX_DECAY_UNIT_DAYS)?,
            "slice_interval_seconds" => self.slice_interval_seconds = integer(key, value, 1, 86_400)?,
            "max_gap_hours" => self.max_gap_hours = integer(key, value, 0, 8_760)?,
            "default_weight" => {
                let text = match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                self.default_weight = Weight::parse(&text)
                    .map_err(|e| OptionError::new(key, "invalid_weight", format!("default_weight {e}")))?;
            }
            "gap_policy" => {
                self.gap_policy = value.as_str().and_then(GapPolicy::parse).ok_or_else(|| {
                    OptionError::new(
                        key,
                        "invalid_value",
                        format!("gap_policy is one of {}", GapPolicy::NAMES.join(", ")),
                    )
                })?;
            }
            "decay" => {
                self.decay = value.as_str().and_then(|t| t.parse().ok()).ok_or_else(|| {
                    OptionError::new(
                        key,
                        "invalid_value",
                        format!("decay is one of {}", Decay::names().collect::<Vec<_>>().join(", ")),
                    )
                })?;
            }
            "resource_weights" => {
                self.resource_weights = serde_json::from_value(value.clone()).map_err(|e| {
                    let code = SlotNameError::code_of(&e.to_string()).unwrap_or("invalid_value");
                    OptionError::new(key, code, format!("resource_weights maps slots to weights >= 0: {e}"))
                })?;
            }
            "order" => {
                self.order = value.as_str().and_then(Order::parse).ok_or_else(|| {
                    let names: Vec<_> = Order::ALL.iter().map(|(name, _)| *name).collect();
                    OptionError::new(key, "invalid_value", format!("order is one of {}", names.join(", ")))
                })?;
            }
            _ => {
                return Err(OptionError::new(
                    key,
                    "unknown_option",
                    format!("unknown option; known are {}", KEYS.join(", ")),
                ));
            }
        }
        Ok(())
    }

    /// All options in force, defaults included, in the order of the documentation.
    pub fn to_json(&self) -> Map<String, Value> {
        // The default is written as the documents print it.
        let default_weight =
            if self.default_weight == Weight::ONE { "1.0".to_owned() } else { self.default_weight.to_string() };
        let values: [Value; 11] = [
            self.half_life_days.into(),
            self.lookback_days.into(),
            self.decay_unit_days.into(),
            self.slice_interval_seconds.into(),
            default_weight.into(),
            self.gap_policy.as_str().into(),
            self.max_gap_hours.into(),
            serde_json::to_value(&self.resource_weights).unwrap_or_default(),
            self.decay.name().into(),
            self.division.to_json(),
            self.order.as_str().into(),
        ];
        KEYS.iter().map(|k| (*k).to_owned()).zip(values).collect()
    }

    /// Whether moving to `other` changes factors.
    pub fn changes_factors(&self, other: &Self) -> bool {
        self.half_life_days != other.half_life_days
            || self.lookback_days != other.lookback_days
            || self.decay != other.decay
            || self.resource_weights != other.resource_weights
            || self.default_weight != other.default_weight
            || self.decay_unit_days != other.decay_unit_days
    }
}

/// Merges a patch key by key; `null` removes a key. The result is checked as a whole.
pub fn merge_patch(
    stored: &Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<OptionError>> {
    let mut merged = stored.clone();
    let mut errors = Vec::new();
    for (key, value) in patch {
        if value.is_null() {
            if !KEYS.contains(&key.as_str()) {
                errors.push(OptionError::new(
                    key,
                    "unknown_option",
                    format!("unknown option; known are {}", KEYS.join(", ")),
                ));
            }
            merged.remove(key);
        } else {
            merged.insert(key.clone(), value.clone());
        }
    }
    if let Err(mut more) = Options::parse(&merged) {
        for error in &mut more {
            // decay_unit_days stands as it was: the fault is the shorter look-back.
            if error.pointer == "/decay_unit_days" && !patch.contains_key("decay_unit_days") {
                "/lookback_days".clone_into(&mut error.pointer);
            }
        }
        errors.extend(more);
    }
    if errors.is_empty() { Ok(merged) } else { Err(errors) }
}

fn integer(key: &str, value: &Value, min: u32, max: u32) -> Result<u32, OptionError> {
    value
        .as_u64()
        .and_then(|v| u32::try_from(v).ok())
        .filter(|v| (min..=max).contains(v))
        .ok_or_else(|| OptionError::new(key, "out_of_range", format!("{key} is a whole number from {min} to {max}")))
}
