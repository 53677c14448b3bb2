//! JSON whose form differs between versions. Values of another form than the expected one count as absent and take no
//! memory.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::skipped::SkippedFields;

/// The largest number of elements of a list that are kept. The lists of one job are short.
const MOST_KEPT: usize = 1_000;

/// A number or a text. From a list the first element is taken. A number may be wrapped as `{set, infinite, number}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Loose {
    #[default]
    None,
    Number(u64),
    Text(String),
}

impl Loose {
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        }
    }

    /// The number in an optional field. A text that is no number is left out.
    pub(super) fn number_or_skip(&self, field: &'static str, skipped: &mut SkippedFields) -> Option<u64> {
        if let Self::Text(text) = self
            && self.number().is_none()
            && !text.trim().is_empty()
        {
            skipped.add(field, text);
        }
        self.number()
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.trim().to_owned(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wrapped {
    set: Option<bool>,
    infinite: bool,
    number: Box<Loose>,
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Loose;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_bool<E>(self, _: bool) -> Result<Loose, E> {
                Ok(Loose::None)
            }

            fn visit_u64<E>(self, value: u64) -> Result<Loose, E> {
                Ok(Loose::Number(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Loose, E> {
                Ok(u64::try_from(value).map_or(Loose::None, Loose::Number))
            }

            /// An integer written with a point or an exponent.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a float to an integer saturates
            fn visit_f64<E>(self, value: f64) -> Result<Loose, E> {
                Ok(if value >= 0.0 { Loose::Number(value as u64) } else { Loose::None })
            }

            fn visit_str<E>(self, value: &str) -> Result<Loose, E> {
                Ok(Loose::Text(value.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Loose, E> {
                Ok(Loose::None)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Loose, A::Error> {
                let first = list.next_element()?.unwrap_or_default();
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(first)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loose, A::Error> {
                let wrapped = Wrapped::deserialize(MapAccessDeserializer::new(map))?;
                let told = wrapped.set != Some(false) && !wrapped.infinite;
                Ok(if told { *wrapped.number } else { Loose::None })
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// An object; any other value counts as an empty object.
#[derive(Debug, Default)]
pub(super) struct Nested<T>(pub T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Nested<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Or::<Self>(PhantomData))
    }
}

/// A list; any other value counts as an empty list.
#[derive(Debug)]
pub(super) struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Or::<Self>(PhantomData))
    }
}

/// Visits the expected form, and ignores any other value.
struct Or<F>(PhantomData<F>);

/// Scalars, which are never the expected form.
macro_rules! scalars_are_ignored {
    () => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("anything")
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
}

pub(super) use scalars_are_ignored;

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Or<Nested<T>> {
    type Value = Nested<T>;

    scalars_are_ignored!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Nested<T>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Nested(T::default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Nested<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Nested)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Or<List<T>> {
    type Value = List<T>;

    scalars_are_ignored!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < MOST_KEPT
            && let Some(element) = list.next_element()?
        {
            kept.push(element);
        }
        if kept.len() == MOST_KEPT {
            while list.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(List(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<List<T>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(List::default())
    }
}
