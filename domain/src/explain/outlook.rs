//! When place and factor of an owner change next, if nothing is run from now on.

use super::contest::Contest;
use super::future::{Future, Unrecorded};
use crate::factor::fair_share_factor;
use crate::normalized_days::NormalizedBucket;
use crate::time::Day;

/// So many dates are told.
const MOST_DATES: usize = 10;

/// How an owner stands on a day.
#[derive(Clone, Debug, PartialEq)]
pub struct Then {
    pub day: Day,
    pub normalized_usage: f64,
    pub fair_share_factor: f64,
    pub place: u32,
    /// The first days of the buckets that decay on this day, with their decay weights from then on.
    pub decayed: Vec<(Day, f64)>,
}

/// The days to come.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// Once all that was used until now is recorded.
    pub next_run: Then,
    /// The days on which place or factor is another than the day before, ascending.
    pub dates: Vec<Then>,
    /// All such days until this one are told.
    pub until: Day,
}

impl Outlook {
    /// The first date on which the place is better than `place`.
    pub fn first_better(&self, place: u32) -> Option<&Then> {
        self.dates.iter().find(|then| then.place < place)
    }
}

/// What the days to come bring for the entrant `number`, whose normalized_days with all that it has used is `normalized_days`.
pub fn outlook(
    contest: &Contest,
    future: &Future,
    unrecorded: &Unrecorded,
    number: usize,
    normalized_days: &[NormalizedBucket],
) -> Outlook {
    let corrections = future.correct(contest, unrecorded);
    let (used, weight) = (future.sheet.usage(normalized_days), contest.entrants[number].weight);
    let on = |at: usize, day: Day| Then {
        day,
        normalized_usage: used[at],
        fair_share_factor: fair_share_factor(used[at], weight),
        place: future.line_up(contest, &corrections, at).place(number),
        decayed: at.checked_sub(1).map_or_else(Vec::new, |before| decayed(future, normalized_days, before, at)),
    };
    let mut days = future.sheet.days().enumerate();
    let first = days.next().map_or(future.sheet.first, |(_, day)| day);
    let next_run = on(0, first);
    let (mut dates, mut until): (Vec<Then>, Day) = (Vec::new(), first);
    for (at, day) in days {
        let then = on(at, day);
        let before = dates.last().unwrap_or(&next_run);
        let is_other =
            then.place != before.place || then.fair_share_factor.to_bits() != before.fair_share_factor.to_bits();
        until = day;
        if is_other {
            dates.push(then);
            if dates.len() == MOST_DATES {
                break;
            }
        }
    }
    Outlook { next_run, dates, until }
}

fn decayed(future: &Future, normalized_days: &[NormalizedBucket], before: usize, at: usize) -> Vec<(Day, f64)> {
    let weights = normalized_days.iter().map(|bucket| {
        let start = bucket.first;
        (start, future.sheet.weight(start, before), future.sheet.weight(start, at))
    });
    let other = weights.filter(|(_, before, now)| before.to_bits() != now.to_bits());
    other.map(|(start, _, now)| (start, now)).collect()
}
