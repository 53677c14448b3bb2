//! The table of the options of a resource group: the only list of their keys, ranges, units and sentences. A new option is a field
//! of [`FairShareOptions`] with its default, and a row here. Requests are read, answers are written, and `GET /metadata` is answered from
//! the table.

use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

use super::{
    DivisionChoice, FairShareOptions, FairshareOrder, MAX_DECAY_UNIT_DAYS, MAX_EXPECTED_SECONDS, SequenceMode,
};
use crate::choices::NamedChoice;
use crate::cycle::CycleOptions;
use crate::decay::RegisteredDecay;
use crate::fault::{Fault, escape_key};
use crate::option_facts::{OptionFacts, OptionValues};
use crate::reading::{DecodeError, read_from};
use crate::slice::GapPolicy;
use crate::slots::SlotAmounts;
use crate::weight::Weight;

const USAGE: &str = "What counts as used";
const STARTS: &str = "Order of starts";
const RECORDING: &str = "How usage is recorded";
const QUEUES: &str = "How capacity is divided over queues";
const CYCLES: &str = "What a scheduling cycle starts";

/// A row of the table.
pub struct GroupOption {
    pub facts: OptionFacts,
    /// The title of the options with which pages show this one.
    pub section: &'static str,
    set: fn(&mut FairShareOptions, &OptionFacts, &Value) -> Result<(), Vec<Fault>>,
    get: fn(&FairShareOptions) -> Value,
}

/// A row whose key is the name of its field. `$read` reads a value, and `$write` writes it.
macro_rules! option {
    ($section:ident, $field:ident, $title:literal, $values:expr, $summary:literal, [$($more:tt)*], $read:expr, $write:expr) => {
        GroupOption {
            section: $section,
            facts: OptionFacts::new(stringify!($field), $title, $values, $summary)$($more)*,
            set: |options, facts, value| {
                options.$field = $read(facts, value)?;
                Ok(())
            },
            get: |options| $write(&options.$field),
        }
    };
}

/// Whole numbers in a range, its ends included.
const fn whole(minimum: u32, maximum: u32) -> OptionValues {
    OptionValues::Whole { minimum: minimum as i64, maximum: maximum as i64 }
}

#[rustfmt::skip]
static TABLE: [GroupOption; 15] = [
    option!(
        USAGE, half_life_days, "Half-life", whole(1, 3650),
        "After this time usage counts half: a short one forgives quickly, a long one remembers heavy users.",
        [.in_unit("days")], integer, as_json
    ),
    option!(
        USAGE, lookback_days, "Look-back", whole(1, 3650), "Older usage does not count at all.",
        [.in_unit("days")], integer, as_json
    ),
    option!(
        USAGE, decay, "Decay", OptionValues::Choice(RegisteredDecay::choices),
        "How usage loses its weight within the look-back.",
        [], named, |decay: &RegisteredDecay| decay.name().into()
    ),
    option!(
        USAGE, decay_unit_days, "Bucket length", whole(1, MAX_DECAY_UNIT_DAYS),
        "Usage of this number of days is kept and decayed together; at most the look-back.",
        [.in_unit("days")], integer, as_json
    ),
    option!(
        USAGE, resource_weights, "Weights of slots", OptionValues::Amounts,
        "How much usage of each slot counts. Without any weight every slot counts 1; with some, a slot without one does not count.",
        [], amounts, as_json
    ),
    option!(
        STARTS, default_weight, "Default weight", OptionValues::Weight,
        "The weight of all domains, projects and users that have none of their own.",
        [], weight, |weight: &Weight| written_weight(*weight)
    ),
    option!(
        STARTS, order, "Order of users", OptionValues::Choice(FairshareOrder::choices),
        "Whether users compete across the group, or inside their project and domain. With `flat`, a domain of many users receives more \
         than its weight says; `tiered` keeps to the weights of domains.",
        [], named, as_json
    ),
    option!(
        STARTS, sequence_mode, "Sequences", OptionValues::Choice(SequenceMode::choices),
        "Whether a workload that is placed in a sequence counts before the next one is chosen, so that short jobs share fairly, too.",
        [], named, as_json
    ),
    option!(
        STARTS, expected_seconds, "Expected run time", whole(1, MAX_EXPECTED_SECONDS),
        "How long a kernel is taken to run while no kernel has ended yet.",
        [.in_unit("seconds").unset("as the slice interval")], maybe_integer, as_json
    ),
    option!(
        RECORDING, slice_interval_seconds, "Slice interval", whole(1, 86_400),
        "How often usage is recorded and factors are calculated.",
        [.in_unit("seconds")], integer, as_json
    ),
    option!(
        RECORDING, gap_policy, "Gaps", OptionValues::Choice(GapPolicy::choices),
        "What fills the time in which this service was down.",
        [], named, as_json
    ),
    option!(
        RECORDING, max_gap_hours, "Longest gap", whole(0, 8_760), "A longer gap is filled up to this length only.",
        [.in_unit("hours")], integer, as_json
    ),
    option!(
        RECORDING, kernel_timeout_seconds, "Kernel time-out", whole(60, 31_536_000),
        "A running kernel without a report within this time counts as ended at its last report.",
        [.in_unit("seconds").unset("off")], maybe_integer, as_json
    ),
    option!(
        QUEUES, division, "Division", OptionValues::Object(DivisionChoice::facts),
        "The algorithm that divides the capacity, and the options of the division and of plans of reclaims.",
        [], division, DivisionChoice::to_json
    ),
    option!(
        CYCLES, cycle, "Cycle", OptionValues::Object(CycleOptions::facts),
        "What a scheduling cycle may do, and in which order.",
        [], cycle, CycleOptions::to_json
    ),
];

