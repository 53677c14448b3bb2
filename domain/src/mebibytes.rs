//! Memory that a request gives in MiB, as most schedulers count it. The slot `mem` itself is in bytes.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::decimal::written::deserialize_decimal;
use super::decimal::{Amount, DecimalError};

/// The slot of memory, in bytes.
pub const MEMORY_SLOT: &str = "mem";
/// The key of requests that gives [`MEMORY_SLOT`] in MiB.
pub const MEBIBYTES_KEY: &str = "mem_mib";

const BYTES_PER_MEBIBYTE: u64 = 1 << 20;

/// An amount of bytes that is written in MiB, as a plain decimal.
pub struct MemoryInMebibytes {
    pub bytes: Amount,
}

impl FromStr for MemoryInMebibytes {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let mebibytes: Amount = text.parse()?;
        mebibytes.checked_mul(BYTES_PER_MEBIBYTE).map(|bytes| Self { bytes }).ok_or(DecimalError::TooLarge)
    }
}

impl<'de> Deserialize<'de> for MemoryInMebibytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_decimal(deserializer)
    }
}
