//! The report at the end of an import, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use super::earlier_rows::EarlierRows;
use super::map_mismatches::MapMismatches;
use super::outcome::{FileSummary, ReasonTally};
use super::rebase::TimeShift;
use crate::api::input_warning::list_names;
use crate::cli::nouns::with_noun;
use crate::cli::refusals::RefusedRows;
use crate::domain::names::UNKNOWN_DOMAIN;

/// The balance of one import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportReport {
    /// The balance of the rows of the file.
    pub summary: FileSummary,
    /// The number of kernels that are new or changed.
    pub changed: u64,
    /// Taken rows that the service refused, by code.
    pub refused: RefusedRows,
    pub groups: u64,
    pub new_groups: u64,
    /// The number of agents that are new or changed.
    pub agents_changed: u64,
    /// The number of days whose capacity changed.
    pub capacity_days: u64,
    /// Groups without a known capacity, by name.
    pub without_capacity: Vec<String>,
    /// The number of rows that the server has taken in another way than they say, by the project and the sentence.
    pub server_warnings: BTreeMap<(String, String), u64>,
    /// A sentence about slots that kernels use and no agent has, after an import with agents.
    pub lacking_slots: Option<String>,
    /// The number of projects without a domain that got the one of the map.
    pub placed_projects: u64,
    /// Entries of the domain map that the import did not follow.
    pub map_mismatches: MapMismatches,
    /// Other histories of groups that took earlier jobs: the group and the name of the history.
    pub other_histories: Vec<(String, String)>,
    /// Projects of the file without a known domain, by name.
    pub without_domain: Vec<String>,
    /// Groups of the capacities file without rows.
    pub groups_without_rows: Vec<String>,
    /// The number of jobs that never ran, in resource groups that do not exist.
    pub without_group: u64,
    /// Groups that have accelerators in the capacities file, but none of whose jobs held one.
    pub unused_accelerators: Vec<String>,
    /// The number of runs that counted as running and were ended, because a later run of their job arrived.
    pub earlier_runs_ended: u64,
    /// The number of known kernels that were removed, because the file has them with other starts.
    pub replaced: u64,
    /// Taken rows of jobs that ended before the server keeps usage; they count only in usage reports.
    pub earlier: Option<EarlierRows>,
    /// `None` if it was not requested.
    pub rebased: Option<TimeRebase>,
    /// `None` if nothing was to be aggregated.
    pub slices: Option<u64>,
    pub seconds: f64,
}

/// The move of times by `--rebase-to-now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRebase {
    pub shift: TimeShift,
    /// True if an earlier import had determined the offset.
    pub kept: bool,
    /// True if dated capacities were moved as well.
    pub capacities: bool,
}

impl fmt::Display for TimeRebase {
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

/// The number of resource groups that a warning names one by one.
const GROUPS_NAMED: usize = 5;
/// The number of projects that a warning names.
const NAMES_SHOWN: usize = 5;

/// The beginning of a warning about projects without a known domain.
pub(super) fn without_domain(names: &[String]) -> String {
    let projects = with_noun(names.len() as u64, "project", "projects");
    format!(
        "no domain is known of {projects} ({}); what they used counts in {UNKNOWN_DOMAIN:?}",
        list_names(names, NAMES_SHOWN)
    )
}

impl ImportReport {
    pub fn refused_rows(&self) -> u64 {
        self.refused.rows()
    }

    /// The number of rows that the service has.
    pub fn taken(&self) -> u64 {
        self.summary.taken.saturating_sub(self.refused_rows() + self.without_group)
    }

    /// Adds rows that a part of the import has put into a history.
    pub(super) fn note_earlier(&mut self, more: Option<EarlierRows>) {
        self.earlier = match (self.earlier.take(), more) {
            (Some(known), Some(more)) => {
                Some(EarlierRows { rows: known.rows + more.rows, before: known.before.max(more.before), ..more })
            }
            (known, more) => known.or(more),
        };
    }

