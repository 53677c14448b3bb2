//! `fairshared import`: reads traces of other schedulers as a stream of jobs, and sends the jobs to a server.
//!
//! A [`LineSource`] reads lines or JSON, a format's parser makes jobs of them, and a [`TraceReader`] checks and counts the jobs; none
//! of these knows the server. A [`feed`] runs them while [`load`] sends jobs through the REST API; [`command`] starts both.
//! Memory does not grow with the file.

pub mod accounts;
pub(super) mod amounts;
mod api;
mod body;
pub mod capacities;
pub mod charge_class;
pub mod command;
mod csv_lines;
pub mod domain_map;
mod durations;
pub mod earlier_rows;
mod feed;
pub mod format;
pub mod history;
pub mod job;
mod job_state;
mod later_runs;
pub mod load;
mod loose_json;
mod lsf;
pub mod map_mismatches;
pub mod missing_amounts;
mod neutral_csv;
mod no_name;
mod node_range;
pub mod offered;
pub mod outcome;
mod parser;
mod pbs;
pub mod reason;
pub mod rebase;
pub mod report;
pub mod row;
pub mod rows;
pub mod shifted_times;
pub mod skipped;
mod slurm;
pub mod source;
mod swf;
mod utf8;
pub mod zone;

use std::io;
use std::path::PathBuf;

use chrono_tz::Tz;

use crate::domain::names::{NameError, check_name};
use charge_class::ChargeClassField;
use format::ImportFormat;
use job::ImportedJob;
use missing_amounts::MissingAmounts;
use outcome::FileSummary;
use parser::HEADER_LINE;
use reason::{DropReason, DroppedRow, EndedEarly};
use rebase::TimeShift;
use rows::RowStream;
pub use slurm::slot_choices::SlotChoices;
use source::{LineSource, ReadProgress};
pub use swf::MemoryUnit;

/// All formats by their names on the command line. A new one is one file and one line here.
pub const FORMATS: &[ImportFormat] = &[slurm::FORMAT, swf::FORMAT, pbs::FORMAT, lsf::FORMAT, neutral_csv::FORMAT];

impl ImportFormat {
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }
}

/// The reason why a file cannot be read at all. A bad row is no error: it is dropped and counted.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot open {}: {error}", path.display())]
    Open { path: PathBuf, error: io::Error },
    #[error("the file is empty: it needs a header line that names its fields")]
    NoHeader,
    #[error("the header line is {0}")]
    UnreadableHeader(DropReason),
    #[error("{of} lacks the fields {missing}")]
    MissingFields { of: &'static str, missing: String },
    #[error("{of} lacks the fields {missing}, and {unknown:?} is no field that an import reads")]
    UnknownField { of: &'static str, missing: String, unknown: String },
    #[error("{of} names the field {name} twice")]
    FieldTwice { of: &'static str, name: &'static str },
    #[error(
        "lines {first} and {second} both say what the node {agent:?} of the resource group {group:?} offers at the same time"
    )]
    CapacityTwice { first: u64, second: u64, group: String, agent: String },
    #[error("lines {first} and {second} put the project {project:?} into different domains: {before:?} and {after:?}")]
    DomainTwice { first: u64, second: u64, project: String, before: String, after: String },
    #[error("{0}")]
    Slot(String),
    #[error("the file names no project")]
    NoProject,
    #[error("no line of the file has an account")]
    NoAccount,
    #[error("the file names no cluster: --resource-group names the group that gets the tree")]
    NoCluster,
    #[error("the JSON document has no list `jobs`")]
    NoJobs,
    #[error("Slurm wrote a fault instead of jobs: {0}")]
    SlurmFault(String),
    #[error("line {line}: UnixStartTime is not a number of seconds since 1970")]
    UnixStartTime { line: u64 },
    #[error("the format {format} has no field for --charge-class {field}; {known}")]
    NoChargeClass { field: &'static str, format: &'static str, known: String },
    #[error("{option} says nothing about the format {format}")]
    NotOfFormat { option: &'static str, format: &'static str },
    #[error(
        "the resource group {group:?} has the history {name:?} already, and would count it twice; \
         `DELETE /resource-groups/…/usage-histories/…` removes a history, and --source gives another file another name"
    )]
    HistoryKnown { group: String, name: String },
    #[error("the history name {name:?} {error}; --source gives the history another name")]
    HistoryName { name: String, error: NameError },
    #[error("shifted: {0}")]
    Shifted(shifted_times::ShiftedTrace),
    #[error("the resource group {0}")]
    ResourceGroup(NameError),
    #[error("line {}: {}", .0.line, .0.reason)]
    Row(DroppedRow),
    #[error(transparent)]
    EndedEarly(#[from] EndedEarly),
}

impl ImportError {
    /// True if the file is probably of another format: it has no header line, or one with other fields.
    fn is_of_another_format(&self) -> bool {
        match self {
            Self::NoHeader | Self::UnreadableHeader(_) | Self::NoJobs | Self::NoAccount => true,
            Self::MissingFields { of, .. } | Self::UnknownField { of, .. } => *of == HEADER_LINE,
            _ => false,
        }
    }
}

