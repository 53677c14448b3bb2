//! Durations as schedulers print them: `3600`, `01:00:00`, `60:00.500`, `1-02:00:00` and `1:02:00:00`.

const DAY_SECONDS: u64 = 86_400;
/// The units of a time of day, from the left.
const CLOCK_UNITS: [u64; 3] = [3_600, 60, 1];

/// The whole seconds of a duration; `None` if the text is none. Parts after a number of days begin with hours, as Slurm
/// writes them (`1-02` is 26 hours); otherwise the last part is seconds. A fraction of a second does not count.
pub(super) fn whole_seconds(text: &str) -> Option<u64> {
    let text = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|b| b.is_ascii_digit()) => whole,
        Some(_) => return None,
        None => text,
    };
    let by_hyphen = text.split_once('-');
    let days_and_clock =
        by_hyphen.or_else(|| text.split_once(':').filter(|(_, clock)| clock.matches(':').count() == 2));
    let (days, clock) = days_and_clock.unwrap_or(("0", text));
    let parts: Vec<&str> = clock.split(':').collect();
    let first_unit = if by_hyphen.is_some() { 0 } else { CLOCK_UNITS.len().checked_sub(parts.len())? };
    let units = CLOCK_UNITS.get(first_unit..).filter(|units| parts.len() <= units.len())?;
    let days = number(days)?.checked_mul(DAY_SECONDS)?;
    parts.iter().zip(units).try_fold(days, |sum, (part, unit)| sum.checked_add(number(part)?.checked_mul(*unit)?))
}

fn number(digits: &str) -> Option<u64> {
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}
