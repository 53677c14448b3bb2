//! The balance of the rows of a file: the number of rows that were taken, and that were dropped for each reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};

use super::amounts::GPU;
use super::job::{ImportedJob, UNKNOWN_NAME};
use super::reason::{DropReason, DroppedRow, EndedEarly};
use super::rows::RowUnit;
use super::skipped::{SkippedTallies, SkippedTally};
use super::zone::{RepeatedTime, TimesRead};
use crate::cli::nouns::with_noun;

/// Rows whose times had to be read in a certain way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalRows {
    pub assumed: u64,
    pub twice: u64,
    pub by_run_time: u64,
    pub never: u64,
}

impl LocalRows {
    pub(super) fn add(&mut self, times: TimesRead) {
        self.assumed += u64::from(times.assumed);
        match times.repeated {
            Some(RepeatedTime::First) => self.twice += 1,
            Some(RepeatedTime::ByRunTime) => self.by_run_time += 1,
            None => {}
        }
        self.never += u64::from(times.never);
    }
}

/// The number of rows that one reason dropped, and the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonTally {
    pub rows: u64,
    pub first_line: u64,
}

/// The number of jobs that are named as examples.
const JOBS_NAMED: usize = 3;

/// Rows without an owner, with the names of the first jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerlessRows {
    pub rows: u64,
    pub first_line: u64,
    pub jobs: Vec<String>,
}

impl OwnerlessRows {
    fn add(&mut self, job: &ImportedJob, line: u64) {
        if self.rows == 0 {
            self.first_line = line;
        }
        self.rows += 1;
        if self.jobs.len() < JOBS_NAMED {
            self.jobs.push(if job.run_of.is_empty() { &job.job_key } else { &job.run_of }.clone());
        }
    }

    fn sentence(&self, what: &str, unit: RowUnit) -> String {
        let rows = with_noun(self.rows, "row names", "rows name");
        let (unit, line, jobs) = (unit.as_str(), self.first_line, self.jobs.join(", "));
        let jobs = if self.rows > JOBS_NAMED as u64 { format!("{jobs}, ...") } else { jobs };
        format!("  {rows} no {what}, first at {unit} {line}, and count for the {what} {UNKNOWN_NAME}: job {jobs}")
    }
}

/// The number of resources that a warning names.
const RESOURCES_NAMED: usize = 5;

/// Rows of jobs that held slices of devices, which count as whole devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSlices {
    pub rows: u64,
    pub first_line: u64,
    /// The first resources, by Slurm's names.
    pub resources: BTreeSet<String>,
}

impl DeviceSlices {
    fn add(&mut self, resources: &[String], line: u64) {
        if resources.is_empty() {
            return;
        }
        if self.rows == 0 {
            self.first_line = line;
        }
        self.rows += 1;
        for resource in resources {
            if self.resources.len() < RESOURCES_NAMED && !self.resources.contains(resource) {
                self.resources.insert(resource.clone());
            }
        }
    }

    /// The warning about such rows, if there are any.
    pub(super) fn warning(&self, unit: RowUnit) -> Option<String> {
        let example = self.resources.first()?;
        let names = self.resources.iter().cloned().collect::<Vec<_>>().join(", ");
        let (rows, place) = (with_noun(self.rows, "row", "rows"), format!("{} {}", unit.as_str(), self.first_line));
        Some(format!(
            "slices of devices ({names}) count as whole devices in {rows}, first at {place}: \
             --slot {example}=NAME makes them a slot of their own"
        ))
    }
}

/// The balance of one file: `rows = taken + dropped`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// The number of rows, without headers, comments and blank lines.
    pub rows: u64,
    pub taken: u64,
    /// The number of taken rows of jobs that ran but for which the trace has no amounts, so that they add no usage.
    pub unmeasured: u64,
    pub dropped: BTreeMap<DropReason, ReasonTally>,
    /// The number of dropped rows of jobs that ran, or that may have run.
    pub dropped_started: u64,
    /// Fields that were left out of taken rows.
    pub skipped: SkippedTallies,
    pub without_user: OwnerlessRows,
    pub without_project: OwnerlessRows,
    /// The number of rows whose runtime is shorter than the time from start to end, so that the runtime counts.
    pub charged_by_run_time: u64,
    /// The resource groups of jobs that ran; true if one of these jobs held an accelerator.
    pub accelerator_use: BTreeMap<String, bool>,
    pub device_slices: DeviceSlices,
    /// The resources that the user chose as slots of their own; true if a taken row has one.
    pub chosen_resources: BTreeMap<String, bool>,
    /// The unit in which places are counted.
    pub unit: RowUnit,
    /// The zone of times without an offset; `None` if the format has no such times.
    pub zone: Option<&'static str>,
    pub times: LocalRows,
    pub ended_early: Option<EndedEarly>,
}

impl FileSummary {
    pub(super) fn take_row(&mut self, job: &ImportedJob, line: u64) {
        self.rows += 1;
        self.taken += 1;
        self.unmeasured += u64::from(job.started_at.is_some() && job.slots.is_empty());
        self.charged_by_run_time += u64::from(job.charged_by_run_time);
        if job.started_at.is_some() {
            self.note_accelerators(job);
        }
        self.device_slices.add(&job.device_slices, line);
        for resource in &job.chosen_resources {
            self.chosen_resources.insert(resource.clone(), true);
        }
        self.times.add(job.times);
        self.skipped.add(&job.skipped, line);
        if job.lacks_user {
            self.without_user.add(job, line);
        }
        if job.lacks_project {
            self.without_project.add(job, line);
        }
    }