/// Properties of a trace that the trace itself does not contain, given by the user.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// The resource group of all jobs, in place of the one in the trace.
    pub resource_group: Option<String>,
    /// The unit of the memory fields of an SWF file.
    pub swf_memory: MemoryUnit,
    /// The time zone of times without an offset; UTC by default.
    pub zone: Option<Tz>,
    /// The separator of the fields of a table; by default the header shows it.
    pub delimiter: Option<char>,
    /// The fields of a table without a header line, separated by commas.
    pub fields: Option<String>,
    /// The resources that count as slots of their own.
    pub slots: SlotChoices,
    /// The field that becomes the charge class of jobs.
    pub charge_class: ChargeClassField,
}

impl TraceOptions {
    fn check(&self, format: &ImportFormat) -> Result<(), ImportError> {
        let given = [
            ("--timezone", self.zone.is_some(), format.zoned),
            ("--delimiter", self.delimiter.is_some(), format.table),
            ("--fields", self.fields.is_some(), format.table),
            ("--slot", !self.slots.is_empty(), format.names_resources),
        ];
        if let Some((option, ..)) = given.into_iter().find(|(_, given, heard)| *given && !heard) {
            return Err(ImportError::NotOfFormat { option, format: format.name });
        }
        if self.charge_class == ChargeClassField::None || format.charge_classes.contains(&self.charge_class) {
            return Ok(());
        }
        let known: Vec<&str> = format.charge_classes.iter().map(|field| field.name()).collect();
        let known = if known.is_empty() { "a column charge_class".to_owned() } else { known.join(" or ") };
        let (field, format) = (self.charge_class.name(), format.name);
        Err(ImportError::NoChargeClass { field, format, known: format!("it has {known}") })
    }
}

/// A row that stands for a job, whether it is imported or dropped.
#[derive(Clone, Debug, PartialEq)]
pub enum JobRow {
    Job(Box<ImportedJob>),
    Dropped(DroppedRow),
}

/// Streams the rows of one trace and counts them.
pub struct TraceReader {
    rows: Box<dyn RowStream>,
    progress: ReadProgress,
    resource_group: Option<String>,
    charge_class: ChargeClassField,
    missing_amounts: MissingAmounts,
    shift: TimeShift,
    summary: FileSummary,
    failed: bool,
}

impl TraceReader {
    pub fn new(format: &ImportFormat, source: LineSource, options: &TraceOptions) -> Result<Self, ImportError> {
        if let Some(name) = &options.resource_group {
            check_name(name).map_err(ImportError::ResourceGroup)?;
        }
        options.check(format)?;
        let progress = source.progress();
        let rows = format.rows(source, options);
        let zone = format.zoned.then(|| options.zone.unwrap_or(Tz::UTC).name());
        Ok(Self {
            summary: FileSummary {
                unit: rows.unit(),
                zone,
                chosen_resources: options.slots.resources().map(|name| (name.to_owned(), false)).collect(),
                ..FileSummary::default()
            },
            rows,
            progress,
            resource_group: options.resource_group.clone(),
            charge_class: options.charge_class,
            missing_amounts: format.missing_amounts,
            shift: TimeShift::default(),
            failed: false,
        })
    }

    /// Moves every time of every job by `shift`; the ids of jobs stay.
    #[must_use]
    pub fn shifted(mut self, shift: TimeShift) -> Self {
        self.shift = shift;
        self
    }

    /// The difference by which the times of the trace are moved.
    pub fn shift(&self) -> TimeShift {
        self.shift
    }

    /// The progress in the file.
    pub fn progress(&self) -> ReadProgress {
        self.progress.clone()
    }

    /// The position of the row that was read last.
    pub fn place(&self) -> u64 {
        self.rows.place()
    }

    /// The counts so far; final after the last row.
    pub fn summary(&self) -> &FileSummary {
        &self.summary
    }

    fn read_row(&mut self) -> Result<Option<JobRow>, ImportError> {
        let Some(row) = self.rows.next()? else {
            self.summary.ended_early = self.rows.ended_early();
            return Ok(None);
        };
        let never_started = row.as_ref().is_ok_and(|job| job.started_at.is_none());
        let row = row.and_then(|mut job| {
            self.charge_class.set(&mut job);
            job.checked(self.resource_group.as_deref(), self.missing_amounts)
        });
        let row = row.and_then(|job| self.shift.apply_to_job(job));
        let line = self.rows.place();
        Ok(Some(match row {
            Ok(job) => {
                self.summary.take_row(&job, line);
                JobRow::Job(Box::new(job))
            }
            Err(reason) => {
                let dropped = DroppedRow { line, reason };
                self.summary.drop_row(dropped, !never_started && reason.may_drop_usage());
                JobRow::Dropped(dropped)
            }
        }))
    }
}

/// Ends after the last row, or after an error that makes the rest unusable.
impl Iterator for TraceReader {
    type Item = Result<JobRow, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.read_row();
        self.failed = row.is_err();
        row.transpose()
    }
}
