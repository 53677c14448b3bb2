//! `scheduler_opts` of a resource group (FAIR_SHARE §8): defaults, ranges, merging.

mod division;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::decay::Decay;
use super::fault::{Fault, escaped};
use super::reading::{Misread, read_from};
use super::slice::GapPolicy;
use super::slots::{Amounts, SlotName};
use super::time::Day;
use super::weight::Weight;

pub use division::DivisionChoice;

/// The longest expected runtime that a charge counts for a kernel, in seconds.
pub const MOST_EXPECTED_SECONDS: u32 = 86_400;
/// The longest bucket that options allow, in days.
pub const MAX_DECAY_UNIT_DAYS: u32 = 365;

/// The options in force: the stored options, completed by the defaults.
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
    /// Weights of slots, 0 or more. If empty, every slot with capacity has the weight 1.
    pub resource_weights: Amounts,
    pub decay: Decay,
    /// The division of capacity over queues, and the planning of reclaims.
    pub division: DivisionChoice,
    /// The tiers that the `fairshare` sequencer compares.
    pub order: Order,
    /// The time without a report after which a running kernel counts as ended, 60..=31536000 seconds; `None` for never.
    pub kernel_timeout_seconds: Option<u32>,
    /// The mode of a sequence whose request names none.
    pub sequence_mode: SequenceMode,
    /// The expected runtime of kernels while no kernel has ended, 1..=86400 seconds; `None` for
    /// `slice_interval_seconds`.
    pub expected_seconds: Option<u32>,
}

/// The way in which a workload that is placed in a sequence counts before the next one is chosen (FAIR_SHARE §10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SequenceMode {
    /// All workloads are compared once.
    #[default]
    Plain,
    /// Running kernels and workloads that are already placed in this sequence count as used.
    Progressive,
}

impl FromStr for SequenceMode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, mode)| mode).ok_or(())
    }
}

impl SequenceMode {
    const ALL: [(&'static str, Self); 2] = [("plain", Self::Plain), ("progressive", Self::Progressive)];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Progressive => "progressive",
        }
    }
}

/// `fairshare` compares users across the group (`Flat`), or domains, then projects, then users (`Tiered`)
/// (FAIR_SHARE §9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Flat,
    Tiered,
}

impl Order {
    const ALL: [(&'static str, Self); 2] = [("flat", Self::Flat), ("tiered", Self::Tiered)];

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
            kernel_timeout_seconds: None,
            sequence_mode: SequenceMode::default(),
            expected_seconds: None,
        }
    }
}

/// A fault of the value of `key`.
fn about(key: &str, code: &'static str, said: impl fmt::Display) -> Fault {
    Fault::new(format!("/{}", escaped(key)), code, format!("`{key}` {said}"))
}

fn unknown(key: &str) -> Fault {
    about(key, "unknown_option", format!("is not known here; known are {}", KEYS.join(", ")))
}

const KEYS: [&str; 14] = [
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
    "kernel_timeout_seconds",
    "sequence_mode",
    "expected_seconds",
];

impl Options {
    /// The first day of the look-back window. Buckets of earlier days do not count.
    pub fn window_start(&self, today: Day) -> Day {
        today.plus(-self.lookback_days.cast_signed()).plus(1)
    }

    /// Reads options from the database. The slots that they name are registered without a limit on their number.
    pub fn parse_stored(stored: &Map<String, Value>) -> Result<Self, Vec<Fault>> {
        for name in stored.get("resource_weights").and_then(Value::as_object).into_iter().flatten() {
            // `parse` refuses names that are not legal.
            let _ = SlotName::stored(name.0);
        }
        Self::parse(stored)
    }

