//! The beginnings of texts as numbers. Comparing these numbers distinguishes nearly all texts without a look at the
//! texts.

/// The first 16 bytes as a number in the same order; missing bytes are 0.
pub fn first_letters(text: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let count = text.len().min(bytes.len());
    bytes[..count].copy_from_slice(&text[..count]);
    u128::from_be_bytes(bytes)
}
