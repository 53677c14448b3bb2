//! Durations and shares as text for people.

/// A duration, given in seconds, in its two largest units, such as `2h 05m`.
pub fn duration_text(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is what is meant")]
    let whole = seconds.abs().round() as u64;
    let sign = if seconds < 0.0 && whole > 0 { "-" } else { "" };
    let (minutes, hours, days) = (whole / 60, whole / 3_600, whole / 86_400);
    match whole {
        0..60 => format!("{sign}{whole}s"),
        60..3_600 => format!("{sign}{minutes}m {:02}s", whole % 60),
        3_600..86_400 => format!("{sign}{hours}h {:02}m", minutes % 60),
        _ => format!("{sign}{days}d {:02}h", hours % 24),
    }
}

/// A share in percent with one decimal, as a replay shows it.
pub fn share_text(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
