//! Words that programs print where a job has no user, no account or no cluster.

/// The words, in any letter case: Slurm and PBS print `(null)`, `N/A`, `None` and `Unknown`, HTCondor `undefined`, LSF `-`, and
/// exports of databases `NULL`.
const WORDS_FOR_NONE: [&str; 7] = ["(null)", "null", "n/a", "none", "unknown", "undefined", "-"];

/// The name of an owner; empty if the text is a word for none.
pub(super) fn given_name(text: &str) -> &str {
    let text = text.trim();
    if WORDS_FOR_NONE.iter().any(|word| text.eq_ignore_ascii_case(word)) { "" } else { text }
}
