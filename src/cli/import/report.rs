//! What an import says at its end, to people and to programs.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use super::outcome::{Summary, Tally};
use super::rebase::Shift;

/// The balance of one import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What became of the rows of the file.
    pub summary: Summary,
    /// Of the rows taken: kernels that are new or not what they were.
    pub changed: u64,
    /// Of the rows taken: refused by the service, by reason.
    pub refused: BTreeMap<String, Tally>,
    pub groups: u64,
    pub new_groups: u64,
    /// Agents that are new or not what they were.
    pub agents_changed: u64,
    /// Days that got another capacity.
    pub capacity_days: u64,
    /// Groups of which no capacity is known, by name.
    pub without_capacity: Vec<String>,
    /// Groups of the capacities file that no row belongs to.
    pub groups_without_rows: Vec<String>,
    /// `None`: not asked for.
    pub rebased: Option<Rebased>,
    /// `None`: told not to aggregate.
    pub slices: Option<u64>,
    pub seconds: f64,
}

/// How `--rebase-to-now` moved the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebased {
    pub shift: Shift,
    /// An earlier import had already placed the trace.
    pub kept: bool,
}

/// Resource groups that a warning names one by one.
const GROUPS_NAMED: usize = 5;

impl Report {
    pub fn refused_rows(&self) -> u64 {
        self.refused.values().map(|tally| tally.rows).sum()
    }

    /// Rows that told nothing that was not known before.
    pub fn known(&self) -> u64 {
        self.summary.taken.saturating_sub(self.changed + self.refused_rows())
    }

    pub fn changed_nothing(&self) -> bool {
        let settings = self.new_groups + self.agents_changed + self.capacity_days;
        self.changed + settings + self.slices.unwrap_or(0) == 0
    }

    /// The file was read to its real end, and something in it was of use.
    pub fn succeeded(&self) -> bool {
        self.summary.ended_early.is_none() && !self.took_nothing()
    }

    fn took_nothing(&self) -> bool {
        self.summary.rows > 0 && self.summary.taken == 0
    }

    pub fn to_json(&self) -> Value {
        let tally = |reason: String, t: &Tally| json!({"reason": reason, "rows": t.rows, "first_line": t.first_line});
        let dropped: Vec<_> = self.summary.dropped.iter().map(|(reason, t)| tally(reason.to_string(), t)).collect();
        let refused: Vec<_> = self.refused.iter().map(|(reason, t)| tally(reason.clone(), t)).collect();
        let early = self.summary.ended_early.as_ref().map(|e| json!({"line": e.line, "cause": e.cause}));
        json!({
            "rows": self.summary.rows, "taken": self.summary.taken, "unmeasured": self.summary.unmeasured,
            "changed": self.changed, "already_known": self.known(), "dropped": dropped, "refused": refused,
            "ended_early": early, "resource_groups": self.groups, "resource_groups_created": self.new_groups,
            "agents_changed": self.agents_changed, "capacity_days": self.capacity_days, "without_capacity": self.without_capacity,
            "groups_without_rows": self.groups_without_rows,
            "shifted_micros": self.rebased.map(|r| r.shift.micros()),
            "aggregated": self.slices.is_some(), "slices": self.slices.unwrap_or(0), "seconds": self.seconds,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.summary)?;
        for (reason, tally) in &self.refused {
            writeln!(f, "  {} refused, first at line {}: {reason}", tally.rows, tally.first_line)?;
        }
        write!(f, "{} kernels new or changed, {} already known", self.changed, self.known())?;
        write!(f, "; {} resource groups, {} of them new", self.groups, self.new_groups)?;
        if self.agents_changed + self.capacity_days > 0 {
            write!(f, "\n{} agents changed, {} days got a capacity", self.agents_changed, self.capacity_days)?;
        }
        match self.rebased {
            Some(Rebased { kept: true, .. }) => {
                write!(f, "\nan earlier import had placed this trace: times stay where they are")?;
            }
            Some(Rebased { shift, .. }) => write!(f, "\ntimes moved by {} s", shift.micros() / 1_000_000)?,
            None => {}
        }
        match self.slices {
            Some(slices) => write!(f, "\n{slices} slices recorded")?,
            None => write!(f, "\nnot aggregated: the next run of the aggregate job records the usage")?,
        }
        if self.changed_nothing() {
            write!(f, "; nothing changed")?;
        }
        for group in self.without_capacity.iter().take(GROUPS_NAMED) {
            write!(f, "\nwarning: resource group {group} has no capacity: everybody's factor stays 1; give it ")?;
            write!(f, "with --capacities FILE, or report its agents")?;
        }
        if let Some(more @ 1..) = self.without_capacity.len().checked_sub(GROUPS_NAMED) {
            write!(
                f,
                "\nwarning: {more} more resource groups have no capacity; --resource-group NAME puts all rows into one"
            )?;
        }
        if !self.groups_without_rows.is_empty() {
            let names = self.groups_without_rows.join(", ");
            write!(f, "\nwarning: no row belongs to what has a capacity in the file: {names}")?;
        }
        write!(f, "\n{:.1} seconds", self.seconds)?;
        if self.took_nothing() {
            write!(f, "\nno row was taken: is the file of this format?")?;
        }
        if self.summary.ended_early.is_some() {
            write!(f, "\nthe rows before the early end are kept; importing the whole file later adds the rest")?;
        }
        Ok(())
    }
}
