//! The capacity of a group by day: the time-weighted mean of the observed capacity (FAIR_SHARE §5).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::slice::overlapping_range;
use super::slots::{SlotAmounts, SlotUsages};
use super::time::{Day, TimeSpan, Timestamp};

/// The origin of a day's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacitySource {
    /// The service observed the agents on that day.
    Observed,
    /// It came with a back-fill.
    Given,
    /// The day was not observed, so the capacity is a copy from the nearest day that was.
    Nearest,
}

impl CapacitySource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Given => "given",
            Self::Nearest => "nearest",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Observed, Self::Given, Self::Nearest].into_iter().find(|s| s.as_str() == text)
    }
}

/// The capacity of one group on one day.
#[derive(Clone, Debug, PartialEq)]
pub struct DayCapacity {
    pub source: CapacitySource,
    /// Capacity x observed time, in slot-seconds.
    pub integral: SlotUsages,
    pub observed_micros: u64,
    /// The first observation on this day; `None` if there is none or it is not known.
    pub observed_from: Option<Timestamp>,
    /// The capacity that the usage of buckets is divided by.
    pub capacity: Arc<SlotAmounts>,
}

impl DayCapacity {
    pub fn fixed(source: CapacitySource, capacity: Arc<SlotAmounts>) -> Self {
        Self { source, integral: SlotUsages::default(), observed_micros: 0, observed_from: None, capacity }
    }
}

/// The capacities of one group by day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapacityCalendar {
    days: BTreeMap<Day, DayCapacity>,
    /// The days with an observed or given capacity, which other days may copy.
    originals: BTreeSet<Day>,
}

impl CapacityCalendar {
    pub fn insert(&mut self, day: Day, capacity: DayCapacity) {
        if capacity.source == CapacitySource::Nearest {
            self.originals.remove(&day);
        } else {
            self.originals.insert(day);
        }
        self.days.insert(day, capacity);
    }

    pub fn get(&self, day: Day) -> Option<&DayCapacity> {
        self.days.get(&day)
    }

    pub fn days(&self) -> impl Iterator<Item = (Day, &DayCapacity)> {
        self.days.iter().map(|(d, c)| (*d, c))
    }

    /// Adds the observation that the group offered `capacity` during `span` and still offers it at its end. Returns the
    /// days that changed.
    pub fn observe(&mut self, span: Option<TimeSpan>, now: Day, capacity: &SlotAmounts) -> Vec<Day> {
        let mut changed = Vec::new();
        for part in span.into_iter().flat_map(TimeSpan::by_day) {
            let day = part.start.day();
            let entry =
                self.days.entry(day).or_insert_with(|| DayCapacity::fixed(CapacitySource::Observed, Arc::default()));
            if entry.source == CapacitySource::Given {
                continue;
            }
            if entry.source == CapacitySource::Nearest {
                *entry = DayCapacity::fixed(CapacitySource::Observed, Arc::default());
            }
            entry.integral.add(&capacity.for_micros(part.micros()));
            entry.observed_micros += part.micros();
            entry.observed_from = Some(entry.observed_from.map_or(part.start, |from| from.min(part.start)));
            let mean = entry.integral.map(|u| u.mean_over(entry.observed_micros)).filtered(|a| !a.is_zero());
            entry.capacity = Arc::new(mean);
            self.originals.insert(day);
            changed.push(day);
        }
        // The first observation has no duration yet. Until some time has passed, it counts for the whole day.
        let untouched = match self.days.get(&now) {
            None => true,
            Some(d) => match d.source {
                CapacitySource::Observed => d.observed_micros == 0 && *d.capacity != *capacity,
                CapacitySource::Nearest => true,
                CapacitySource::Given => false,
            },
        };
        if untouched {
            self.insert(now, DayCapacity::fixed(CapacitySource::Observed, Arc::new(capacity.clone())));
            changed.push(now);
        }
        changed
    }

    /// Discards capacities of times after `now` that were observed or copied; given ones stay. Today then counts as
    /// observed from the first observation until `now`, without `downtimes` (ascending, disjoint). Returns true if
    /// today has changed.
    pub fn forget_after(&mut self, now: Timestamp, downtimes: &[TimeSpan]) -> bool {
        let today = now.day();
        self.days.retain(|day, capacity| *day <= today || capacity.source == CapacitySource::Given);
        let days = &self.days;
        self.originals.retain(|day| days.contains_key(day));
        let Some(known) = self.days.get_mut(&today) else { return false };
        let span = TimeSpan::new(known.observed_from.unwrap_or(today.start()), now);
        let observed = span.map_or_else(Vec::new, |span| span.without(&downtimes[overlapping_range(downtimes, span)]));
        let passed: u64 = observed.into_iter().map(TimeSpan::micros).sum();
        if known.observed_micros <= passed {
            return false;
        }
        known.integral = known.capacity.for_micros(passed);
        known.observed_micros = passed;
        known.observed_from = span.map(|span| span.start);
        true
    }

    /// The capacity of `day`. A day that was not observed permanently takes that of the nearest observed day, the
    /// earlier one first. The flag is true if the day is new in the calendar. `None` if no capacity is known yet.
    pub fn settle(&mut self, day: Day) -> Option<(Arc<SlotAmounts>, bool)> {
        if let Some(known) = self.days.get(&day) {
            return Some((Arc::clone(&known.capacity), false));
        }
        let before = self.originals.range(..day).next_back();
        let after = self.originals.range(day..).next();
        let nearest = match (before, after) {
            (Some(b), Some(a)) if a.days_since(day) < day.days_since(*b) => a,
            (Some(b), _) => b,
            (None, a) => a?,
        };
        let capacity = Arc::clone(&self.days.get(nearest)?.capacity);
        self.insert(day, DayCapacity::fixed(CapacitySource::Nearest, Arc::clone(&capacity)));
        Some((capacity, true))
    }
}
