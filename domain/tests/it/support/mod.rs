//! Short ways to write domain values.

pub mod cycle_rounds;
#[path = "../../../../tests/it/support/dice.rs"]
pub mod dice;
pub mod standings;

use domain::ids::{Member, ProjectId, UserId};
use domain::slots::{SlotAmounts, SlotName, SlotUsages};
use domain::time::{Day, TimeSpan, Timestamp};
use domain::weight::{EffectiveWeight, Weight};
use proptest::prelude::*;
use uuid::Uuid;

/// A configuration with this number of cases, and without regression files in the source folder.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

pub fn slot(name: &str) -> SlotName {
    SlotName::new(name).expect("a legal slot name")
}

pub fn amounts(pairs: &[(&str, &str)]) -> SlotAmounts {
    pairs.iter().map(|(name, amount)| (slot(name), amount.parse().expect("a legal amount"))).collect()
}

pub fn usages(pairs: &[(&str, &str)]) -> SlotUsages {
    pairs.iter().map(|(name, usage)| (slot(name), usage.parse().expect("a legal usage"))).collect()
}

pub fn at(text: &str) -> Timestamp {
    text.parse().expect("a legal time")
}

/// A clock time on the day of the proposal's examples.
pub fn clock(time: &str) -> Timestamp {
    at(&format!("2026-01-13T{time}:00Z"))
}

pub fn span(start: Timestamp, end: Timestamp) -> TimeSpan {
    TimeSpan::new(start, end).expect("time between start and end")
}

pub fn day(text: &str) -> Day {
    text.parse().expect("a legal day")
}

pub fn weight(text: &str) -> Weight {
    text.parse().expect("a legal weight")
}

pub fn own(text: &str) -> EffectiveWeight {
    EffectiveWeight::single(weight(text))
}

pub fn member(user: u128, project: u128) -> Member {
    Member { user: UserId(Uuid::from_u128(user)), project: ProjectId(Uuid::from_u128(project)) }
}

/// `a` and `b` differ by no more than rounding of sums in 64-bit floats.
pub fn close(a: f64, b: f64) -> bool {
    a.is_finite() && b.is_finite() && (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1.0)
}
