//! Lists of limited length. Reading stops at the first element beyond the limit, so that a document of many tiny
//! elements never takes far more memory than its own size.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

/// The beginning of the message about a list that is too long.
const TOO_LONG: &str = "lists more than";

/// The error of a list or a map with more than `most` elements.
pub fn too_long<E: Error>(most: usize) -> E {
    E::custom(format_args!("{TOO_LONG} {most} elements"))
}

/// True if the message is the one about a list that is too long.
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

/// Reads a field with a list of at most `MOST` elements.
pub fn at_most<'de, const MOST: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    AtMost::<T, MOST>::deserialize(deserializer).map(|list| list.0)
}

/// Reads a field that may be absent or null: a list of at most `MOST` elements.
pub fn at_most_if_any<'de, const MOST: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    Ok(Option::<AtMost<T, MOST>>::deserialize(deserializer)?.map(|list| list.0))
}
