//! `scheduler_opts` of a resource group (FAIR_SHARE §8): defaults, ranges, merging.

mod division;
mod table;

use serde_json::{Map, Value};

use super::choices::choices;
use super::cycle::CycleOptions;
use super::decay::RegisteredDecay;
use super::fault::{Fault, escape_key};
use super::slice::GapPolicy;
use super::slots::{SlotAmounts, SlotName};
use super::time::Day;
use super::weight::Weight;

pub use division::DivisionChoice;
use table::about;
pub use table::{GroupOption, group_options};

/// The longest expected runtime that a charge counts for a kernel, in seconds.
pub const MAX_EXPECTED_SECONDS: u32 = 86_400;
/// The longest bucket that options allow, in days.
pub const MAX_DECAY_UNIT_DAYS: u32 = 365;

/// The options in force: the stored options, completed by the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FairShareOptions {
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
    pub resource_weights: SlotAmounts,
    pub decay: RegisteredDecay,
    /// The division of capacity over queues, and the planning of reclaims.
    pub division: DivisionChoice,
    /// The tiers that the `fairshare` sequencer compares.
    pub order: FairshareOrder,
    /// The time without a report after which a running kernel counts as ended, 60..=31536000 seconds; `None` for never.
    pub kernel_timeout_seconds: Option<u32>,
    /// The mode of a sequence whose request names none.
    pub sequence_mode: SequenceMode,
    /// The expected runtime of kernels while no kernel has ended, 1..=86400 seconds; `None` for
    /// `slice_interval_seconds`.
    pub expected_seconds: Option<u32>,
    /// The options of scheduling cycles.
    pub cycle: CycleOptions,
}

choices! {
    /// The way in which a workload that is placed in a sequence counts before the next one is chosen (FAIR_SHARE §10).
    #[derive(Default)]
    pub enum SequenceMode {
        #[default]
        Plain = "plain", "All workloads are compared once, by recorded usage.";
        Progressive = "progressive", "What runs, and what is placed in this very sequence, counts as used.";
    }
}

choices! {
    /// `fairshare` compares users across the group (`Flat`), or domains, then projects, then users (`Tiered`)
    /// (FAIR_SHARE §9).
    #[derive(Default)]
    pub enum FairshareOrder {
        #[default]
        Flat = "flat", "All users of the group are compared at once.";
        Tiered = "tiered", "Domains are compared first, then projects, then users.";
    }
}

impl Default for FairShareOptions {
    fn default() -> Self {
        Self {
            half_life_days: 7,
            lookback_days: 28,
            decay_unit_days: 1,
            slice_interval_seconds: 300,
            default_weight: Weight::ONE,
            gap_policy: GapPolicy::Interpolate,
            max_gap_hours: 24,
            resource_weights: SlotAmounts::default(),
            decay: RegisteredDecay::default(),
            division: DivisionChoice::default(),
            order: FairshareOrder::default(),
            kernel_timeout_seconds: None,
            sequence_mode: SequenceMode::default(),
            expected_seconds: None,
            cycle: CycleOptions::default(),
        }
    }
}

fn unknown_key(key: &str) -> Fault {
    let known: Vec<&str> = group_options().iter().map(|option| option.facts.key).collect();
    about(key, "unknown_option", format!("is not known here; known are {}", known.join(", ")))
}

impl FairShareOptions {
    /// The first day of the look-back window. Buckets of earlier days do not count.
    pub fn window_start(&self, today: Day) -> Day {
        today.plus(-self.lookback_days.cast_signed()).plus(1)
    }

    /// The decay weight of usage by its age: one for each day of the look-back, that of today first.
    pub fn decay_weights(&self) -> Vec<f64> {
        (0..self.lookback_days).map(|age_days| self.decay.weight(age_days, self.half_life_days)).collect()
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
            match GroupOption::of(key) {
                Some(option) => errors.extend(option.set(&mut options, value).err().into_iter().flatten()),
                None => errors.push(unknown_key(key)),
            }
        }
        if errors.is_empty() && options.decay_unit_days > options.lookback_days {
            errors.push(about("decay_unit_days", "out_of_range", "must not exceed `lookback_days`"));
        }
        if errors.is_empty() { Ok(options) } else { Err(errors) }
    }

    /// All options in force, defaults included. Options that are off are left out.
    pub fn to_json(&self) -> Map<String, Value> {
        let values = group_options().iter().map(|option| (option.facts.key.to_owned(), option.get(self)));
        values.filter(|(_, value)| !value.is_null()).collect()
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
    if let Err(mut more) = FairShareOptions::parse(&merged) {
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
    let defaults = FairShareOptions::default();
    let known = group_options().iter().map(|option| (option.facts.key.to_owned(), option.get(&defaults)));
    let mut known: Map<String, Value> = known.collect();
    known.insert("division".to_owned(), DivisionChoice::keys());
    known.insert("cycle".to_owned(), CycleOptions::keys());
    Value::Object(known)
}

/// Refuses to remove keys that do not exist, because they are probably misspelt.
fn check_removals(patch: &Map<String, Value>, known: &Value, at: &str, errors: &mut Vec<Fault>) {
    for (key, value) in patch {
        match (value, known.get(key)) {
            (Value::Null, None) => {
                errors.push(unknown_key(key).below(at));
            }
            // Any slot may have a weight.
            (Value::Object(_), _) if at.is_empty() && key == "resource_weights" => {}
            (Value::Object(inner), Some(known)) => {
                check_removals(inner, known, &format!("{at}/{}", escape_key(key)), errors);
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
