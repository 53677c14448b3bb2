//! Reading in which only whether a value can be read counts: what [`super::traced`] refuses is refused, and nothing is noted of
//! what was expected where. A wrapper that does nothing costs nothing.

use std::fmt;

use serde::Deserialize;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::methods::{of_deserializers, of_visitors};
use super::words::NUL;

pub fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Option<T> {
    T::deserialize(Hasty(deserializer)).ok()
}

/// A deserialiser, and everything that it hands out.
struct Hasty<T>(T);

/// Methods that pass on with the visitor wrapped.
macro_rules! pass_on {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($argument,)* Hasty(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Hasty<D> {
    type Error = D::Error;

    /// A struct is an object, and nothing else.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Hasty(visitor))
    }

    of_deserializers!(pass_on);
    pass_on! {
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// Texts that are made, which pass on as they are unless they hold NUL.
macro_rules! texts {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            if value.contains('\0') {
                return Err(E::custom(NUL));
            }
            self.0.$method(value)
        }
    )*};
}

/// Values without parts.
macro_rules! plain {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )*};
}

/// Values that hold a deserialiser of their parts.
macro_rules! with_parts {
    ($($method:ident($bound:ident))*) => {$(
        fn $method<A: $bound<'de>>(self, parts: A) -> Result<V::Value, A::Error> {
            self.0.$method(Hasty(parts))
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Hasty<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    // JSON writes NUL as an escape, and a text with an escape is never a part of the document.
    of_visitors!(plain, plain, texts);
    with_parts! {
        visit_some(Deserializer) visit_newtype_struct(Deserializer) visit_seq(SeqAccess) visit_map(MapAccess)
        visit_enum(EnumAccess)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Hasty<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Hasty(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Hasty<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Hasty(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Hasty<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(Key(seed))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Hasty(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// A key, which is a text, also where it looks like a number.
struct Key<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Key<S> {
    type Value = S::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<S::Value, E> {
        self.0.deserialize(text.into_deserializer())
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<S::Value, E> {
        self.0.deserialize(BorrowedStrDeserializer::new(text))
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Hasty<A> {
    type Error = A::Error;
    type Variant = Hasty<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.0.variant_seed(Hasty(seed))?;
        Ok((value, Hasty(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Hasty<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Hasty(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, Hasty(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Hasty(visitor))
    }
}