    /// The number of rows that contained nothing new.
    pub fn known(&self) -> u64 {
        self.taken().saturating_sub(self.changed)
    }

    pub fn changed_nothing(&self) -> bool {
        let settings = self.new_groups + self.agents_changed + self.capacity_days;
        let others = self.earlier_runs_ended + self.replaced + self.placed_projects;
        self.changed + others + settings + self.slices.unwrap_or(0) == 0
    }

    /// True if the file was read to its real end, some of it could be used, and no job that ran had to be dropped.
    pub fn succeeded(&self) -> bool {
        self.summary.ended_early.is_none() && self.summary.dropped_started == 0 && !self.took_nothing()
    }

    fn took_nothing(&self) -> bool {
        self.summary.rows > 0 && self.taken() == 0 && (self.refused_rows() > 0 || self.summary.has_useless_rows())
    }

    /// Sentences about what the user should look at, in the order in which they were found.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.summary.resource_warnings();
        if !self.unused_accelerators.is_empty() {
            let groups = list_names(&self.unused_accelerators, NAMES_SHOWN);
            warnings.push(format!(
                "the capacities have gpu, and no job held an accelerator in the resource groups {groups}: does the file \
                 say so in a field that it lacks, like AllocTRES with gres/gpu, AllocGRES or naccelerators?"
            ));
        }
        warnings.extend(self.without_capacity.iter().take(GROUPS_NAMED).map(|group| {
            format!(
                "resource group {group} has no capacity: everybody's factor stays 1; give it with --capacities FILE, or \
                 report its agents"
            )
        }));
        if let Some(more @ 1..) = self.without_capacity.len().checked_sub(GROUPS_NAMED) {
            let more = with_noun(more as u64, "more resource group has", "more resource groups have");
            warnings.push(format!("{more} no capacity; --resource-group NAME puts all rows into one"));
        }
        warnings.extend(self.other_histories.iter().map(|(group, name)| {
            format!(
                "resource group {group} has the history {name:?}, too: a job of both counts twice; \
                 `DELETE /resource-groups/…/usage-histories/…` removes a history"
            )
        }));
        warnings.extend(self.lacking_slots.clone());
        for ((project, sentence), rows) in &self.server_warnings {
            let place = if project.is_empty() { String::new() } else { format!("project {project}: ") };
            warnings.push(format!("{place}{sentence} ({})", with_noun(*rows, "row", "rows")));
        }
        if !self.without_domain.is_empty() {
            warnings.push(format!(
                "{}. Write a line PROJECT,DOMAIN for each into domains.csv and import again with --domain-map domains.csv, \
                 which moves it; `fairshared projects list --domain {UNKNOWN_DOMAIN} -o csv` lists them",
                without_domain(&self.without_domain)
            ));
        }
        warnings.extend(self.map_mismatches.warnings());
        if !self.groups_without_rows.is_empty() {
            let names = self.groups_without_rows.join(", ");
            warnings.push(format!("no row belongs to what has a capacity in the file: {names}"));
        }
        warnings
    }

