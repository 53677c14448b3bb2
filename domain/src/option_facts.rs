//! Facts about options: for each key its values, default, unit and a sentence.
//!
//! The facts about an option stand once, beside the type that reads it. The check of a value takes its range from them, and
//! `GET /metadata` answers them, so that documents, pages and checks cannot differ.

use serde_json::Value;

use crate::choices::NamedChoice;
use crate::decimal::{AMOUNT_DECIMALS, Amount};
use crate::fault::Fault;
use crate::weight::{WEIGHT_DECIMALS, Weight};

/// The values that an option takes.
#[derive(Clone, Copy, Debug)]
pub enum OptionValues {
    /// A whole number in this range, its ends included.
    Whole { minimum: i64, maximum: i64 },
    /// An exact decimal from 0 to `maximum`.
    Decimal { maximum: Amount },
    /// A fair-share weight.
    Weight,
    /// True or false.
    Flag,
    /// A text without further structure.
    Text,
    /// A time.
    Time,
    /// One name.
    Choice(fn() -> Vec<NamedChoice>),
    /// A list of names.
    Choices(fn() -> Vec<NamedChoice>),
    /// Lists of plug-ins of reclaims; the plug-ins of the first list decide first.
    Tiers,
    /// Exact decimals by slot.
    Amounts,
    /// Names of slots.
    Slots,
    /// An object of further options.
    Object(fn() -> Vec<OptionFacts>),
}

impl OptionValues {
    /// The smallest legal number; `None` if the values are no numbers.
    pub fn minimum(&self) -> Option<String> {
        match self {
            Self::Whole { minimum, .. } => Some(minimum.to_string()),
            Self::Decimal { .. } => Some(Amount::ZERO.to_string()),
            Self::Weight => Some(Weight::MIN.to_string()),
            _ => None,
        }
    }

    /// The largest legal number; `None` if the values are no numbers.
    pub fn maximum(&self) -> Option<String> {
        match self {
            Self::Whole { maximum, .. } => Some(maximum.to_string()),
            Self::Decimal { maximum } => Some(maximum.to_string()),
            Self::Weight => Some(Weight::MAX.to_string()),
            _ => None,
        }
    }

    /// The largest number of decimals of a legal number; `None` if the values are no numbers.
    pub fn decimals(&self) -> Option<u32> {
        match self {
            Self::Whole { .. } => Some(0),
            Self::Decimal { .. } => Some(AMOUNT_DECIMALS),
            Self::Weight => Some(WEIGHT_DECIMALS),
            _ => None,
        }
    }

    /// The names to choose from; empty if the values are no such names.
    pub fn choices(&self) -> Vec<NamedChoice> {
        match self {
            Self::Choice(of) | Self::Choices(of) => of(),
            _ => Vec::new(),
        }
    }

    /// The options inside the option.
    pub fn options(&self) -> Vec<OptionFacts> {
        match self {
            Self::Object(of) => of(),
            _ => Vec::new(),
        }
    }

    /// The name of the kind of values in answers.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Whole { .. } => "integer",
            Self::Decimal { .. } | Self::Weight => "decimal",
            Self::Flag => "boolean",
            Self::Text => "text",
            Self::Time => "time",
            Self::Choice(_) => "choice",
            Self::Choices(_) => "choices",
            Self::Tiers => "tiers",
            Self::Amounts => "amounts",
            Self::Slots => "slots",
            Self::Object(_) => "object",
        }
    }
}

/// The facts about one option besides its default, which the type that reads it has.
#[derive(Clone, Copy, Debug)]
pub struct OptionFacts {
    pub key: &'static str,
    /// The name for people, such as `Half-life`.
    pub title: &'static str,
    pub values: OptionValues,
    pub unit: Option<&'static str>,
    /// The meaning of an absent value, in a word or two, where the option has no default.
    pub unset: Option<&'static str>,
    /// One sentence or two.
    pub summary: &'static str,
}

impl OptionFacts {
    pub const fn new(key: &'static str, title: &'static str, values: OptionValues, summary: &'static str) -> Self {
        Self { key, title, values, unit: None, unset: None, summary }
    }

    #[must_use]
    pub const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit: Some(unit), ..self }
    }

    #[must_use]
    pub const fn unset(self, unset: &'static str) -> Self {
        Self { unset: Some(unset), ..self }
    }

    /// The fault of a value that was read already and is out of the range. Pointer and sentence have the key below
    /// `parent`.
    fn out_of_range(&self, parent: &str, value: &Value) -> Option<Fault> {
        let key = format!("{parent}{}", self.key);
        let above = |maximum: &dyn std::fmt::Display| {
            Some(Fault::new(format!("/{key}"), "out_of_range", format!("`{key}` must be at most {maximum}")))
        };
        match &self.values {
            OptionValues::Whole { maximum, .. } if value.as_u64()? > maximum.unsigned_abs() => above(maximum),
            OptionValues::Decimal { maximum } if value.as_str()?.parse::<Amount>().ok()? > *maximum => above(maximum),
            OptionValues::Object(options) => {
                options().iter().find_map(|option| option.out_of_range(&format!("{key}/"), value.get(option.key)?))
            }
            _ => None,
        }
    }
}

/// The first fault of an object that these facts describe, in its written form.
pub fn range_fault(facts: &[OptionFacts], object: &Value) -> Option<Fault> {
    facts.iter().find_map(|option| option.out_of_range("", object.get(option.key)?))
}
