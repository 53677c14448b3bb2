//! CSV with one record on each line.

use std::io::{self, Read};

use csv::{ReaderBuilder, StringRecord, Terminator};

use super::ImportError;
use super::reason::DropReason;
use super::source::{LineSource, SourceLine};
use crate::domain::time::Timestamp;

/// Passes one line at a time to the CSV reader, so that an unclosed quote spoils only a line, not the rest of the file.
#[derive(Default)]
struct LineFeed {
    line: Vec<u8>,
    at: usize,
    starved: bool,
}

impl Read for LineFeed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (&self.line[self.at..]).read(buffer)?;
        self.at += count;
        self.starved |= count == 0;
        Ok(count)
    }
}

pub(super) struct CsvLines {
    reader: csv::Reader<LineFeed>,
    record: StringRecord,
}

impl Default for CsvLines {
    fn default() -> Self {
        Self { reader: reader(), record: StringRecord::new() }
    }
}

fn reader() -> csv::Reader<LineFeed> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(LineFeed::default())
}

impl CsvLines {
    /// The fields of one line.
    pub(super) fn fields(&mut self, line: &str) -> Result<&StringRecord, DropReason> {
        let feed = self.reader.get_mut();
        feed.line.clear();
        feed.line.extend_from_slice(line.as_bytes());
        feed.line.push(b'\n');
        feed.at = 0;
        let read = self.reader.read_record(&mut self.record);
        if self.reader.get_ref().starved {
            self.reader = reader();
            return Err(DropReason::OpenQuote);
        }
        match read {
            Ok(true) => Ok(&self.record),
            _ => Err(DropReason::FieldCount),
        }
    }
}

/// Passes every record of a small table, with its line, to `each`. Blank lines are skipped. Such a file is read
/// completely or not at all.
pub(super) fn each_record(
    source: &mut LineSource,
    mut each: impl FnMut(u64, Result<&StringRecord, DropReason>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut lines = CsvLines::default();
    while let Some(line) = source.next_line() {
        let text = match line {
            SourceLine::Text(text) if text.trim().is_empty() => continue,
            SourceLine::Text(text) => Ok(text),
            SourceLine::Unreadable { reason, .. } => Err(reason),
        };
        let record = text.and_then(|text| lines.fields(text));
        each(source.line_number(), record)?;
    }
    source.ended_early().map_or(Ok(()), |early| Err(early.clone().into()))
}

/// The time in a field; an empty field is unknown.
pub(super) fn time(text: &str, field: &'static str) -> Result<Option<Timestamp>, DropReason> {
    match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| DropReason::BadTime(field)),
    }
}
