//! The figures of benches: one value for each, next to the code that measures it.

use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

use super::rows;

/// A bench. It is one file, which is named in `main.rs`.
pub struct Bench {
    pub name: &'static str,
    pub figures: &'static [&'static Figure],
    pub run: fn(),
}

/// A measured quantity, its floor, and its bars.
pub struct Figure {
    /// A name that is unique in the bench.
    pub name: &'static str,
    /// The name of the floor; empty without one.
    pub floor: &'static str,
    pub unit: Unit,
    /// All bars must be met.
    pub bars: &'static [Bar],
    pub on: &'static [On],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// In seconds.
    Time,
    Mebibytes,
    Bytes,
    Statements,
    PerSecond,
    /// A quotient of two figures.
    Times,
    /// A part of a whole.
    Share,
    /// The exponent of a growth law: 1 is linear.
    Exponent,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// At most this value.
    Most(f64),
    /// At most this multiple of the floor.
    Floors(f64),
    /// At least this part of the floor. For rates, where the floor is the most that the machine can do.
    PartOfFloor(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// The database that a figure is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// No database is used.
    Memory,
    /// A database with nothing but the data of the bench.
    Fresh(Database),
    /// A database that has been in use for 28 days.
    Grown(Database),
}

pub const MEMORY: &[On] = &[On::Memory];
pub const SQLITE: &[On] = &[On::Fresh(Database::Sqlite)];
pub const POSTGRES: &[On] = &[On::Fresh(Database::Postgres)];
pub const FRESH: &[On] = &[On::Fresh(Database::Sqlite), On::Fresh(Database::Postgres)];
pub const FRESH_AND_GROWN: &[On] = &[
    On::Fresh(Database::Sqlite),
    On::Grown(Database::Sqlite),
    On::Fresh(Database::Postgres),
    On::Grown(Database::Postgres),
];

impl On {
    /// The database that is used.
    pub fn database(self) -> Database {
        match self {
            Self::Memory => panic!("no database is asked"),
            Self::Fresh(database) | Self::Grown(database) => database,
        }
    }
}

impl Figure {
    /// Notes a measured value.
    pub fn measured(&'static self, on: On, measured: f64, floor: Option<f64>) {
        rows::note(self, on, measured, floor);
    }

    pub fn took(&'static self, on: On, measured: Duration, floor: Option<Duration>) {
        self.measured(on, measured.as_secs_f64(), floor.map(|floor| floor.as_secs_f64()));
    }

    /// True if all bars are met; `None` without a bar.
    pub fn is_met(&self, measured: f64, floor: Option<f64>) -> Option<bool> {
        let ratio = floor.map(|floor| measured / floor);
        let holds = |bar: &Bar| match *bar {
            Bar::Most(limit) => measured <= limit,
            Bar::Floors(limit) => ratio.is_some_and(|ratio| ratio <= limit),
            Bar::PartOfFloor(limit) => ratio.is_some_and(|ratio| ratio >= limit),
        };
        (!self.bars.is_empty()).then(|| self.bars.iter().all(holds))
    }

    /// The bars as text; empty without one.
    pub fn bar(&self) -> String {
        let word = |bar: &Bar| match *bar {
            Bar::Most(limit) => self.unit.text(limit),
            Bar::Floors(limit) => format!("{limit} floors"),
            Bar::PartOfFloor(limit) => format!("at least {limit} of the floor"),
        };
        self.bars.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

impl Unit {
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Time if value < 1e-3 => format!("{} µs", digits(value * 1e6)),
            Self::Time if value < 1.0 => format!("{} ms", digits(value * 1e3)),
            Self::Time => format!("{} s", digits(value)),
            Self::Mebibytes => format!("{} MiB", digits(value)),
            Self::Bytes => format!("{} bytes", digits(value)),
            Self::Statements => format!("{value} statements"),
            Self::PerSecond => format!("{} a second", digits(value)),
            Self::Times => format!("{} times", digits(value)),
            Self::Share => format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned(),
            Self::Exponent => format!("n^{value:.2}"),
        }
    }

    /// True if more is better.
    pub fn rises(self) -> bool {
        self == Self::PerSecond
    }
}

/// Three digits, because two runs agree in no more.
fn digits(value: f64) -> String {
    let decimals = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl Display for Database {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

impl Display for On {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Fresh(database) => write!(f, "{database}"),
            Self::Grown(database) => write!(f, "{database}, 28 days"),
        }
    }
}
