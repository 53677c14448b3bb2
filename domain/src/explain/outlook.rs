//! The next changes of an owner's place and factor, if nothing runs from now on.

use super::comparison::Comparison;
use super::future::{FutureKeys, UnrecordedHistories};
use crate::factor::fair_share_factor;
use crate::normalized_days::NormalizedBucket;
use crate::time::Day;

/// The largest number of dates in an outlook.
const MAX_DATES: usize = 10;

/// The place and the factor of an owner on one day.
#[derive(Clone, Debug, PartialEq)]
pub struct DatedPosition {
    pub day: Day,
    pub normalized_usage: f64,
    pub fair_share_factor: f64,
    pub place: u32,
    /// The buckets whose decay weights change on this day: their first days and their new weights.
    pub decayed: Vec<(Day, f64)>,
}

/// The coming changes of one owner.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerOutlook {
    /// The state after the next run, which records all usage up to now.
    pub next_run: DatedPosition,
    /// The days on which the place or the factor differs from the day before, ascending.
    pub dates: Vec<DatedPosition>,
    /// The last day that was examined. `dates` is complete up to it.
    pub until: Day,
}

impl OwnerOutlook {
    /// The first date with a better place than `place`.
    pub fn first_better(&self, place: u32) -> Option<&DatedPosition> {
        self.dates.iter().find(|then| then.place < place)
    }
}

/// The outlook of the owner `number`. `normalized_days` is its usage history, unrecorded usage included.
pub fn outlook(
    contest: &Comparison,
    future: &FutureKeys,
    unrecorded: &UnrecordedHistories,
    number: usize,
    normalized_days: &[NormalizedBucket],
) -> OwnerOutlook {
    let corrections = future.correct(contest, unrecorded);
    let (used, weight) = (future.sheet.usage(normalized_days), contest.entrants[number].weight);
    let on = |at: usize, day: Day| DatedPosition {
        day,
        normalized_usage: used[at],
        fair_share_factor: fair_share_factor(used[at], weight),
        place: future.candidate_order(contest, &corrections, at).place(number),
        decayed: at.checked_sub(1).map_or_else(Vec::new, |before| decayed_usage(future, normalized_days, before, at)),
    };
    let mut days = future.sheet.days().enumerate();
    let first = days.next().map_or(future.sheet.first, |(_, day)| day);
    let next_run = on(0, first);
    let (mut dates, mut until): (Vec<DatedPosition>, Day) = (Vec::new(), first);
    for (at, day) in days {
        let then = on(at, day);
        let before = dates.last().unwrap_or(&next_run);
        let is_other =
            then.place != before.place || then.fair_share_factor.to_bits() != before.fair_share_factor.to_bits();
        until = day;
        if is_other {
            dates.push(then);
            if dates.len() == MAX_DATES {
                break;
            }
        }
    }
    OwnerOutlook { next_run, dates, until }
}

fn decayed_usage(
    future: &FutureKeys,
    normalized_days: &[NormalizedBucket],
    before: usize,
    at: usize,
) -> Vec<(Day, f64)> {
    let weights = normalized_days.iter().map(|bucket| {
        let start = bucket.first;
        (start, future.sheet.weight(start, before), future.sheet.weight(start, at))
    });
    let other = weights.filter(|(_, before, now)| before.to_bits() != now.to_bits());
    other.map(|(start, _, now)| (start, now)).collect()
}