    pub fn to_json(&self) -> Value {
        let tally =
            |reason: String, t: &ReasonTally| json!({"reason": reason, "rows": t.rows, "first_line": t.first_line});
        let dropped: Vec<_> = self.summary.dropped.iter().map(|(reason, t)| tally(reason.to_string(), t)).collect();
        let times = self.summary.times;
        let early = self.summary.ended_early.as_ref().map(|e| json!({"line": e.line, "cause": e.cause}));
        let warnings = self.server_warnings.iter();
        let warnings: Vec<_> =
            warnings.map(|((project, text), rows)| json!({"project": project, "detail": text, "rows": rows})).collect();
        let mut report = json!({
            "rows": self.summary.rows, "taken": self.taken(), "unmeasured": self.summary.unmeasured,
            "timezone": self.summary.zone, "local_time_rows": times.assumed, "ambiguous_time_rows": times.twice,
            "skipped_time_rows": times.never, "earlier_runs_ended": self.earlier_runs_ended, "replaced": self.replaced,
            "capacities_shifted": self.rebased.is_some_and(|r| r.capacities),
            "changed": self.changed, "already_known": self.known(), "dropped": dropped, "refused": self.refused.to_json("line"),
            "ended_early": early, "resource_groups": self.groups, "resource_groups_created": self.new_groups,
            "earlier": self.earlier.as_ref().map(|e| json!({"rows": e.rows, "before": e.before, "source": e.source})),
            "agents_changed": self.agents_changed, "capacity_days": self.capacity_days, "without_capacity": self.without_capacity,
            "other_histories": self.other_histories, "without_domain": self.without_domain, "groups_without_rows": self.groups_without_rows,
            "shifted_micros": self.rebased.map(|r| r.shift.micros()),
            "aggregated": self.slices.is_some(), "slices": self.slices.unwrap_or(0), "seconds": self.seconds,
            "jobs_without_resource_group": self.without_group, "accelerators_unused": self.unused_accelerators,
        });
        report["warnings"] = Value::Array(warnings);
        report["lacking_slots"] = json!(self.lacking_slots);
        report["placed_projects"] = self.placed_projects.into();
        report["map_mismatches"] = json!(self.map_mismatches);
        self.summary.add_fields_to(&mut report);
        report
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = &self.summary;
        let rows = with_noun(summary.rows, "row", "rows");
        write!(f, "{rows} read, {} taken, {} dropped", self.taken(), summary.dropped_rows())?;
        match self.refused_rows() {
            0 => writeln!(f)?,
            refused => writeln!(f, ", {refused} refused")?,
        }
        write!(f, "{summary}")?;
        self.refused.write(f, "refused", summary.unit.as_str())?;
        // A row of a job that ended too early makes no kernel.
        let (one, many) = if self.earlier.is_some() { ("row", "rows") } else { ("kernel", "kernels") };
        write!(f, "{} new or changed, {} already known", with_noun(self.changed, one, many), self.known())?;
        let groups = with_noun(self.groups, "resource group", "resource groups");
        write!(f, "; {groups}, {} new", self.new_groups)?;
        if self.agents_changed + self.capacity_days > 0 {
            let agents = with_noun(self.agents_changed, "agent", "agents");
            write!(f, "\n{agents} changed, {} got a capacity", with_noun(self.capacity_days, "day", "days"))?;
        }
        if self.earlier_runs_ended > 0 {
            let runs = with_noun(self.earlier_runs_ended, "earlier run", "earlier runs");
            write!(f, "\n{runs} ended, because a later run of the same job came")?;
        }
        if self.replaced > 0 {
            let kernels = with_noun(self.replaced, "known kernel was", "known kernels were");
            write!(f, "\n{kernels} taken back, because the file has other starts")?;
        }
        if self.placed_projects > 0 {
            let projects = with_noun(self.placed_projects, "project got its domain", "projects got their domains");
            write!(f, "\n{projects} from the map, and what was used before moves there")?;
        }
        if let Some(rebased) = self.rebased {
            write!(f, "\n{rebased}")?;
        }
        match self.slices {
            Some(slices) => write!(f, "\n{} recorded", with_noun(slices, "slice", "slices"))?,
            None => write!(f, "\nnot aggregated: the next run of the aggregate job records the usage")?,
        }
        if self.changed_nothing() {
            write!(f, "; nothing changed")?;
        }
        if self.without_group > 0 {
            let jobs = with_noun(self.without_group, "job", "jobs");
            let whose = if self.without_group == 1 { "its" } else { "their" };
            write!(f, "\n{jobs} that never ran left out: no job that ran makes {whose} resource group")?;
        }
        if let Some(EarlierRows { rows, before, source }) = &self.earlier {
            let rows = with_noun(*rows, "row is of a job", "rows are of jobs");
            write!(f, "\n{rows} that ended before {before}, from when the server keeps no kernels: reports ")?;
            write!(f, "count what they used, by day, in the history {source:?}; shares and lists of kernels do not")?;
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
