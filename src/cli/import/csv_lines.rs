//! CSV with one record per line.

use std::io::{self, Read};

use csv::{ReaderBuilder, StringRecord, Terminator};

use super::outcome::Reason;
use crate::domain::time::Timestamp;

/// Hands the csv reader one line at a time, so that an open quote costs a line, not the file.
#[derive(Default)]
struct Feed {
    line: Vec<u8>,
    at: usize,
    starved: bool,
}

impl Read for Feed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (&self.line[self.at..]).read(buffer)?;
        self.at += count;
        self.starved |= count == 0;
        Ok(count)
    }
}

pub(super) struct CsvLines {
    reader: csv::Reader<Feed>,
    record: StringRecord,
}

impl Default for CsvLines {
    fn default() -> Self {
        Self { reader: reader(), record: StringRecord::new() }
    }
}

fn reader() -> csv::Reader<Feed> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(Feed::default())
}

impl CsvLines {
    /// The fields of one line.
    pub(super) fn fields(&mut self, line: &str) -> Result<&StringRecord, Reason> {
        let feed = self.reader.get_mut();
        feed.line.clear();
        feed.line.extend_from_slice(line.as_bytes());
        feed.line.push(b'\n');
        feed.at = 0;
        let read = self.reader.read_record(&mut self.record);
        if self.reader.get_ref().starved {
            self.reader = reader();
            return Err(Reason::OpenQuote);
        }
        match read {
            Ok(true) => Ok(&self.record),
            _ => Err(Reason::FieldCount),
        }
    }
}

/// An empty field is unknown; anything else must be a time.
pub(super) fn time(text: &str, field: &'static str) -> Result<Option<Timestamp>, Reason> {
    match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| Reason::BadTime(field)),
    }
}
