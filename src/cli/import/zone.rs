//! Which instant a local time means.

use chrono::{DateTime, Days, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::reason::Reason;
use crate::domain::time::Timestamp;

/// With the offset that `SLURM_TIME_FORMAT` writes for `%z`, which RFC 3339 does not know.
const BASIC_OFFSET: &str = "%Y-%m-%dT%H:%M:%S%.f%z";

/// How the times of a row had to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimesRead {
    /// One had no offset: the zone that is assumed decided.
    pub assumed: bool,
    /// The clock showed one of them twice, because it was set back.
    pub twice: bool,
    /// The clock never showed one of them, because it was set forward.
    pub never: bool,
}

/// Reads the times of one row.
///
/// A time that the clock showed twice means the first, and for an end the first that does not lie before the start. A
/// time that it never showed is read with the offset from before the change.
pub(super) struct Clock {
    zone: Tz,
    pub(super) read: TimesRead,
}

impl Clock {
    pub(super) fn new(zone: Tz) -> Self {
        Self { zone, read: TimesRead::default() }
    }

    /// RFC 3339, with an offset or without, of the end of what began at `start`.
    pub(super) fn end(
        &mut self,
        text: &str,
        start: Option<Timestamp>,
        field: &'static str,
    ) -> Result<Timestamp, Reason> {
        let with_offset = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_str(text, BASIC_OFFSET));
        let time = match with_offset {
            Ok(time) => in_range(time.timestamp_micros()),
            Err(_) => text.parse().ok().and_then(|local| self.instant(local, start)),
        };
        time.ok_or(Reason::BadTime(field))
    }

    /// What a local time means; `None` outside the years 1970 to 9999.
    pub(super) fn instant(&mut self, local: NaiveDateTime, start: Option<Timestamp>) -> Option<Timestamp> {
        self.micros(local, start).and_then(in_range)
    }

    fn micros(&mut self, local: NaiveDateTime, start: Option<Timestamp>) -> Option<i64> {
        self.read.assumed = true;
        let found = self.zone.from_local_datetime(&local).map(|time| time.timestamp_micros());
        if let Some(only) = found.single() {
            return Some(only);
        }
        if let (Some(first), Some(second)) = (found.earliest(), found.latest()) {
            self.read.twice = true;
            let too_early = start.is_some_and(|start| first < start.micros());
            return Some(if too_early { second } else { first });
        }
        self.read.never = true;
        let day_before = local.checked_sub_days(Days::new(1))?;
        let offset = self.zone.offset_from_local_datetime(&day_before).latest()?.fix();
        offset.from_local_datetime(&local).single().map(|time| time.timestamp_micros())
    }
}

fn in_range(micros: i64) -> Option<Timestamp> {
    Some(Timestamp::from_micros(micros)).filter(|time| time.micros() == micros)
}