    /// Reads options. Returns all faults.
    pub fn parse(stored: &Map<String, Value>) -> Result<Self, Vec<Fault>> {
        let mut options = Self::default();
        let mut errors = Vec::new();
        for (key, value) in stored {
            if key == "division" {
                match DivisionChoice::parse(value) {
                    Ok(division) => options.division = division,
                    Err(faults) => errors.extend(faults.into_iter().map(|fault| fault.below("/division"))),
                }
            } else if let Err(error) = options.set(key, value) {
                errors.push(error);
            }
        }
        if errors.is_empty() && options.decay_unit_days > options.lookback_days {
            errors.push(about("decay_unit_days", "out_of_range", "must not exceed `lookback_days`"));
        }
        if errors.is_empty() { Ok(options) } else { Err(errors) }
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), Fault> {
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
                self.default_weight = Weight::parse(&text).map_err(|e| about(key, "invalid_weight", e))?;
            }
            "gap_policy" => {
                self.gap_policy =
                    value.as_str().and_then(GapPolicy::parse).ok_or_else(|| none_of(key, GapPolicy::NAMES))?;
            }
            "decay" => {
                self.decay = value.as_str().and_then(|t| t.parse().ok()).ok_or_else(|| none_of(key, Decay::names()))?;
            }
            "resource_weights" => {
                self.resource_weights = read_from(value.clone(), "invalid_value")
                    .map_err(|misread: Misread| misread.below(key).option_fault())?;
            }
            "order" => self.order = named(key, value, Order::ALL)?,
            "kernel_timeout_seconds" if value.is_null() => self.kernel_timeout_seconds = None,
            "kernel_timeout_seconds" => {
                self.kernel_timeout_seconds = Some(integer(key, value, 60, 31_536_000)?);
            }
            "sequence_mode" => self.sequence_mode = named(key, value, SequenceMode::ALL)?,
            "expected_seconds" if value.is_null() => self.expected_seconds = None,
            "expected_seconds" => self.expected_seconds = Some(integer(key, value, 1, MOST_EXPECTED_SECONDS)?),
            _ => return Err(unknown(key)),
        }
        Ok(())
    }

    /// All options in force, defaults included, in the order of the documentation. Options that are off are left out.
    pub fn to_json(&self) -> Map<String, Value> {
        // The default is written as the documentation prints it.
        let default_weight =
            if self.default_weight == Weight::ONE { "1.0".to_owned() } else { self.default_weight.to_string() };
        let values: [Value; 14] = [
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
            self.kernel_timeout_seconds.into(),
            self.sequence_mode.as_str().into(),
            self.expected_seconds.into(),
        ];
        KEYS.iter().map(|k| (*k).to_owned()).zip(values).filter(|(_, value)| !value.is_null()).collect()
    }

    /// True if a change to `other` changes factors.
    pub fn changes_factors(&self, other: &Self) -> bool {
        self.half_life_days != other.half_life_days
            || self.lookback_days != other.lookback_days
            || self.decay != other.decay
            || self.resource_weights != other.resource_weights
            || self.default_weight != other.default_weight
            || self.decay_unit_days != other.decay_unit_days
    }

    /// True if a change to `other` changes the normalised usage of buckets before decay, or the set of buckets that
    /// count.
    pub fn changes_normalized_days(&self, other: &Self) -> bool {
        self.lookback_days != other.lookback_days || self.resource_weights != other.resource_weights
    }
}

/// Merges a patch by RFC 7396: objects key by key at every depth, other values as a whole; `null` removes a key. The
/// result is checked as a whole.
pub fn merge_patch(stored: &Map<String, Value>, patch: &Map<String, Value>) -> Result<Map<String, Value>, Vec<Fault>> {
    let mut errors = Vec::new();
    check_removals(patch, &known_keys(), "", &mut errors);
    let mut merged = stored.clone();
    merge(&mut merged, patch);
    if let Err(mut more) = Options::parse(&merged) {
        for error in &mut more {
            // The patch does not change `decay_unit_days`, so the fault is the shorter look-back.
            if error.pointer == "/decay_unit_days" && !patch.contains_key("decay_unit_days") {
                *error = about("lookback_days", error.code, "must not be below `decay_unit_days`");
            }
        }
        errors.extend(more);
    }
    drop_empty(&mut merged);
    if errors.is_empty() { Ok(merged) } else { Err(errors) }
}

fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.remove(key);
            }
            Value::Object(inner) => {
                let place = target.entry(key).or_insert_with(|| Value::Object(Map::new()));
                if !place.is_object() {
                    *place = Value::Object(Map::new());
                }
                if let Value::Object(below) = place {
                    merge(below, inner);
                }
            }
            other => {
                target.insert(key.clone(), other.clone());
            }
        }
    }
}

/// Every key that options can have, at every depth.
fn known_keys() -> Value {
    let mut known = Options::default().to_json();
    known.insert("division".to_owned(), DivisionChoice::keys());
    known.insert("kernel_timeout_seconds".to_owned(), Value::Null);
    Value::Object(known)
}

/// Refuses to remove keys that do not exist, because they are probably misspelt.
fn check_removals(patch: &Map<String, Value>, known: &Value, at: &str, errors: &mut Vec<Fault>) {
    for (key, value) in patch {
        match (value, known.get(key)) {
            (Value::Null, None) => {
                errors.push(unknown(key).below(at));
            }
            // Any slot may have a weight.
            (Value::Object(_), _) if at.is_empty() && key == "resource_weights" => {}
            (Value::Object(inner), Some(known)) => {
                check_removals(inner, known, &format!("{at}/{}", escaped(key)), errors);
            }
            _ => {}
        }
    }
}

/// Removes empty objects, which mean the same as absent ones.
fn drop_empty(options: &mut Map<String, Value>) {
    options.retain(|_, value| match value {
        Value::Object(inner) => {
            drop_empty(inner);
            !inner.is_empty()
        }
        _ => true,
    });
}

fn integer(key: &str, value: &Value, min: u32, max: u32) -> Result<u32, Fault> {
    value
        .as_u64()
        .and_then(|v| u32::try_from(v).ok())
        .filter(|v| (min..=max).contains(v))
        .ok_or_else(|| about(key, "out_of_range", format!("is not a whole number from {min} to {max}")))
}

/// Looks up a value by its name.
fn named<T, const N: usize>(key: &str, value: &Value, all: [(&'static str, T); N]) -> Result<T, Fault> {
    let names = all.each_ref().map(|(name, _)| *name);
    let chosen = all.into_iter().find(|(name, _)| value == name);
    chosen.map(|(_, chosen)| chosen).ok_or_else(|| none_of(key, names))
}

fn none_of(key: &str, names: impl IntoIterator<Item = &'static str>) -> Fault {
    let names: Vec<_> = names.into_iter().collect();
    about(key, "invalid_value", format!("is not one of {}", names.join(", ")))
}
