//! The reports that wait for the server.
//!
//! There is one file, with the latest reading of the accounting. A reading begins where the server's knowledge ends, so a
//! later one has everything that an earlier one had, and replaces it. A reading that is too large is not kept: the accounting
//! itself has it, and the next reading begins at the same time. So nothing is lost, and the disk is never filled.

use std::io;
use std::path::{Path, PathBuf};

use domain::time::Timestamp;

use super::state_file::replace_file;

const SPOOL_FILE: &str = "reports.ndjson";

/// A reading of the accounting as lines of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpooledReports {
    /// The lines have everything that the accounting had learned until then; `None` if it was behind.
    pub complete_until: Option<Timestamp>,
    /// One kernel in each line.
    pub lines: Vec<u8>,
}

impl SpooledReports {
    /// The number of kernels.
    pub fn count(&self) -> u64 {
        memchr::memchr_iter(b'\n', &self.lines).count() as u64
    }
}

/// The file with the reports that wait.
#[derive(Clone, Debug)]
pub struct ReportSpool {
    path: PathBuf,
    max_bytes: u64,
}

impl ReportSpool {
    pub fn new(folder: &Path, max_bytes: u64) -> Self {
        Self { path: folder.join(SPOOL_FILE), max_bytes }
    }

    /// Replaces the reports that wait. Returns false, and leaves them as they are, if these are too large.
    pub fn replace(&self, reports: &SpooledReports) -> io::Result<bool> {
        if reports.lines.len() as u64 > self.max_bytes {
            return Ok(false);
        }
        let until = reports.complete_until.map(Timestamp::micros).unwrap_or_default();
        let mut content = format!("{until}\n").into_bytes();
        content.extend(&reports.lines);
        replace_file(&self.path, &content).map(|()| true)
    }

    /// The reports that wait.
    pub fn load(&self) -> io::Result<Option<SpooledReports>> {
        let content = match std::fs::read(&self.path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let end = memchr::memchr(b'\n', &content).ok_or(io::ErrorKind::InvalidData)?;
        let until = std::str::from_utf8(&content[..end]).ok().and_then(|text| text.parse::<i64>().ok());
        let until = until.ok_or(io::ErrorKind::InvalidData)?;
        let complete_until = (until > 0).then(|| Timestamp::from_micros(until));
        Ok(Some(SpooledReports { complete_until, lines: content[end + 1..].to_vec() }))
    }

    /// The size of the file in bytes; 0 if no reports wait.
    pub fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |file| file.len())
    }

    /// Removes the reports after the server has taken them.
    pub fn clear(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
