//! A wrapper around a deserialiser and everything that it hands out. Values see an error type that keeps the kind of a
//! fault; on its way through the wrapped deserialiser, whose errors are texts, the fault waits in a note.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::Deserialize;
use serde::de::value::CowStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::words::{NUL_MESSAGE, UUID_EXPECTATION, in_words};
use super::{DecodeError, DecodeErrorKind, PathStep};

/// Where a fault waits while the wrapped deserialiser passes an error on.
struct FaultNote {
    fault: RefCell<Option<DecodeError>>,
    /// The code of what the wrapped deserialiser itself refuses.
    otherwise: &'static str,
}

impl FaultNote {
    /// The fault as an error of the wrapped deserialiser.
    fn keep<E: Error>(&self, fault: DecodeError) -> E {
        *self.fault.borrow_mut() = Some(fault);
        E::custom("")
    }

    /// The fault that waits, or else that the value is not what was expected.
    fn take(&self, expected: &str) -> DecodeError {
        let refused = || DecodeError::new(DecodeErrorKind::Not { what: in_words(expected), code: self.otherwise });
        let fault = self.fault.borrow_mut().take().unwrap_or_else(refused);
        match &fault.kind {
            // The type says why; that it is no UUID says enough.
            DecodeErrorKind::Said(_) if expected == UUID_EXPECTATION && fault.steps.is_empty() => {
                DecodeError::new(DecodeErrorKind::Not { what: in_words(expected), code: "invalid_uuid" })
            }
            _ => fault,
        }
    }
}

struct TracingWrapper<'n, T> {
    inner: T,
    note: &'n FaultNote,
}

/// See [`super::read_from`].
pub fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
    otherwise: &'static str,
) -> Result<T, DecodeError> {
    let note = FaultNote { fault: RefCell::new(None), otherwise };
    T::deserialize(TracingWrapper { inner: deserializer, note: &note })
}

impl<'n, T> TracingWrapper<'n, T> {
    fn wrap<U>(&self, inner: U) -> TracingWrapper<'n, U> {
        TracingWrapper { inner, note: self.note }
    }
}

/// Methods that pass on with the visitor wrapped.
macro_rules! pass_on {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, DecodeError> {
            // Afterwards there is no visitor to ask.
            let wanted = (&visitor as &dyn Expected).to_string();
            let visitor = self.wrap(visitor);
            self.inner.$method($($argument,)* visitor).map_err(|_| self.note.take(&wanted))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for TracingWrapper<'_, D> {
    type Error = DecodeError;

    /// A struct is an object, and nothing else; see `Objects`.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let visitor = self.wrap(visitor);
        let read = self.inner.deserialize_enum(name, variants, visitor);
        read.map_err(|_| {
            let fault = self.note.fault.borrow_mut().take();
            fault.unwrap_or_else(|| DecodeError::new(DecodeErrorKind::NoneOf(variants)))
        })
    }

    pass_on! {
        deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_char() deserialize_str() deserialize_string()
        deserialize_bytes() deserialize_byte_buf() deserialize_option() deserialize_unit() deserialize_seq()
        deserialize_map() deserialize_identifier() deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Texts, which pass on as they are unless they hold NUL.
macro_rules! texts {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            if value.contains('\0') {
                return Err(self.note.keep(DecodeError::custom(NUL_MESSAGE)));
            }
            self.inner.$method(value).map_err(|fault| self.note.keep(fault))
        }
    )*};
}

/// Values without parts.
macro_rules! plain {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value).map_err(|fault| self.note.keep(fault))
        }
    )*};
}

/// Values that hold a deserialiser of their parts.
macro_rules! with_parts {
    ($($method:ident($bound:ident))*) => {$(
        fn $method<A: $bound<'de>>(self, parts: A) -> Result<V::Value, A::Error> {
            let parts = self.wrap(parts);
            self.inner.$method(parts).map_err(|fault| self.note.keep(fault))
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for TracingWrapper<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(formatter)
    }

    plain! {
        visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128) visit_u8(u8)
        visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128) visit_f32(f32) visit_f64(f64) visit_char(char)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }
    texts! {
        visit_borrowed_str(&'de str) visit_str(&str) visit_string(String)
    }
    with_parts! {
        visit_some(Deserializer) visit_newtype_struct(Deserializer) visit_enum(EnumAccess)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<V::Value, A::Error> {
        let parts = self.wrap(TracedList { parts, next: 0 });
        self.inner.visit_seq(parts).map_err(|fault| self.note.keep(fault))
    }

    fn visit_map<A: MapAccess<'de>>(self, parts: A) -> Result<V::Value, A::Error> {
        let parts = self.wrap(TracedObject { parts, key: Cow::Borrowed("") });
        self.inner.visit_map(parts).map_err(|fault| self.note.keep(fault))
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none().map_err(|fault| self.note.keep(fault))
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit().map_err(|fault| self.note.keep(fault))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for TracingWrapper<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.deserialize(deserializer).map_err(|fault| self.note.keep(fault))
    }
}

/// A list and the place of its next element.
struct TracedList<A> {
    parts: A,
    next: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for TracingWrapper<'_, TracedList<A>> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DecodeError> {
        let seed = self.wrap(seed);
        let at = self.inner.next;
        self.inner.next += 1;
        let element = self.inner.parts.next_element_seed(seed);
        element.map_err(|_| self.note.take("a value").within(PathStep::Index(at)))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.parts.size_hint()
    }
}

/// A key, which is copied only if it is written with escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct KeyText<'a>(#[serde(borrow)] Cow<'a, str>);

/// An object and the key whose value comes next.
struct TracedObject<'de, A> {
    parts: A,
    key: Cow<'de, str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TracingWrapper<'_, TracedObject<'de, A>> {
    type Error = DecodeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DecodeError> {
        let Some(KeyText(key)) = self.inner.parts.next_key().map_err(|_| self.note.take("a text"))? else {
            return Ok(None);
        };
        self.inner.key.clone_from(&key);
        seed.deserialize(CowStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DecodeError> {
        let seed = self.wrap(seed);
        let key = std::mem::take(&mut self.inner.key);
        let within = |fault: DecodeError| fault.within(PathStep::Key(key.into_owned()));
        self.inner.parts.next_value_seed(seed).map_err(|_| within(self.note.take("a value")))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.parts.size_hint()
    }
}

impl<'n, 'de, A: EnumAccess<'de>> EnumAccess<'de> for TracingWrapper<'n, A> {
    type Error = DecodeError;
    type Variant = TracingWrapper<'n, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), DecodeError> {
        let seed = self.wrap(seed);
        let (value, variant) = self.inner.variant_seed(seed).map_err(|_| self.note.take("a text"))?;
        Ok((value, TracingWrapper { inner: variant, note: self.note }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for TracingWrapper<'_, A> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        self.inner.unit_variant().map_err(|_| self.note.take("a text"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, DecodeError> {
        let seed = self.wrap(seed);
        self.inner.newtype_variant_seed(seed).map_err(|_| self.note.take("a value"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DecodeError> {
        let visitor = self.wrap(visitor);
        self.inner.tuple_variant(len, visitor).map_err(|_| self.note.take("a sequence"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let visitor = self.wrap(visitor);
        self.inner.struct_variant(fields, visitor).map_err(|_| self.note.take("a map"))
    }
}
