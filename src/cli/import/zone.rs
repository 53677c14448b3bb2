//! The instants that local times stand for.

use chrono::{DateTime, Days, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::reason::DropReason;
use crate::domain::time::Timestamp;

/// The offset of `%z` in `SLURM_TIME_FORMAT`, which RFC 3339 does not allow.
const BASIC_OFFSET: &str = "%Y-%m-%dT%H:%M:%S%.f%z";

/// Special cases in reading the times of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimesRead {
    /// True if a time had no offset, so that the assumed zone was used.
    pub assumed: bool,
    /// A time that occurred twice, because the clock was set back.
    pub repeated: Option<RepeatedTime>,
    /// True if a time never occurred, because the clock was set forward.
    pub never: bool,
}

/// The chosen instant of a time that occurred twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatedTime {
    /// The first one, because nothing indicates which one is meant.
    First,
    /// The one that agrees with the runtime.
    ByRunTime,
}

/// The instants that one text may stand for: two for a local time that occurred twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct PossibleInstants {
    first: Timestamp,
    second: Option<Timestamp>,
}

impl PossibleInstants {
    /// A time with a single meaning.
    pub(super) fn only(time: Timestamp) -> Self {
        Self { first: time, second: None }
    }

    fn each(self) -> impl Iterator<Item = Timestamp> {
        [Some(self.first), self.second].into_iter().flatten()
    }
}

/// Reads the times of one row.
///
/// If the start or the end of a run occurred twice, the pair of instants is chosen whose difference is the runtime. If
/// the row has no runtime, a time means the first of the two, and an end the first one that is not before the start. A
/// time that never occurred is read with the offset from before the change.
pub(super) struct RowClock {
    zone: Tz,
    pub(super) read: TimesRead,
}

impl RowClock {
    pub(super) fn new(zone: Tz) -> Self {
        Self { zone, read: TimesRead::default() }
    }

    /// RFC 3339, with an offset or without.
    pub(super) fn read(&mut self, text: &str, field: &'static str) -> Result<PossibleInstants, DropReason> {
        let with_offset = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_str(text, BASIC_OFFSET));
        let instants = match with_offset {
            Ok(time) => in_range(time.timestamp_micros()).map(PossibleInstants::only),
            Err(_) => text.parse().ok().and_then(|local| self.read_local(local)),
        };
        instants.ok_or(DropReason::BadTime(field))
    }

    /// The instants of a local time; `None` outside the years 1970 to 9999.
    pub(super) fn read_local(&mut self, local: NaiveDateTime) -> Option<PossibleInstants> {
        self.read.assumed = true;
        let found = self.zone.from_local_datetime(&local).map(|time| time.timestamp_micros());
        if let Some(only) = found.single() {
            return in_range(only).map(PossibleInstants::only);
        }
        if let (Some(first), Some(second)) = (found.earliest(), found.latest()) {
            return Some(PossibleInstants { first: in_range(first)?, second: in_range(second) });
        }
        self.read.never = true;
        let day_before = local.checked_sub_days(Days::new(1))?;
        let offset = self.zone.offset_from_local_datetime(&day_before).latest()?.fix();
        let time = offset.from_local_datetime(&local).single()?;
        in_range(time.timestamp_micros()).map(PossibleInstants::only)
    }

    /// The first of the instants.
    pub(super) fn first(&mut self, instants: PossibleInstants) -> Timestamp {
        if instants.second.is_some() {
            self.read.repeated.get_or_insert(RepeatedTime::First);
        }
        instants.first
    }

    /// The start and the end of a run that took `run_micros`, if the row has the runtime.
    pub(super) fn period(
        &mut self,
        start: Option<PossibleInstants>,
        end: Option<PossibleInstants>,
        run_micros: Option<i64>,
    ) -> (Option<Timestamp>, Option<Timestamp>) {
        let (Some(starts), Some(ends)) = (start, end) else {
            return (start.map(|start| self.first(start)), end.map(|end| self.first(end)));
        };
        if starts.second.is_none() && ends.second.is_none() {
            return (Some(starts.first), Some(ends.first));
        }
        if let Some((start, end)) = run_micros.and_then(|run| closest_pair(starts, ends, run)) {
            self.read.repeated = Some(RepeatedTime::ByRunTime);
            return (Some(start), Some(end));
        }
        self.read.repeated = Some(RepeatedTime::First);
        let end = ends.each().find(|end| *end >= starts.first).unwrap_or(ends.first);
        (Some(starts.first), Some(end))
    }
}

/// The pair whose difference is closest to `run`; `None` if two pairs are equally close.
fn closest_pair(starts: PossibleInstants, ends: PossibleInstants, run: i64) -> Option<(Timestamp, Timestamp)> {
    let pairs = starts.each().flat_map(|start| ends.each().map(move |end| (start, end)));
    let pairs = pairs.filter(|(start, end)| start <= end);
    let mut by_distance: Vec<_> =
        pairs.map(|(start, end)| ((end.micros() - start.micros()).abs_diff(run), (start, end))).collect();
    by_distance.sort_by_key(|(distance, _)| *distance);
    match by_distance.as_slice() {
        [(nearest, _), (next, _), ..] if nearest == next => None,
        [(_, pair), ..] => Some(*pair),
        [] => None,
    }
}

fn in_range(micros: i64) -> Option<Timestamp> {
    Some(Timestamp::from_micros(micros)).filter(|time| time.micros() == micros)
}
