//! Numbers of things in sentences.

/// `1 row`, `2 rows`: the number with the words for one or for many.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
