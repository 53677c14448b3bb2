//! `fairshared import`: traces of other schedulers as a stream of jobs, and the jobs into the service.
//!
//! A [`Source`] gives lines, a format's parser gives jobs, a [`Reader`] checks and counts them; up to
//! there nothing knows the service. A [`feed`] runs that beside the [`load`] into the service, which
//! [`command`] starts. Memory does not grow with the file.

pub(super) mod amounts;
pub mod capacities;
pub mod command;
mod csv_lines;
pub mod domain_map;
mod feed;
pub mod format;
pub mod job;
pub mod load;
mod neutral_csv;
pub mod offered;
pub mod outcome;
pub mod rebase;
pub mod report;
mod sacct;
pub mod source;
mod swf;

use std::io;
use std::path::PathBuf;

use crate::domain::names::{NameError, check_name};
use format::{Format, Parser};
use job::ImportedJob;
use outcome::{Dropped, EndedEarly, Reason, Summary};
use rebase::Shift;
use source::{Line, Source};
pub use swf::MemoryUnit;

/// Why a file cannot be read at all. A bad row is no error: it is dropped and counted.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot open {}: {error}", path.display())]
    Open { path: PathBuf, error: io::Error },
    #[error("the file is empty: it needs a header line that names its fields")]
    NoHeader,
    #[error("the header line is {0}")]
    UnreadableHeader(Reason),
    #[error("the header line lacks the fields {0}")]
    MissingFields(String),
    #[error("the header line names the field {0} twice")]
    FieldTwice(&'static str),
    #[error("the resource group {0}")]
    ResourceGroup(#[from] NameError),
    #[error("line {}: {}", .0.line, .0.reason)]
    Row(Dropped),
    #[error(transparent)]
    EndedEarly(#[from] EndedEarly),
}

/// What the user says about a trace that the trace does not.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Puts every job into this resource group, whatever the trace says.
    pub resource_group: Option<String>,
    /// What the memory fields of an SWF file count.
    pub swf_memory: MemoryUnit,
}

/// A row that stands for a job, taken or not.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    Job(Box<ImportedJob>),
    Dropped(Dropped),
}

/// Streams the rows of one trace and keeps the balance.
pub struct Reader {
    source: Source,
    parser: Box<dyn Parser>,
    resource_group: Option<String>,
    shift: Shift,
    summary: Summary,
    failed: bool,
}

impl Reader {
    pub fn new(format: &Format, source: Source, options: &Options) -> Result<Self, ImportError> {
        if let Some(name) = &options.resource_group {
            check_name(name)?;
        }
        Ok(Self {
            source: source.of_whole_lines(),
            parser: (format.parser)(options),
            resource_group: options.resource_group.clone(),
            shift: Shift::default(),
            summary: Summary::default(),
            failed: false,
        })
    }

    /// Moves every time of every job; identities stay those of the trace.
    #[must_use]
    pub fn shifted(mut self, shift: Shift) -> Self {
        self.shift = shift;
        self
    }

    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The balance so far; final once the rows are through.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    fn read_row(&mut self) -> Result<Option<Row>, ImportError> {
        loop {
            let parsed = match self.source.next_line() {
                Some(Line::Text(text)) => self.parser.line(text)?,
                Some(Line::Unreadable { first, .. }) if self.parser.comment_mark() == Some(first) => None,
                Some(Line::Unreadable { reason, .. }) if self.parser.awaits_header() => {
                    return Err(ImportError::UnreadableHeader(reason));
                }
                Some(Line::Unreadable { reason, .. }) => Some(Err(reason)),
                None => return self.end().map(|()| None),
            };
            if let Some(row) = parsed {
                let row = row.and_then(|job| job.checked(self.resource_group.as_deref()));
                let row = row.and_then(|job| self.shift.apply_to_job(job));
                return Ok(Some(self.count(row)));
            }
        }
    }

    fn count(&mut self, row: Result<ImportedJob, Reason>) -> Row {
        match row {
            Ok(job) => {
                self.summary.rows += 1;
                self.summary.taken += 1;
                self.summary.unmeasured += u64::from(job.started_at.is_some() && job.slots.is_empty());
                Row::Job(Box::new(job))
            }
            Err(reason) => {
                let dropped = Dropped { line: self.source.line_number(), reason };
                self.summary.drop_row(dropped);
                Row::Dropped(dropped)
            }
        }
    }

    fn end(&mut self) -> Result<(), ImportError> {
        self.summary.ended_early = self.source.ended_early().cloned();
        if !self.parser.awaits_header() {
            return Ok(());
        }
        Err(self.summary.ended_early.clone().map_or(ImportError::NoHeader, ImportError::EndedEarly))
    }
}

/// Ends after the last row, or after an error that makes the rest unusable.
impl Iterator for Reader {
    type Item = Result<Row, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.read_row();
        self.failed = row.is_err();
        row.transpose()
    }
}