    fn note_accelerators(&mut self, job: &ImportedJob) {
        let holds_any = job.slots.iter().any(|(name, _)| name.as_str() == GPU);
        match self.accelerator_use.get_mut(&job.resource_group) {
            Some(known) => *known |= holds_any,
            None => _ = self.accelerator_use.insert(job.resource_group.clone(), holds_any),
        }
    }

    /// Counts a dropped row. `has_usage` is true if its job may have run.
    pub(super) fn drop_row(&mut self, dropped: DroppedRow, has_usage: bool) {
        self.rows += 1;
        self.dropped_started += u64::from(has_usage);
        let tally = self.dropped.entry(dropped.reason).or_insert(ReasonTally { rows: 0, first_line: dropped.line });
        tally.rows += 1;
    }

    /// Sentences about resources: slices that count as whole devices, and chosen resources that no row has.
    pub(super) fn resource_warnings(&self) -> Vec<String> {
        let absent = self.absent_resources().into_iter().filter(|_| self.taken > 0);
        let absent = absent
            .map(|name| format!("--slot {name} has no effect: no row that was taken has a resource of that name"));
        self.device_slices.warning(self.unit).into_iter().chain(absent).collect()
    }

    /// The resources that the user chose and no taken row has.
    fn absent_resources(&self) -> Vec<&String> {
        self.chosen_resources.iter().filter(|(_, is_there)| !**is_there).map(|(name, _)| name).collect()
    }

    /// True if a row was dropped because it cannot be read, and not because it has no content yet.
    pub fn has_useless_rows(&self) -> bool {
        self.dropped.keys().any(|reason| *reason == DropReason::OtherRecord || reason.may_drop_usage())
    }

    pub fn dropped_rows(&self) -> u64 {
        self.dropped.values().map(|tally| tally.rows).sum()
    }
}

impl fmt::Display for FileSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (reason, tally) in &self.dropped {
            writeln!(f, "  {} dropped, first at {} {}: {reason}", tally.rows, self.unit.as_str(), tally.first_line)?;
        }
        if self.unmeasured > 0 {
            writeln!(f, "  {} taken without any amount, which adds no usage", self.unmeasured)?;
        }
        self.write_fields(f)?;
        let LocalRows { assumed, twice, by_run_time, never } = self.times;
        if let Some(zone) = self.zone.filter(|_| assumed > 0) {
            let rows = with_noun(assumed, "row", "rows");
            writeln!(f, "times without an offset were read as {zone}, in {rows}")?;
        }
        if twice > 0 {
            let rows = with_noun(twice, "row has", "rows have");
            writeln!(f, "  {rows} a time that the clock showed twice: its first was taken")?;
        }
        if by_run_time > 0 {
            let rows = with_noun(by_run_time, "row has", "rows have");
            writeln!(f, "  {rows} a time that the clock showed twice: the run time says which of the two it is")?;
        }
        if never > 0 {
            let rows = with_noun(never, "row has", "rows have");
            writeln!(f, "  {rows} a time that the clock never showed: is the time zone right?")?;
        }
        match &self.ended_early {
            Some(early) => writeln!(f, "{early}"),
            None => Ok(()),
        }
    }
}

impl FileSummary {
    /// Writes the sentences about fields: those that are missing, were left out, or determined the charge.
    fn write_fields(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit.as_str();
        for (name, tally) in self.skipped.iter() {
            let SkippedTally { rows, first_line, example, cause } = tally;
            let (rows, why) = (with_noun(*rows, "row", "rows"), cause.sentence());
            writeln!(f, "  field {name} left out of {rows}, first at {unit} {first_line}: {example:?} {why}")?;
        }
        for (what, ownerless) in [("user", &self.without_user), ("project", &self.without_project)] {
            if ownerless.rows > 0 {
                writeln!(f, "{}", ownerless.sentence(what, self.unit))?;
            }
        }
        if self.charged_by_run_time > 0 {
            let rows = with_noun(self.charged_by_run_time, "row has", "rows have");
            writeln!(f, "  {rows} a run time that is shorter than from start to end: the run time was charged")?;
        }
        if self.dropped_started > 0 {
            let rows = with_noun(self.dropped_started, "dropped row is", "dropped rows are");
            writeln!(f, "  {rows} of jobs that ran or may have run: what they used is missing")?;
        }
        Ok(())
    }

    /// Adds the same for programs, as keys of a report.
    pub fn add_fields_to(&self, report: &mut Value) {
        let skipped = self.skipped.iter().map(|(name, tally)| {
            let SkippedTally { rows, first_line, example, cause } = tally;
            json!({
                "field": name, "rows": rows, "first_line": first_line, "example": example, "cause": cause.sentence(),
            })
        });
        report["skipped_fields"] = skipped.collect();
        report["rows_without_user"] = self.without_user.rows.into();
        report["rows_without_project"] = self.without_project.rows.into();
        report["charged_by_run_time"] = self.charged_by_run_time.into();
        report["times_by_run_time"] = self.times.by_run_time.into();
        report["dropped_started"] = self.dropped_started.into();
        report["absent_resources"] = json!(self.absent_resources());
        let DeviceSlices { rows, first_line, resources } = &self.device_slices;
        report["device_slices"] = json!({"rows": rows, "first_line": first_line, "resources": resources});
    }
}
