//! Usages in as few bytes as they have.

use ethnum::U256;

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

    /// Reads what [`Self::put_bytes`] has written, and takes it off.
    pub fn take_bytes(bytes: &mut &[u8]) -> Self {
        let Some((first, rest)) = bytes.split_first() else { return Self::ZERO };
        let (number, rest) = rest.split_at(usize::from(first & !WHOLE).min(rest.len()));
        *bytes = rest;
        if number.len() <= 16 {
            let mut low = [0; 16];
            low[..number.len()].copy_from_slice(number);
            let low = u128::from_le_bytes(low);
            return Self(U256::from(if first & WHOLE == 0 { low } else { low * AMOUNT_UNIT }));
        }
        let mut all = [0; 32];
        all[..number.len()].copy_from_slice(number);
        Self(U256::from_le_bytes(all))
    }
}
