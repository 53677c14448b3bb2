//! Scalars. A value that cannot be read is refused with a code of its own.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

use crate::domain::time::{Day, Timestamp};
use crate::domain::weight::deserialize_nullable_text;

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
        let Value::String(text) = &value else { return Err(fault("invalid_uuid", "a UUID is a text")) };
        text.parse().map(Self).map_err(|_| fault("invalid_uuid", "not a UUID"))
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
        let Value::String(text) = &value else { return Err(fault("invalid_date", "a date is a text")) };
        text.parse().map(Self).map_err(|e| fault("invalid_date", &format!("it {e}")))
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
        let Value::String(text) = &value else { return Err(fault("invalid_time", "a time is a text")) };
        text.parse().map(Self).map_err(|e| fault("invalid_time", &format!("it {e}")))
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

/// An exact decimal as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal(pub String);

/// An exact decimal number. Accepted as text or as a number of at most 15 digits, answered as text.
#[Scalar(name = "Decimal")]
impl ScalarType for Decimal {
    fn parse(value: Value) -> InputValueResult<Self> {
        let json = match value {
            Value::String(text) => text.into(),
            Value::Number(number) => serde_json::Value::Number(number),
            _ => return Err(fault("invalid_decimal", "a decimal is a text or a number")),
        };
        match deserialize_nullable_text(json) {
            Ok(Some(text)) => Ok(Self(text)),
            Ok(None) => Err(fault("invalid_decimal", "a decimal is a text or a number")),
            Err(error) => Err(fault("invalid_decimal", &error.to_string())),
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
    /// Anything that serialises without fail, like a map of slots.
    pub fn of(value: &impl serde::Serialize) -> Self {
        Self(serde_json::to_value(value).unwrap_or_default())
    }
}

/// JSON as text, like `{"cpu":"86400"}`. Accepted as text or as an object.
#[Scalar(name = "JSONString")]
impl ScalarType for JsonString {
    fn parse(value: Value) -> InputValueResult<Self> {
        let read = match value {
            Value::String(text) => serde_json::from_str(&text),
            other => other.into_json(),
        };
        read.map(Self).map_err(|e| fault("invalid_json", &e.to_string()))
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}
