//! Bodies with a `reason` for the audit log next to the keys of another type.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

const REASON_KEY: &str = "reason";

/// The value that consists of the other keys, and `reason`.
pub struct WithReason<T> {
    pub value: T,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WithReason<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyKeys(PhantomData))
    }
}

struct BodyKeys<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BodyKeys<T> {
    type Value = WithReason<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, parts: A) -> Result<WithReason<T>, A::Error> {
        let mut reason_field = ReasonField::default();
        let value = T::deserialize(MapAccessDeserializer::new(OtherKeys { parts, reason_field: &mut reason_field }))?;
        Ok(WithReason { value, reason: reason_field.reason })
    }
}

#[derive(Default)]
struct ReasonField {
    /// The key was in the body, possibly with the value null.
    seen: bool,
    reason: Option<String>,
}

/// The keys except `reason`, which is moved to `reason_field`.
struct OtherKeys<'a, A> {
    parts: A,
    reason_field: &'a mut ReasonField,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for OtherKeys<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        while let Some(key) = self.parts.next_key::<Cow<'de, str>>()? {
            if key != REASON_KEY {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            if self.reason_field.seen {
                return Err(A::Error::duplicate_field(REASON_KEY));
            }
            *self.reason_field = ReasonField { seen: true, reason: self.parts.next_value()? };
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.parts.next_value_seed(seed)
    }
}

impl<T: ToSchema> PartialSchema for WithReason<T> {
    fn schema() -> RefOr<Schema> {
        let mut schema = T::schema();
        if let RefOr::T(Schema::Object(Object { properties, .. })) = &mut schema {
            let text = ObjectBuilder::new().schema_type(Type::String).description(Some("Why, for the audit log."));
            properties.insert(REASON_KEY.to_owned(), text.build().into());
        }
        schema
    }
}

impl<T: ToSchema> ToSchema for WithReason<T> {
    fn name() -> Cow<'static, str> {
        format!("{}WithReason", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}
