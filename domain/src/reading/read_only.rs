//! Keys of answers that requests may send back.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, IgnoredAny};

/// A key of an answer that a request may send back: it is accepted with any value and ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReadOnly;

impl<'de> Deserialize<'de> for ReadOnly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}