/// All options of a group, section by section.
pub fn group_options() -> &'static [GroupOption] {
    &TABLE
}

impl GroupOption {
    pub(super) fn of(key: &str) -> Option<&'static Self> {
        TABLE.iter().find(|option| option.facts.key == key)
    }

    /// Sets the option. The faults are relative to all options.
    pub(super) fn set(&self, options: &mut FairShareOptions, value: &Value) -> Result<(), Vec<Fault>> {
        (self.set)(options, &self.facts, value)
    }

    /// The value of the option; null if it is off.
    pub fn get(&self, options: &FairShareOptions) -> Value {
        (self.get)(options)
    }
}

/// A fault of the value of `key`.
pub(super) fn about(key: &str, code: &'static str, said: impl std::fmt::Display) -> Fault {
    Fault::new(format!("/{}", escape_key(key)), code, format!("`{key}` {said}"))
}

fn integer(facts: &OptionFacts, value: &Value) -> Result<u32, Vec<Fault>> {
    let OptionValues::Whole { minimum, maximum } = facts.values else {
        unreachable!("{} is a whole number", facts.key)
    };
    let in_range = value.as_i64().filter(|number| (minimum..=maximum).contains(number));
    in_range.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
        vec![about(facts.key, "out_of_range", format!("is not a whole number from {minimum} to {maximum}"))]
    })
}

fn maybe_integer(facts: &OptionFacts, value: &Value) -> Result<Option<u32>, Vec<Fault>> {
    if value.is_null() { Ok(None) } else { integer(facts, value).map(Some) }
}

fn weight(facts: &OptionFacts, value: &Value) -> Result<Weight, Vec<Fault>> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Weight::parse(&text).map_err(|error| vec![about(facts.key, "invalid_weight", error)])
}

/// Reads one of the names that the option lists.
fn named<T: FromStr>(facts: &OptionFacts, value: &Value) -> Result<T, Vec<Fault>> {
    value.as_str().and_then(|name| name.parse().ok()).ok_or_else(|| {
        let names: Vec<&str> = facts.values.choices().iter().map(|NamedChoice { name, .. }| *name).collect();
        vec![about(facts.key, "invalid_value", format!("is not one of {}", names.join(", ")))]
    })
}

fn amounts(facts: &OptionFacts, value: &Value) -> Result<SlotAmounts, Vec<Fault>> {
    let fault = |misread: DecodeError| vec![misread.below(facts.key).option_fault()];
    read_from(value.clone(), "invalid_value").map_err(fault)
}

fn division(facts: &OptionFacts, value: &Value) -> Result<DivisionChoice, Vec<Fault>> {
    let pointer = format!("/{}", facts.key);
    DivisionChoice::parse(value).map_err(|faults| faults.into_iter().map(|fault| fault.below(&pointer)).collect())
}

fn cycle(facts: &OptionFacts, value: &Value) -> Result<CycleOptions, Vec<Fault>> {
    let pointer = format!("/{}", facts.key);
    CycleOptions::parse(value).map_err(|faults| faults.into_iter().map(|fault| fault.below(&pointer)).collect())
}

fn as_json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// The weight as the documentation prints it.
fn written_weight(weight: Weight) -> Value {
    if weight == Weight::ONE { "1.0".into() } else { weight.to_string().into() }
}
