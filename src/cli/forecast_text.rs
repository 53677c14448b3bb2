//! The forecast of a workload as tables show it.

use serde_json::Value;

use crate::domain::time::Timestamp;
use crate::service::{Clock, SystemClock};

/// The columns of a forecast for programs.
pub const FORECAST_COLUMNS: &[&str] = &["p10", "p50", "p90", "not_known_yet"];

/// Adds the columns of the forecast of a row, and `starts`, which has it in words.
pub fn show_forecast(row: &mut Value) {
    for key in FORECAST_COLUMNS {
        row[*key] = row["forecast"][*key].clone();
    }
    row["starts"] = starts(&row["forecast"]).into();
}

/// The forecast in words: the median, and between what it lies with a probability of 80 %.
fn starts(forecast: &Value) -> String {
    if let Some(reason) = forecast["not_known_yet"].as_str() {
        return match reason {
            "no_agents" => "not known yet: no agent is known".to_owned(),
            "few_ended_jobs" => "not known yet: too few jobs have ended".to_owned(),
            "does_not_fit" => "not as it is, or as it is reported so far".to_owned(),
            "nothing_ends" => "not within four weeks, as far as is known".to_owned(),
            "too_large" => "not known yet: too much would happen before".to_owned(),
            "low_coverage" => "not known yet: the last forecasts were wrong".to_owned(),
            _ => reason.to_owned(),
        };
    }
    let at = |key: &str| forecast[key].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let (Some(p10), Some(p50), Some(p90)) = (at("p10"), at("p50"), at("p90")) else {
        return String::new();
    };
    // The forecast may be some minutes old.
    let now = SystemClock.now();
    let [soonest, median, latest] = [p10, p50, p90].map(|at| minutes_text(at.micros() - now.micros()));
    if soonest == latest { format!("in {median}") } else { format!("in {median} ({soonest} to {latest})") }
}

/// The time until a start, rounded to minutes as on the web pages, because a forecast is no more exact.
fn minutes_text(micros: i64) -> String {
    let minutes = (micros.max(0) + 30_000_000) / 60_000_000;
    let (days, hours) = (minutes / 1_440, minutes / 60 % 24);
    match (days, hours) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {hours} h"),
    }
}
