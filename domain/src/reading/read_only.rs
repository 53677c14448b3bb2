//! Keys of answers that come back in requests.

use serde::de::{Deserialize, Deserializer, IgnoredAny};

/// A key that answers have and requests may therefore send back: it is accepted and ignored, whatever it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOnly;

impl<'de> Deserialize<'de> for ReadOnly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}
