//! Usages in as few bytes as they have.

use ethnum::U256;

use super::weighed::Number;
use super::{AMOUNT_UNIT, Usage};

/// Marks numbers that are counted in `10^-6`.
const WHOLE: u8 = 0x80;

impl Usage {
    /// Appends the number in as few bytes as it has: how many follow, and whether they count whole amounts for
    /// microseconds, as nearly always.
    pub fn put_bytes(self, bytes: &mut Vec<u8>) {
        let (high, low) = self.0.into_words();
        let whole = if high == 0 { Some(low).filter(|low| low % AMOUNT_UNIT == 0) } else { None };
        let number = whole.map_or(self.0, |low| U256::from(low / AMOUNT_UNIT)).to_le_bytes();
        let count = number.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.push(u8::try_from(count).unwrap_or(0) | if whole.is_some() { WHOLE } else { 0 });
        bytes.extend_from_slice(&number[..count]);
    }
}

impl Number {
    /// Reads what [`Usage::put_bytes`] has written, and takes it off.
    pub fn take_bytes(bytes: &mut &[u8]) -> Self {
        let Some((first, rest)) = bytes.split_first() else { return Self::Other(Usage::ZERO) };
        let count = usize::from(first & !WHOLE).min(rest.len());
        *bytes = &rest[count..];
        if count > 16 {
            let mut all = [0; 32];
            all[..count].copy_from_slice(&rest[..count]);
            return Self::Other(Usage(U256::from_le_bytes(all)));
        }
        let low = lowest(rest, count);
        if first & WHOLE == 0 { Self::Other(Usage(U256::from(low))) } else { Self::Micros(low) }
    }
}

/// The number in the first `count` bytes, at most 16.
fn lowest(bytes: &[u8], count: usize) -> u128 {
    // Copying a fixed number of bytes is faster than copying as many as count.
    if let Some(more) = bytes.first_chunk::<16>() {
        let unused = 128 - 8 * u32::try_from(count).unwrap_or(16);
        return u128::from_le_bytes(*more).checked_shl(unused).map_or(0, |shifted| shifted >> unused);
    }
    let mut low = [0; 16];
    low[..count].copy_from_slice(&bytes[..count]);
    u128::from_le_bytes(low)
}
