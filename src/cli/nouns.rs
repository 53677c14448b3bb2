//! Numbers with their nouns in sentences.

/// `1 row`, `2 rows`: the number with the noun in the right form.
pub fn with_noun(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
