//! The scalars. An invalid value is refused with a code of its own.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

use crate::domain::reading::read_from;
use crate::domain::time::{Day, Timestamp};
use crate::domain::weight::DecimalText;
use crate::service::input::json::read_any;

fn fault<T: async_graphql::InputType>(code: &str, detail: &str) -> InputValueError<T> {
    InputValueError::custom(detail).with_extension("code", code)
}

/// A UUID as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uuid(pub uuid::Uuid);

/// A UUID as text, like `550e8400-e29b-41d4-a716-446655440000`.
#[Scalar(name = "UUID", specified_by_url = "https://www.rfc-editor.org/rfc/rfc9562")]
impl ScalarType for Uuid {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(fault("invalid_uuid", "the value is not a UUID")) };
        text.parse().map(Self).map_err(|_| fault("invalid_uuid", "the value is not a UUID"))
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

/// A day in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date(pub Day);

/// A day in UTC, like `2026-01-13`.
#[Scalar(name = "Date")]
impl ScalarType for Date {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(fault("invalid_date", "the value is not a text")) };
        text.parse().map(Self).map_err(|e| fault("invalid_date", &format!("the value {e}")))
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

/// A moment in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime(pub Timestamp);

/// A moment in UTC, like `2026-01-13T10:05:00Z`.
#[Scalar(name = "DateTime")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(fault("invalid_time", "the value is not a text")) };
        text.parse().map(Self).map_err(|e| fault("invalid_time", &format!("the value {e}")))
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

/// An exact decimal as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal(pub String);

/// An exact decimal number. Accepted as text, or as a number, which is rounded to 12 places; answered as text.
#[Scalar(name = "Decimal")]
impl ScalarType for Decimal {
    fn parse(value: Value) -> InputValueResult<Self> {
        let json = match value {
            Value::String(text) => text.into(),
            Value::Number(number) => serde_json::Value::Number(number),
            _ => return Err(fault("invalid_decimal", "the value is not a decimal number")),
        };
        match read_from::<DecimalText, _>(json, "invalid_decimal") {
            Ok(DecimalText(text)) => Ok(Self(text)),
            Err(misread) => Err(fault("invalid_decimal", &misread.sentence("the value"))),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.clone())
    }
}

/// JSON inside a text.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonString(pub serde_json::Value);

impl JsonString {
    /// `value` as JSON. It must be of a type that always serialises, such as a map of slots.
    pub fn of(value: &impl serde::Serialize) -> Self {
        Self(serde_json::to_value(value).unwrap_or_default())
    }
}

/// JSON as text, like `{"cpu":"86400"}`. Accepted as text or as an object. Numbers are read from their digits, but those of an object
/// that stands in the query itself are floats.
#[Scalar(name = "JSONString")]
impl ScalarType for JsonString {
    fn parse(value: Value) -> InputValueResult<Self> {
        match value {
            Value::String(text) => read_any(&text).map_err(|refused| fault(refused.code, &refused.detail)),
            other => other.into_json().map_err(|_| fault("invalid_json", "the value is not JSON")),
        }
        .map(Self)
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}
