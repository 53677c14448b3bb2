//! What groups offered in the days of a report.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::question::{Question, Range};
use crate::domain::slots::{Amounts, Usages};
use crate::domain::time::{Day, MICROS_PER_DAY, Timestamp};
use crate::domain::usage_report::RowKey;
use crate::store::capacity::ByGroup;

/// What there was to use: slots times seconds, today until now.
#[derive(Debug, Default)]
pub struct Offered {
    /// By group, where rows are, and by the first day of the period, where rows are.
    of_rows: BTreeMap<(Option<Arc<str>>, Option<Day>), Usages>,
    /// By group and by the first day of the period, and for how many microseconds.
    of_blocks: BTreeMap<(Arc<str>, Day), (Usages, u64)>,
}

impl Offered {
    pub fn of(known: &ByGroup, groups: &[Arc<str>], question: &Question, now: Timestamp) -> Self {
        let mut offered = Self::default();
        let Range { from, to } = question.range;
        for group in groups {
            let Some(days) = known.get(group) else { continue };
            let mut day = from;
            while day <= to {
                let micros = now.micros().saturating_sub(day.start().micros()).clamp(0, MICROS_PER_DAY).unsigned_abs();
                if let Some(capacity) = on(days, day) {
                    offered.add(group, question, day, &capacity.for_micros(micros), micros);
                }
                day = day.plus(1);
            }
        }
        offered
    }

    fn add(&mut self, group: &Arc<str>, question: &Question, day: Day, capacity: &Usages, micros: u64) {
        let first_day = question.first_day(day);
        let row = (question.by.resource_group.then(|| Arc::clone(group)), question.by.period.map(|_| first_day));
        self.of_rows.entry(row).or_default().add(capacity);
        let (sum, time) = self.of_blocks.entry((Arc::clone(group), first_day)).or_default();
        sum.add(capacity);
        *time += micros;
    }

    /// In the groups and days that a row sums.
    pub fn of_row(&self, key: &RowKey) -> Option<&Usages> {
        self.of_rows.get(&(key.resource_group.clone(), key.first_day))
    }

    /// The mean capacity of a group in the period that begins on `first_day`.
    pub fn mean(&self, group: &Arc<str>, first_day: Day) -> Amounts {
        let block = self.of_blocks.get(&(Arc::clone(group), first_day));
        block.map_or_else(Amounts::default, |(sum, micros)| {
            sum.iter().map(|(slot, offered)| (slot, offered.mean_over(*micros))).collect()
        })
    }
}

/// The capacity of a day; of one of which none is known, that of the day before it of which one is, else of the first one.
fn on(days: &BTreeMap<Day, Arc<Amounts>>, day: Day) -> Option<&Arc<Amounts>> {
    days.range(..=day).next_back().or_else(|| days.iter().next()).map(|(_, capacity)| capacity)
}
