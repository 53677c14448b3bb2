//! The known name that a misspelt one is nearest to.

/// The least similarity of two names, from 0 to 1, at which one counts as a misspelling of the other.
const MISSPELLING_MIN_SIMILARITY: f64 = 0.8;

/// The end of a message about an unknown name: the nearest known name and all of them. A `prefix` that all known names begin with
/// is not compared, because it would make every name similar.
pub fn nearest_name_hint(name: &str, known: &[String], prefix: &str) -> String {
    let bare = |name: &str| name.strip_prefix(prefix).unwrap_or(name).to_lowercase();
    let alike = known.iter().map(|other| (strsim::jaro_winkler(&bare(name), &bare(other)), other));
    let best = alike.filter(|(alike, _)| *alike >= MISSPELLING_MIN_SIMILARITY).max_by(|(a, _), (b, _)| a.total_cmp(b));
    let meant = best.map(|(_, other)| format!("; the nearest is {other}")).unwrap_or_default();
    format!("{meant}; known are {}", known.join(", "))
}
