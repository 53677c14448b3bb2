//! What became of the rows of a file: how many were taken, and how many dropped for which reason.

use std::collections::BTreeMap;
use std::fmt;

use super::reason::{Dropped, EndedEarly, Reason};
use super::rows::Unit;
use super::zone::TimesRead;
use crate::cli::counted::counted;

/// Rows whose times had to be read in a certain way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalRows {
    pub assumed: u64,
    pub twice: u64,
    pub never: u64,
}

impl LocalRows {
    pub(super) fn add(&mut self, times: TimesRead) {
        self.assumed += u64::from(times.assumed);
        self.twice += u64::from(times.twice);
        self.never += u64::from(times.never);
    }
}

/// How many rows one reason dropped, and where the first one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    pub rows: u64,
    pub first_line: u64,
}

/// The balance of one file: `rows = taken + dropped`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows that stand for something: no header, comment or blank line.
    pub rows: u64,
    pub taken: u64,
    /// Of the taken: ran, but the trace names no amount of anything, so they add no usage.
    pub unmeasured: u64,
    pub dropped: BTreeMap<Reason, Tally>,
    /// What places are counted in.
    pub unit: Unit,
    /// The zone of times without an offset; `None` where the format has none.
    pub zone: Option<&'static str>,
    pub times: LocalRows,
    pub ended_early: Option<EndedEarly>,
}

impl Summary {
    pub(super) fn drop_row(&mut self, dropped: Dropped) {
        self.rows += 1;
        let tally = self.dropped.entry(dropped.reason).or_insert(Tally { rows: 0, first_line: dropped.line });
        tally.rows += 1;
    }

    /// Whether a row was dropped because it cannot be read, and not because it says nothing yet.
    pub fn has_useless_rows(&self) -> bool {
        self.dropped.keys().any(|reason| !matches!(reason, Reason::NotStarted | Reason::JobStep | Reason::PartialRun))
    }

    pub fn dropped_rows(&self) -> u64 {
        self.dropped.values().map(|tally| tally.rows).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (reason, tally) in &self.dropped {
            writeln!(f, "  {} dropped, first at {} {}: {reason}", tally.rows, self.unit.as_str(), tally.first_line)?;
        }
        if self.unmeasured > 0 {
            writeln!(f, "  {} taken without any amount, which adds no usage", self.unmeasured)?;
        }
        let LocalRows { assumed, twice, never } = self.times;
        if let Some(zone) = self.zone.filter(|_| assumed > 0) {
            let rows = counted(assumed, "row", "rows");
            writeln!(f, "times without an offset were read as {zone}, in {rows}")?;
        }
        if twice > 0 {
            let rows = counted(twice, "row has", "rows have");
            writeln!(f, "  {rows} a time that the clock showed twice: its first was taken")?;
        }
        if never > 0 {
            let rows = counted(never, "row has", "rows have");
            writeln!(f, "  {rows} a time that the clock never showed: is the time zone right?")?;
        }
        match &self.ended_early {
            Some(early) => writeln!(f, "{early}"),
            None => Ok(()),
        }
    }
}
