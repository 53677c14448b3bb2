//! Optional fields that cannot be read. The job is taken without them, and the summary counts them by name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::reason::DropReason;
use super::utf8::NOT_UTF8;

/// The largest number of fields that one row notes; a long line may have any number of entries.
const MAX_FIELDS_OF_ROW: usize = 64;
/// The largest number of field names in one summary.
const MAX_FIELDS_OF_SUMMARY: usize = 200;
/// The name for the fields beyond that number.
const OTHER_FIELDS: &str = "other fields";
/// The name of a field in a line without field names.
pub(super) const NOT_UTF8_FIELD: &str = "text that is not UTF-8";
const EXAMPLE_MAX_CHARS: usize = 40;

/// A field of one row that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SkippedField {
    name: Cow<'static, str>,
    value: String,
    /// The reason why an amount could not be read; `None` for a field without an amount.
    amount_fault: Option<DropReason>,
    cause: SkipCause,
}

/// The reason why a field is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkipCause {
    #[default]
    Unreadable,
    /// The field is an end that lies before the start.
    BeforeStart,
}

impl SkipCause {
    /// The predicate of a sentence about the value.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Unreadable => "cannot be read",
            Self::BeforeStart => "lies before the start",
        }
    }
}

/// The fields of one row that are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkippedFields(Vec<SkippedField>);

impl SkippedFields {
    /// Notes a field with its value.
    pub(super) fn add(&mut self, name: impl Into<Cow<'static, str>>, value: &str) {
        self.push(name.into(), value, None, SkipCause::Unreadable);
    }

    /// Notes an end that lies before the start.
    pub(super) fn add_end_before_start(&mut self, name: &'static str, value: &str) {
        self.push(name.into(), value, None, SkipCause::BeforeStart);
    }

    /// Notes a field that contains an amount.
    pub(super) fn add_amount(&mut self, name: impl Into<Cow<'static, str>>, value: &str, fault: DropReason) {
        self.push(name.into(), value, Some(fault), SkipCause::Unreadable);
    }

    fn push(&mut self, name: Cow<'static, str>, value: &str, amount_fault: Option<DropReason>, cause: SkipCause) {
        if self.0.len() < MAX_FIELDS_OF_ROW && !self.0.iter().any(|field| field.name == name) {
            self.0.push(SkippedField { name, value: example(value), amount_fault, cause });
        }
    }

    /// The value of a field with the text `text`; `None` if it cannot be read.
    pub(super) fn read<T>(
        &mut self,
        name: &'static str,
        text: &str,
        value: Result<Option<T>, DropReason>,
    ) -> Option<T> {
        value.unwrap_or_else(|_| {
            self.add(name, text);
            None
        })
    }

    /// The value of a field that contains an amount.
    pub(super) fn read_amount<T>(
        &mut self,
        name: &'static str,
        text: &str,
        value: Result<Option<T>, DropReason>,
    ) -> Option<T> {
        value.unwrap_or_else(|fault| {
            self.add_amount(name, text, fault);
            None
        })
    }

    /// The reason why the first amount that is left out could not be read.
    pub(super) fn amount_fault(&self) -> Option<DropReason> {
        self.0.iter().find_map(|field| field.amount_fault)
    }

    /// True if a field with this value is noted.
    pub(super) fn has_value(&self, value: &str) -> bool {
        let shown = example(value);
        self.0.iter().any(|field| field.value == shown)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The beginning of a value, as it is shown.
fn example(value: &str) -> String {
    let shown = value.chars().map(|c| if c == NOT_UTF8 { char::REPLACEMENT_CHARACTER } else { c });
    shown.take(EXAMPLE_MAX_CHARS).collect()
}

/// The rows from which one field was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedTally {
    pub rows: u64,
    pub first_line: u64,
    /// The beginning of the field's value in the first row.
    pub example: String,
    /// The reason why the field of the first row is left out.
    pub cause: SkipCause,
}

/// The fields that were left out of the rows of a file, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkippedTallies(BTreeMap<Cow<'static, str>, SkippedTally>);

impl SkippedTallies {
    pub(super) fn add(&mut self, fields: &SkippedFields, line: u64) {
        for SkippedField { name, value, cause, .. } in &fields.0 {
            let is_known = self.0.contains_key(name) || self.0.len() < MAX_FIELDS_OF_SUMMARY;
            let name = if is_known { name.clone() } else { OTHER_FIELDS.into() };
            let tally = self.0.entry(name).or_insert_with(|| SkippedTally {
                rows: 0,
                first_line: line,
                example: value.clone(),
                cause: *cause,
            });
            tally.rows += 1;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &SkippedTally)> {
        self.0.iter().map(|(name, tally)| (name.as_ref(), tally))
    }

    pub fn get(&self, name: &str) -> Option<&SkippedTally> {
        self.0.get(name)
    }
}
