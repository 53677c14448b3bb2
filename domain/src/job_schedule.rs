//! When a job starts by itself: a cron expression in UTC, and the rule that says from when on a job is due.
//!
//! An expression has six fields: second, minute, hour, day of month, month, day of week. A time matches if it matches every
//! field. A due job stays due until it starts, so a time that passes while no server runs is made up for as soon as one does. It
//! does not matter when and how often the rule is asked: it compares the last start with the clock that it is given.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use crate::time::{MICROS_PER_SECOND, Timestamp};

const FIELD_NAMES: [&str; 6] = ["second", "minute", "hour", "day of month", "month", "day of week"];

/// A cron expression that matches some time.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSchedule {
    /// The expression, with one space between its fields.
    expression: String,
    cron: Cron,
}

// Two schedules are equal if their texts are, and `Cron` only lacks the marker.
impl Eq for JobSchedule {}

impl JobSchedule {
    pub fn as_str(&self) -> &str {
        &self.expression
    }

    /// The first time of the schedule after `time`, in whole seconds. `None`: no such time before the year 5000.
    pub fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        // The search keeps fractions of a second, which no time of a schedule has.
        let second = Timestamp::from_seconds(time.micros().div_euclid(MICROS_PER_SECOND));
        self.cron.find_next_occurrence(&second.to_utc(), false).ok().map(Timestamp::from)
    }

    /// When a job that was started at `last_start` is due again: at the first time of the schedule after that start. A last start
    /// later than `now` shows that the clock was set back. Then the job is due now if the schedule has a time between the two;
    /// otherwise a clock that once was far ahead would stop the job until the clock is there again.
    pub fn due_at(&self, last_start: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let next = self.next_after(last_start.min(now))?;
        Some(if next <= last_start { now } else { next })
    }
}

impl FromStr for JobSchedule {
    type Err = String;

    /// Reads an expression. The error is a sentence that quotes it.
    fn from_str(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        if fields.len() != FIELD_NAMES.len() {
            return Err(format!(
                "{text:?} is not a cron expression: it needs the six fields {}, and has {}",
                FIELD_NAMES.join(", "),
                fields.len()
            ));
        }
        for (place, (field, name)) in fields.iter().zip(FIELD_NAMES).enumerate() {
            let mut alone = ["*"; FIELD_NAMES.len()];
            alone[place] = field;
            // An empty element matches nothing, and the search for its next time takes minutes.
            if field.split(',').any(str::is_empty) || parse(&alone.join(" ")).is_err() {
                return Err(format!("{text:?} is not a cron expression: the {name} cannot be {field:?}"));
            }
        }
        let expression = fields.join(" ");
        let cron = parse(&expression).map_err(|error| format!("{text:?} is not a cron expression: {error}"))?;
        // Without a field for the year, an expression that never matches after 1970 never matches at all.
        if cron.find_next_occurrence(&DateTime::<Utc>::UNIX_EPOCH, false).is_err() {
            return Err(format!("{text:?} is a cron expression that no time matches"));
        }
        Ok(Self { expression, cron })
    }
}

/// Reads an expression as tokio-cron-scheduler does, but without a year.
fn parse(expression: &str) -> Result<Cron, croner::errors::CronError> {
    CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).dom_and_dow(true).build().parse(expression)
}
