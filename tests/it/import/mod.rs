//! Reading traces: every quirk of every format, and real files against independent sums.

mod accelerators;
mod accounts;
mod capacity_files;
mod charge_class;
mod csv;
mod domains;
mod earlier;
mod history;
mod hostile;
mod jobs;
mod loading;
mod lsf;
mod missing_times;
mod never_ran;
mod odd_files;
mod optional_fields;
mod pbs;
mod program;
mod report;
mod run_times;
mod sacct;
mod sacct_fields;
mod sacct_json;
mod shifted;
mod source;
mod swf;
mod traces;
mod zones;

use std::io::{Cursor, Write};

use fairshared::cli::import::format::ImportFormat;
use fairshared::cli::import::job::ImportedJob;
use fairshared::cli::import::outcome::FileSummary;
use fairshared::cli::import::reason::{DropReason, DroppedRow};
use fairshared::cli::import::row;
use fairshared::cli::import::source::LineSource;
use fairshared::cli::import::{ImportError, JobRow, TraceOptions, TraceReader};
use fairshared::domain::kernel::KernelReport;
use fairshared::domain::slots::SlotName;
use fairshared::domain::time::Timestamp;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::fixture::incoming;

/// All rows of one input, and its summary.
struct Outcome {
    jobs: Vec<ImportedJob>,
    dropped: Vec<DroppedRow>,
    summary: FileSummary,
}

impl Outcome {
    fn only_job(mut self) -> ImportedJob {
        assert_eq!((self.jobs.len(), &self.dropped), (1, &vec![]));
        self.jobs.remove(0)
    }

    fn reasons(&self) -> Vec<DropReason> {
        self.dropped.iter().map(|dropped| dropped.reason).collect()
    }
}

/// The fields that were left out, and the number of rows of each.
fn skipped(outcome: &Outcome) -> Vec<(&str, u64)> {
    outcome.summary.skipped.iter().map(|(name, tally)| (name, tally.rows)).collect()
}

/// The report that the server reads from the line of a job.
fn report(job: &ImportedJob) -> KernelReport {
    let mut line = Vec::new();
    row::write(job, job.kernel_id(), &mut line).unwrap();
    *incoming(&serde_json::from_slice(&line).unwrap()).report
}

fn source(bytes: impl Into<Vec<u8>>) -> LineSource {
    LineSource::new(Cursor::new(bytes.into()), None)
}

/// Plain text gets a newline at its end.
fn reader(format: &str, bytes: impl Into<Vec<u8>>, options: &TraceOptions) -> TraceReader {
    let mut bytes = bytes.into();
    if !bytes.starts_with(&[0x1f, 0x8b]) && bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    TraceReader::new(ImportFormat::named(format).unwrap(), source(bytes), options).unwrap()
}

fn collect(mut reader: TraceReader) -> Result<Outcome, ImportError> {
    let (mut jobs, mut dropped) = (Vec::new(), Vec::new());
    for row in reader.by_ref() {
        match row? {
            JobRow::Job(job) => jobs.push(*job),
            JobRow::Dropped(row) => dropped.push(row),
        }
    }
    Ok(Outcome { jobs, dropped, summary: reader.summary().clone() })
}

fn read_with(format: &str, bytes: impl Into<Vec<u8>>, options: &TraceOptions) -> Outcome {
    let outcome = collect(reader(format, bytes, options)).unwrap();
    let summary = &outcome.summary;
    assert_eq!(summary.taken, outcome.jobs.len() as u64);
    assert_eq!(summary.dropped_rows(), outcome.dropped.len() as u64);
    assert_eq!(summary.rows, summary.taken + summary.dropped_rows());
    outcome
}

fn read(format: &str, bytes: impl Into<Vec<u8>>) -> Outcome {
    read_with(format, bytes, &TraceOptions::default())
}

fn refused(format: &str, bytes: impl Into<Vec<u8>>) -> String {
    collect(reader(format, bytes, &TraceOptions::default())).err().expect("the file is unusable").to_string()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// `cpu=2 mem=1024`, as the job holds it.
fn slots(job: &ImportedJob) -> String {
    job.slots.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" ")
}

fn slot(name: &str) -> SlotName {
    SlotName::new(name).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
