//! A JSON object whose keys are declared in several parts. Every part reads, shows and documents its own keys. A key that no
//! part has is refused with the names of all keys.

use std::marker::PhantomData;

use serde::de::value::{Error as Plain, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use super::fault::Fault;
use super::option_facts::{OptionFacts, range_fault};

/// A part of the object: a struct whose keys all have defaults.
pub trait FlatPart: Clone + Default + PartialEq + Serialize + DeserializeOwned + ToSchema {
    /// The facts about each key, in the order of documents.
    fn facts() -> Vec<OptionFacts>;

    /// The fault of the first key whose value is out of range.
    fn fault(&self) -> Option<Fault> {
        range_fault(&Self::facts(), &serde_json::to_value(self).unwrap_or_default())
    }
}

/// A part without any key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoKeys {}

impl FlatPart for NoKeys {
    fn facts() -> Vec<OptionFacts> {
        Vec::new()
    }
}

/// Declares an object of several parts: `flat_object! { pub struct Name as "SchemaName" { pub part: FlatPart, } }`.
macro_rules! flat_object {
    ($(#[$said:meta])* pub struct $name:ident as $schema:literal { $(pub $part:ident: $type:ty,)* }) => {
        $(#[$said])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct $name {
            $(#[serde(flatten)] pub $part: $type,)*
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use std::sync::LazyLock;

                use serde::de::{Error, MapAccess, Visitor};
                use $crate::flat::{GatheredValues, keys_of};

                static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| [$(keys_of::<$type>()),*].concat());
                struct PartsVisitor;
                impl<'de> Visitor<'de> for PartsVisitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        f.write_str(concat!("struct ", stringify!($name)))
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        $(let mut $part = GatheredValues::<$type>::new();)*
                        while let Some(key) = map.next_key::<String>()? {
                            $(if $part.read(&key, &mut map)? { continue; })*
                            return Err(A::Error::unknown_field(&key, &KEYS));
                        }
                        Ok($name { $($part: $part.into_part()?,)* })
                    }
                }
                deserializer.deserialize_struct(stringify!($name), &KEYS, PartsVisitor)
            }
        }

        impl $crate::flat::FlatPart for $name {
            fn facts() -> Vec<$crate::option_facts::OptionFacts> {
                [$(<$type as $crate::flat::FlatPart>::facts()),*].concat()
            }

            fn fault(&self) -> Option<$crate::fault::Fault> {
                None$(.or_else(|| $crate::flat::FlatPart::fault(&self.$part)))*
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::flat::merge_schemas([$(<$type as utoipa::PartialSchema>::schema()),*])
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                $schema.into()
            }
            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                $(<$type as utoipa::ToSchema>::schemas(schemas);)*
            }
        }
    };
}
pub(crate) use flat_object;

/// One schema with the properties of all parts.
pub fn merge_schemas<const N: usize>(parts: [RefOr<Schema>; N]) -> RefOr<Schema> {
    let mut parts = parts.into_iter();
    let mut whole = parts.next().unwrap_or_else(|| Schema::default().into());
    if let RefOr::T(Schema::Object(whole)) = &mut whole {
        // The description of the first part does not apply to the whole object.
        whole.description = None;
        for part in parts {
            if let RefOr::T(Schema::Object(part)) = part {
                whole.properties.extend(part.properties);
            }
        }
    }
    whole
}

/// The values that an object gives for the keys of one part.
pub struct GatheredValues<P> {
    keys: &'static [&'static str],
    given: Map<String, Value>,
    part: PhantomData<P>,
}

impl<P: FlatPart> GatheredValues<P> {
    #[allow(clippy::new_without_default, reason = "it is made by the macro only")]
    pub fn new() -> Self {
        Self { keys: keys_of::<P>(), given: Map::new(), part: PhantomData }
    }

    /// Reads the value of a key, if the part has that key. The value is read in place, so that a fault in it has its line
    /// and column.
    pub fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        let Some(key) = self.keys.iter().copied().find(|known| *known == key) else { return Ok(false) };
        if self.given.contains_key(key) {
            return Err(A::Error::duplicate_field(key));
        }
        let only: P = map.next_value_seed(OnlyKey { key, part: PhantomData })?;
        if let Ok(Value::Object(mut keys)) = serde_json::to_value(only) {
            self.given.extend(keys.remove_entry(key));
        }
        Ok(true)
    }

    pub fn into_part<E: Error>(self) -> Result<P, E> {
        serde_json::from_value(Value::Object(self.given)).map_err(E::custom)
    }
}

/// Reads a part from the value of one of its keys.
struct OnlyKey<P> {
    key: &'static str,
    part: PhantomData<P>,
}

impl<'de, P: FlatPart> DeserializeSeed<'de> for OnlyKey<P> {
    type Value = P;
    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<P, D::Error> {
        P::deserialize(MapAccessDeserializer::new(OneKeyObject { key: Some(self.key), value: Some(value) }))
    }
}

/// An object with one key.
struct OneKeyObject<D> {
    key: Option<&'static str>,
    value: Option<D>,
}

impl<'de, D: Deserializer<'de>> MapAccess<'de> for OneKeyObject<D> {
    type Error = D::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, D::Error> {
        self.key.take().map(|key| seed.deserialize(key.into_deserializer())).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, D::Error> {
        seed.deserialize(self.value.take().ok_or_else(|| D::Error::custom("an entry has one value"))?)
    }
}

/// The keys of a struct, as its deserialiser lists them.
pub fn keys_of<P: DeserializeOwned>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    // Reading ends as soon as the keys are known.
    let _ = P::deserialize(KeysOf(&mut keys));
    keys
}

struct KeysOf<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for KeysOf<'_> {
    type Error = Plain;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Plain> {
        *self.0 = keys;
        Err(Plain::custom("only the keys are asked for"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Plain> {
        Err(Plain::custom("only a struct has keys"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
