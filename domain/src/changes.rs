//! The suspensions of a kernel. Reports contain single instants, in any order and any number of times; the intervals
//! follow from all of them.

use std::fmt::{self, Write};
use std::str::FromStr;

use super::time::{TimeSpan, Timestamp};

/// The largest number of instants of one kernel. Each report of a change adds one.
pub const MAX_CHANGES: usize = 1_000;

/// By time: true if a suspension began at that instant, false if one ended. The list is mostly empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuspensionChanges(Vec<(Timestamp, bool)>);

impl SuspensionChanges {
    pub fn one(at: Timestamp, suspended: bool) -> Self {
        Self(vec![(at, suspended)])
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Adds an instant. If two reports disagree about it, the one in which the kernel runs counts.
    pub fn note(&mut self, at: Timestamp, suspended: bool) {
        match self.0.binary_search_by_key(&at, |(known, _)| *known) {
            Ok(found) => self.0[found].1 &= suspended,
            Err(place) => self.0.insert(place, (at, suspended)),
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (at, suspended) in &other.0 {
            self.note(*at, *suspended);
        }
    }

    /// True if the kernel is suspended after the last known change.
    pub fn ends_suspended(&self) -> bool {
        self.0.last().is_some_and(|(_, suspended)| *suspended)
    }

    /// True if the kernel is suspended at an instant.
    pub fn suspended_at(&self, at: Timestamp) -> bool {
        self.0.iter().rev().find(|(from, _)| *from <= at).is_some_and(|(_, suspended)| *suspended)
    }

    /// The first change after an instant.
    pub fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        self.0.iter().map(|(change, _)| *change).find(|change| *change > at)
    }

    /// The instant since which the kernel is in its present state.
    pub fn last(&self) -> Option<Timestamp> {
        let (at, suspended) = self.0.last()?;
        let same = self.0.iter().rev().take_while(|(_, other)| other == suspended).last();
        Some(same.map_or(*at, |(first, _)| *first))
    }

    /// The parts of `whole` in which the kernel was suspended, ascending.
    pub fn suspended(&self, whole: TimeSpan) -> impl Iterator<Item = TimeSpan> + '_ {
        let ends = self.0.iter().skip(1).map(|(at, _)| *at).chain([whole.end]);
        let intervals = self.0.iter().zip(ends).filter(|((_, suspended), _)| *suspended);
        intervals.filter_map(move |((from, _), until)| TimeSpan::new(*from, until)?.overlap(whole))
    }

    /// The parts of `whole` in which the kernel was not suspended, ascending.
    pub fn active(&self, whole: TimeSpan) -> impl Iterator<Item = TimeSpan> + '_ {
        let mut from = Some(whole.start);
        let mut holes = self.suspended(whole);
        std::iter::from_fn(move || {
            loop {
                let start = from?;
                let Some(hole) = holes.next() else {
                    from = None;
                    return TimeSpan::new(start, whole.end);
                };
                from = Some(hole.end);
                if let Some(part) = TimeSpan::new(start, hole.start) {
                    return Some(part);
                }
            }
        })
    }

    /// The time between two instants in which the kernel was not suspended, in microseconds.
    pub fn active_micros(&self, from: Timestamp, until: Timestamp) -> u64 {
        TimeSpan::new(from, until).into_iter().flat_map(|whole| self.active(whole)).map(TimeSpan::micros).sum()
    }

    /// The parts of `whole` that are active in `self` and suspended in `other`.
    pub fn active_but_not_in<'a>(&'a self, other: &'a Self, whole: TimeSpan) -> impl Iterator<Item = TimeSpan> + 'a {
        self.active(whole).flat_map(move |part| other.suspended(part))
    }
}

/// The stored form: `-` and `+` before the microseconds at which a suspension began or ended.
impl fmt::Display for SuspensionChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (at, suspended)) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_char(' ')?;
            }
            write!(f, "{}{}", if *suspended { '-' } else { '+' }, at.micros())?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a list of changes of status")]
pub struct ChangesError;

impl FromStr for SuspensionChanges {
    type Err = ChangesError;
    fn from_str(text: &str) -> Result<Self, ChangesError> {
        let mut changes = Self::default();
        for part in text.split_ascii_whitespace() {
            let (suspended, micros) = match part.split_at_checked(1) {
                Some(("-", micros)) => (true, micros),
                Some(("+", micros)) => (false, micros),
                _ => return Err(ChangesError),
            };
            changes.note(Timestamp::from_micros(micros.parse().map_err(|_| ChangesError)?), suspended);
        }
        Ok(changes)
    }
}
