//! JSON whose form differs between versions. Values of another form than the expected one count as absent and take no
//! memory.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::skipped::SkippedFields;

/// The largest number of elements of a list that are kept. The lists of one job are short.
const MAX_KEPT: usize = 1_000;

/// A number or a text. From a list the first element is taken. A number may be wrapped as `{set, infinite, number}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum LooseValue {
    #[default]
    None,
    Number(u64),
    Text(String),
}

impl LooseValue {
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
struct WrappedNumber {
    set: Option<bool>,
    infinite: bool,
    number: Box<LooseValue>,
}

impl<'de> Deserialize<'de> for LooseValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyLooseVisitor;

        impl<'de> Visitor<'de> for AnyLooseVisitor {
            type Value = LooseValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_bool<E>(self, _: bool) -> Result<LooseValue, E> {
                Ok(LooseValue::None)
            }

            fn visit_u64<E>(self, value: u64) -> Result<LooseValue, E> {
                Ok(LooseValue::Number(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<LooseValue, E> {
                Ok(u64::try_from(value).map_or(LooseValue::None, LooseValue::Number))
            }

            /// An integer written with a point or an exponent.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a float to an integer saturates
            fn visit_f64<E>(self, value: f64) -> Result<LooseValue, E> {
                Ok(if value >= 0.0 { LooseValue::Number(value as u64) } else { LooseValue::None })
            }

            fn visit_str<E>(self, value: &str) -> Result<LooseValue, E> {
                Ok(LooseValue::Text(value.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<LooseValue, E> {
                Ok(LooseValue::None)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<LooseValue, A::Error> {
                let first = list.next_element()?.unwrap_or_default();
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(first)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LooseValue, A::Error> {
                let wrapped = WrappedNumber::deserialize(MapAccessDeserializer::new(map))?;
                let is_number = wrapped.set != Some(false) && !wrapped.infinite;
                Ok(if is_number { *wrapped.number } else { LooseValue::None })
            }
        }

        deserializer.deserialize_any(AnyLooseVisitor)
    }
}

/// An object; any other value counts as an empty object.
#[derive(Debug, Default)]
pub(super) struct LooseObject<T>(pub T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for LooseObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrDefault::<Self>(PhantomData))
    }
}

/// A list; any other value counts as an empty list.
#[derive(Debug)]
pub(super) struct LooseList<T>(pub Vec<T>);

impl<T> Default for LooseList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LooseList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrDefault::<Self>(PhantomData))
    }
}

/// A list or a text; any other value counts as an empty list.
#[derive(Debug)]
pub(super) struct LooseListOrText<T> {
    pub list: Vec<T>,
    pub text: String,
}

impl<T> Default for LooseListOrText<T> {
    fn default() -> Self {
        Self { list: Vec::new(), text: String::new() }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LooseListOrText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrDefault::<Self>(PhantomData))
    }
}

/// Visits the expected form, and ignores any other value.
struct OrDefault<F>(PhantomData<F>);

/// Scalars, which are never the expected form, but for texts where these are.
macro_rules! scalars_are_ignored {
    () => {
        scalars_are_ignored!(but texts);

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (but texts) => {
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

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
}

pub(super) use scalars_are_ignored;

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for OrDefault<LooseObject<T>> {
    type Value = LooseObject<T>;

    scalars_are_ignored!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<LooseObject<T>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LooseObject(T::default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LooseObject<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(LooseObject)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OrDefault<LooseList<T>> {
    type Value = LooseList<T>;

    scalars_are_ignored!();

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<LooseList<T>, A::Error> {
        read_first_elements(list).map(LooseList)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LooseList<T>, A::Error> {
        skip_entries(map).map(|()| LooseList::default())
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OrDefault<LooseListOrText<T>> {
    type Value = LooseListOrText<T>;

    scalars_are_ignored!(but texts);

    fn visit_str<E>(self, text: &str) -> Result<LooseListOrText<T>, E> {
        Ok(LooseListOrText { list: Vec::new(), text: text.trim().to_owned() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<LooseListOrText<T>, A::Error> {
        read_first_elements(list).map(|list| LooseListOrText { list, text: String::new() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LooseListOrText<T>, A::Error> {
        skip_entries(map).map(|()| LooseListOrText::default())
    }
}

/// The first elements of a list, as many as are kept.
fn read_first_elements<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(mut list: A) -> Result<Vec<T>, A::Error> {
    let mut kept = Vec::new();
    while kept.len() < MAX_KEPT
        && let Some(element) = list.next_element()?
    {
        kept.push(element);
    }
    if kept.len() == MAX_KEPT {
        while list.next_element::<IgnoredAny>()?.is_some() {}
    }
    Ok(kept)
}

/// Reads an object to its end.
fn skip_entries<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}
