//! Factors and ranks of growing numbers of users.

use crate::common::figure::{Bar, Figure, MEMORY, On, Unit};
use crate::common::law;
use crate::factors;

pub static MILLION: Figure = Figure {
    name: "factors and ranks of 1,000,000 users, 500 projects, 10 domains, 28 days, 3 slots",
    floor: factors::FLOOR,
    unit: Unit::Time,
    bars: &[Bar::Most(1.2)],
    on: MEMORY,
};

pub static LAW: Figure = Figure {
    name: "law of that time by users, from 1,000 to 1,000,000",
    floor: "",
    unit: Unit::Exponent,
    bars: &[],
    on: MEMORY,
};

pub fn run() {
    let mut points = Vec::new();
    for (users, times) in [(1_000, 20), (10_000, 20), (100_000, 5), (1_000_000, 3)] {
        let (measured, floor) = factors::measure(users, times);
        points.push((users as f64, measured.as_secs_f64()));
        if users == 1_000_000 {
            MILLION.took(On::Memory, measured, Some(floor));
        }
    }
    LAW.measured(On::Memory, law::exponent(&points), None);
}
