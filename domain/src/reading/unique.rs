//! JSON of any form, with the information whether an object repeats a key. Without it one of the two values would be
//! lost silently.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::super::fault::escape_key;

/// Any JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct UniqueValue {
    pub value: Value,
    /// The JSON pointer to the first key that occurs twice in its object.
    pub repeated: Option<String>,
}

/// Any JSON object.
#[derive(Clone, Debug, PartialEq)]
pub struct UniqueObject {
    pub map: Map<String, Value>,
    /// The same as in [`UniqueValue`].
    pub repeated: Option<String>,
}

impl From<Value> for UniqueValue {
    fn from(value: Value) -> Self {
        Self { value, repeated: None }
    }
}

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValueVisitor)
    }
}

impl<'de> Deserialize<'de> for UniqueObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnyObjectVisitor)
    }
}

struct AnyValueVisitor;

/// Values without parts.
macro_rules! plain {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<UniqueValue, E> {
            Ok(Value::from(value).into())
        }
    )*};
}

impl<'de> Visitor<'de> for AnyValueVisitor {
    type Value = UniqueValue;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    plain! {
        visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_str(&str) visit_string(String)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<UniqueValue, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number).into())
    }

    fn visit_none<E: Error>(self) -> Result<UniqueValue, E> {
        Ok(Value::Null.into())
    }

    fn visit_unit<E: Error>(self) -> Result<UniqueValue, E> {
        Ok(Value::Null.into())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<UniqueValue, D::Error> {
        UniqueValue::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<UniqueValue, A::Error> {
        let (mut elements, mut repeated) = (Vec::new(), None);
        while let Some(element) = parts.next_element::<UniqueValue>()? {
            let below = |pointer: String| format!("/{}{pointer}", elements.len());
            repeated = repeated.or_else(|| element.repeated.map(below));
            elements.push(element.value);
        }
        Ok(UniqueValue { value: Value::Array(elements), repeated })
    }

    fn visit_map<A: MapAccess<'de>>(self, parts: A) -> Result<UniqueValue, A::Error> {
        let UniqueObject { map, repeated } = AnyObjectVisitor.visit_map(parts)?;
        Ok(UniqueValue { value: Value::Object(map), repeated })
    }
}

struct AnyObjectVisitor;

impl<'de> Visitor<'de> for AnyObjectVisitor {
    type Value = UniqueObject;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<UniqueObject, A::Error> {
        let (mut map, mut repeated) = (Map::new(), None);
        while let Some(key) = parts.next_key::<String>()? {
            let value = parts.next_value::<UniqueValue>()?;
            let here = || format!("/{}", escape_key(&key));
            let below = value.repeated.map(|pointer| here() + &pointer);
            repeated = repeated.or(below).or_else(|| map.contains_key(&key).then(here));
            map.insert(key, value.value);
        }
        Ok(UniqueObject { map, repeated })
    }
}
