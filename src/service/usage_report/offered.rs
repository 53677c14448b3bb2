//! The capacities of groups on the days of a report.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::question::{DayRange, ReportQuestion};
use crate::domain::slots::{SlotAmounts, SlotUsages};
use crate::domain::time::{Day, Timestamp};
use crate::domain::usage_report::RowKey;
use crate::store::capacity::ByGroup;

/// The capacities of the groups of a report. A capacity holds until the next known one, so the work depends on the
/// number of changes and not on the length of the range.
pub struct OfferedCapacity<'a> {
    known: &'a ByGroup,
    groups: &'a [Arc<str>],
    question: &'a ReportQuestion,
    now: Timestamp,
}

/// Capacity in slot-seconds, and the time that it covers in microseconds.
type CapacitySum = (SlotUsages, u64);

impl<'a> OfferedCapacity<'a> {
    pub fn of(known: &'a ByGroup, groups: &'a [Arc<str>], question: &'a ReportQuestion, now: Timestamp) -> Self {
        Self { known, groups, question, now }
    }

    /// The capacity in the groups and days that a row sums up. `found` caches it for rows of the same group and period.
    pub fn of_row<'f>(&self, key: &RowKey, found: &'f mut OfRows) -> &'f SlotUsages {
        let place = (key.resource_group.clone(), key.first_day);
        found.0.entry(place).or_insert_with(|| {
            let (from, to) = self.days_of(key.first_day.unwrap_or(self.question.range.from));
            match &key.resource_group {
                Some(group) => self.in_group(group, from, to).0,
                None => self.in_all(from, to),
            }
        })
    }

    /// The capacity in all groups and days of the report.
    pub fn of_all(&self) -> SlotUsages {
        let DayRange { from, to } = self.question.range;
        self.in_all(from, to)
    }

    /// The mean capacity of a group in the period that begins on `first_day`.
    pub fn mean(&self, group: &Arc<str>, first_day: Day) -> SlotAmounts {
        let (from, to) = self.days_of(first_day);
        let (sum, micros) = self.in_group(group, from, to);
        sum.iter().map(|(slot, offered)| (slot, offered.mean_over(micros))).collect()
    }

    /// The first and the last day of the period that begins on `first_day`, limited to the range.
    fn days_of(&self, first_day: Day) -> (Day, Day) {
        let to = self.question.range.to;
        (first_day, self.question.by.period.map_or(to, |period| period.last(first_day).min(to)))
    }

    fn in_all(&self, from: Day, to: Day) -> SlotUsages {
        let mut all = SlotUsages::default();
        for group in self.groups {
            all.add(&self.in_group(group, from, to).0);
        }
        all
    }

    /// The capacity of a group from one day to another, both included; today counts until now. A day without a known
    /// capacity has that of the last known day before it, otherwise that of the first known day.
    fn in_group(&self, group: &Arc<str>, from: Day, to: Day) -> CapacitySum {
        let mut sum = CapacitySum::default();
        let Some(days) = self.known.get(group) else { return sum };
        let Some(first) = days.range(..=from).next_back().or_else(|| days.iter().next()) else { return sum };
        let changes = days.range(from.plus(1)..).filter(|(day, _)| *day > first.0).take_while(|(day, _)| **day <= to);
        let (mut begin, mut capacity) = (from, first.1);
        for (day, next) in changes {
            self.add(&mut sum, capacity, begin, *day);
            (begin, capacity) = (*day, next);
        }
        self.add(&mut sum, capacity, begin, to.plus(1));
        sum
    }

    /// Adds a capacity that held from the midnight of `begin` to the midnight of `end`.
    fn add(&self, (sum, time): &mut CapacitySum, capacity: &SlotAmounts, begin: Day, end: Day) {
        let until = end.start().min(self.now);
        let micros = until.micros().saturating_sub(begin.start().micros()).max(0).unsigned_abs();
        sum.add(&capacity.for_micros(micros));
        *time += micros;
    }
}

/// Cached capacities by group and first day, as far as the report is grouped by them.
#[derive(Debug, Default)]
pub struct OfRows(BTreeMap<(Option<Arc<str>>, Option<Day>), SlotUsages>);
