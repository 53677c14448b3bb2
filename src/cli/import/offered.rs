//! The content of a capacities file for one resource group: the time-weighted capacity of every past day
//! (FAIR_SHARE §5), and the agents of today.

use std::collections::BTreeMap;

use super::capacities::AgentCapacity;
use crate::domain::slots::{SlotAmounts, SlotUsages};
use crate::domain::time::{Day, MICROS_PER_DAY, TimeSpan, Timestamp};

/// The mean capacity of every day from `first` to `last` that `rows` cover.
pub fn by_day<'a>(rows: impl Iterator<Item = &'a AgentCapacity>, first: Day, last: Day) -> BTreeMap<Day, SlotAmounts> {
    let mut days: BTreeMap<Day, SlotUsages> = BTreeMap::new();
    let Some(window) = TimeSpan::new(first.start(), last.plus(1).start()) else { return BTreeMap::new() };
    for row in rows {
        let open = TimeSpan::new(row.from, row.to.unwrap_or(Timestamp::MAX));
        for part in open.and_then(|span| span.overlap(window)).into_iter().flat_map(TimeSpan::by_day) {
            days.entry(part.start.day()).or_default().add(&row.slots.for_micros(part.micros()));
        }
    }
    let mean = |sum: &SlotUsages| sum.map(|usage| usage.mean_over(MICROS_PER_DAY.unsigned_abs()));
    days.iter().map(|(day, sum)| (*day, mean(sum).filtered(|amount| !amount.is_zero()))).collect()
}

/// All agents in `rows`, with the amounts that they offer at `now`; `None` if no row covers it.
pub fn agents<'a>(
    rows: impl Iterator<Item = &'a AgentCapacity>,
    now: Timestamp,
) -> BTreeMap<&'a str, Option<SlotAmounts>> {
    let mut agents: BTreeMap<&str, Option<SlotAmounts>> = BTreeMap::new();
    for row in rows {
        let offered = agents.entry(&row.agent).or_default();
        if row.from <= now && row.to.is_none_or(|to| now < to) {
            offered.get_or_insert_default().add(&row.slots);
        }
    }
    agents
}
