//! Lists of bounded length: reading stops at the first element too many, so that a document of many tiny elements never
//! takes memory out of proportion to its size.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

/// How the sentence about a list that is too long begins.
const TOO_LONG: &str = "lists more than";

/// The refusal of a list or a map with more than `most` elements.
pub fn too_long<E: Error>(most: usize) -> E {
    E::custom(format_args!("{TOO_LONG} {most} elements"))
}

/// Whether a value's own type says that a list is too long.
pub fn is_too_long(said: &str) -> bool {
    said.starts_with(TOO_LONG)
}

/// A list of at most `MOST` elements.
pub struct AtMost<T, const MOST: usize>(pub Vec<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for AtMost<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Elements(PhantomData))
    }
}

struct Elements<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Elements<T, MOST> {
    type Value = AtMost<T, MOST>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while list.len() < MOST {
            let Some(element) = elements.next_element()? else { return Ok(AtMost(list)) };
            if list.len() == list.capacity() {
                list.reserve_exact(list.len().max(4).min(MOST - list.len()));
            }
            list.push(element);
        }
        match elements.next_element::<IgnoredAny>()? {
            None => Ok(AtMost(list)),
            Some(_) => Err(too_long(MOST)),
        }
    }
}

/// For a field: a list of at most `MOST` elements.
pub fn at_most<'de, const MOST: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    AtMost::<T, MOST>::deserialize(deserializer).map(|list| list.0)
}

/// For a field that may be absent or null: a list of at most `MOST` elements.
pub fn at_most_if_any<'de, const MOST: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    Ok(Option::<AtMost<T, MOST>>::deserialize(deserializer)?.map(|list| list.0))
}
