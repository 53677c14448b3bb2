//! What an import says at its end, to people and to programs.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use super::outcome::{Summary, Tally};
use super::rebase::Shift;
use crate::cli::counted::counted;
use crate::domain::time::Day;

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
    /// Runs that were known as running and ended, because a later run of their job came.
    pub earlier_runs_ended: u64,
    /// Known kernels that were taken back, because the file has them with other starts.
    pub replaced: u64,
    /// Jobs that ended before the server keeps usage, and from which day on it does.
    pub not_kept: u64,
    pub kept_from: Option<Day>,
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
    /// Dated capacities moved with the times.
    pub capacities: bool,
}

impl fmt::Display for Rebased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.shift.micros() / 1_000_000;
        if self.kept {
            write!(f, "an earlier import had placed this trace: times stay where they are")?;
        } else {
            write!(f, "times moved by {seconds} s")?;
        }
        match (self.capacities, self.kept) {
            (false, _) => Ok(()),
            (true, true) => write!(f, "; dated capacities moved by the same {seconds} s"),
            (true, false) => write!(f, ", and dated capacities with them"),
        }
    }
}

/// Resource groups that a warning names one by one.
const GROUPS_NAMED: usize = 5;

impl Report {
    pub fn refused_rows(&self) -> u64 {
        self.refused.values().map(|tally| tally.rows).sum()
    }

    /// Rows that the service has.
    pub fn taken(&self) -> u64 {
        self.summary.taken.saturating_sub(self.refused_rows())
    }

    /// Rows that told nothing that was not known before.
    pub fn known(&self) -> u64 {
        self.taken().saturating_sub(self.changed)
    }

    pub fn changed_nothing(&self) -> bool {
        let settings = self.new_groups + self.agents_changed + self.capacity_days;
        let others = self.earlier_runs_ended + self.replaced;
        self.changed + others + settings + self.slices.unwrap_or(0) == 0
    }

    /// The file was read to its real end, and something in it was of use.
    pub fn succeeded(&self) -> bool {
        self.summary.ended_early.is_none() && !self.took_nothing()
    }

    fn took_nothing(&self) -> bool {
        self.summary.rows > 0 && self.taken() == 0 && (self.refused_rows() > 0 || self.summary.has_useless_rows())
    }

    pub fn to_json(&self) -> Value {
        let tally = |reason: String, t: &Tally| json!({"reason": reason, "rows": t.rows, "first_line": t.first_line});
        let dropped: Vec<_> = self.summary.dropped.iter().map(|(reason, t)| tally(reason.to_string(), t)).collect();
        let refused: Vec<_> = self.refused.iter().map(|(reason, t)| tally(reason.clone(), t)).collect();
        let times = self.summary.times;
        let early = self.summary.ended_early.as_ref().map(|e| json!({"line": e.line, "cause": e.cause}));
        json!({
            "rows": self.summary.rows, "taken": self.taken(), "unmeasured": self.summary.unmeasured,
            "timezone": self.summary.zone, "local_time_rows": times.assumed, "ambiguous_time_rows": times.twice,
            "skipped_time_rows": times.never, "earlier_runs_ended": self.earlier_runs_ended, "replaced": self.replaced,
            "capacities_shifted": self.rebased.is_some_and(|r| r.capacities),
            "changed": self.changed, "already_known": self.known(), "dropped": dropped, "refused": refused,
            "ended_early": early, "resource_groups": self.groups, "resource_groups_created": self.new_groups,
            "not_kept": self.not_kept, "agents_changed": self.agents_changed, "capacity_days": self.capacity_days, "without_capacity": self.without_capacity,
            "groups_without_rows": self.groups_without_rows,
            "shifted_micros": self.rebased.map(|r| r.shift.micros()),
            "aggregated": self.slices.is_some(), "slices": self.slices.unwrap_or(0), "seconds": self.seconds,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = &self.summary;
        let rows = counted(summary.rows, "row", "rows");
        write!(f, "{rows} read, {} taken, {} dropped", self.taken(), summary.dropped_rows())?;
        match self.refused_rows() {
            0 => writeln!(f)?,
            refused => writeln!(f, ", {refused} refused")?,
        }
        write!(f, "{summary}")?;
        for (reason, tally) in &self.refused {
            let unit = summary.unit.as_str();
            writeln!(f, "  {} refused, first at {unit} {}: {reason}", tally.rows, tally.first_line)?;
        }
        write!(f, "{} new or changed, {} already known", counted(self.changed, "kernel", "kernels"), self.known())?;
        let groups = counted(self.groups, "resource group", "resource groups");
        write!(f, "; {groups}, {} new", self.new_groups)?;
        if self.agents_changed + self.capacity_days > 0 {
            let agents = counted(self.agents_changed, "agent", "agents");
            write!(f, "\n{agents} changed, {} got a capacity", counted(self.capacity_days, "day", "days"))?;
        }
        if self.earlier_runs_ended > 0 {
            let runs = counted(self.earlier_runs_ended, "earlier run", "earlier runs");
            write!(f, "\n{runs} ended, because a later run of the same job came")?;
        }
        if self.replaced > 0 {
            let kernels = counted(self.replaced, "known kernel was", "known kernels were");
            write!(f, "\n{kernels} taken back, because the file has other starts")?;
        }
        if let Some(rebased) = self.rebased {
            write!(f, "\n{rebased}")?;
        }
        match self.slices {
            Some(slices) => write!(f, "\n{} recorded", counted(slices, "slice", "slices"))?,
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
            let more = counted(more as u64, "more resource group has", "more resource groups have");
            write!(f, "\nwarning: {more} no capacity; --resource-group NAME puts all rows into one")?;
        }
        if let (jobs @ 1.., Some(day)) = (self.not_kept, self.kept_from) {
            let jobs = counted(jobs, "job", "jobs");
            write!(
                f,
                "\nwarning: {jobs} ended before {day}: the next purge removes what they used (keep_buckets_days). "
            )?;
            write!(f, "An import with --history keeps the usage of years gone by for reports")?;
        }
        if !self.groups_without_rows.is_empty() {
            let names = self.groups_without_rows.join(", ");
            write!(f, "\nwarning: no row belongs to what has a capacity in the file: {names}")?;
        }
        write!(f, "\n{:.1} seconds", self.seconds)?;
        if self.took_nothing() {
            let why = if self.refused_rows() > 0 { "what it holds was refused" } else { "is the file of this format?" };
            write!(f, "\nno row was taken: {why}")?;
        }
        if self.summary.ended_early.is_some() {
            write!(f, "\nthe rows before the early end are kept; importing the whole file later adds the rest")?;
        }
        Ok(())
    }
}
