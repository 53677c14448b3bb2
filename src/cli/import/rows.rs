//! The rows of a trace one after the other, for every form of file.

use super::ImportError;
use super::job::ImportedJob;
use super::parser::{Parsed, Parser};
use super::reason::{EndedEarly, Reason};
use super::skipped::NOT_UTF8_FIELD;
use super::source::{Line, Source};
use super::utf8::NOT_UTF8;

/// The unit in which rows are counted, so that a reason can name the place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    #[default]
    Line,
    /// The jobs of a list that has no lines.
    Job,
}

impl Unit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Job => "job",
        }
    }
}

/// The rows of a file, each of which stands for a job.
pub(super) trait Rows: Send {
    /// The next row; `None` at the real end or an early one. Fails only if the whole file is unusable.
    fn next(&mut self) -> Result<Parsed, ImportError>;

    /// The place of the row that was read last, from 1 on.
    fn place(&self) -> u64;

    fn unit(&self) -> Unit {
        Unit::Line
    }

    /// Set if the file broke off instead of ending.
    fn ended_early(&self) -> Option<EndedEarly>;
}

/// A file with a line for each row.
pub(super) struct TextRows {
    source: Source,
    parser: Box<dyn Parser>,
    over: bool,
}

impl TextRows {
    pub(super) fn new(source: Source, parser: Box<dyn Parser>) -> Self {
        Self { source: source.of_whole_lines(), parser, over: false }
    }

    fn end(&mut self) -> Result<Parsed, ImportError> {
        self.over = true;
        if self.parser.awaits_header() {
            let early = self.source.ended_early().cloned();
            return Err(early.map_or(ImportError::NoHeader, ImportError::EndedEarly));
        }
        Ok(self.parser.left_over().map(Ok))
    }
}

/// Reads a line with invalid UTF-8. If the parser does not name the field with the invalid bytes, and no name of the
/// job contains them, the job notes that there are some.
fn mended(parser: &mut dyn Parser, text: &str) -> Result<Parsed, ImportError> {
    let awaits_header = parser.awaits_header();
    let parsed = parser.line(text);
    if awaits_header && parsed.is_err() {
        return Err(ImportError::UnreadableHeader(Reason::InvalidUtf8));
    }
    let note = |mut job: ImportedJob| {
        let names = [job.queue.as_deref(), job.agent.as_deref(), Some(&job.session_key), Some(&job.domain)];
        let is_in_name = names.into_iter().flatten().any(|name| name.contains(NOT_UTF8));
        if job.skipped.is_empty() && !is_in_name {
            job.skipped.add(NOT_UTF8_FIELD, text);
        }
        job
    };
    let name_cause = |reason| if reason == Reason::FieldCount { Reason::InvalidUtf8 } else { reason };
    Ok(parsed?.map(|row| row.map(note).map_err(name_cause)))
}

impl Rows for TextRows {
    fn next(&mut self) -> Result<Parsed, ImportError> {
        if self.over {
            return Ok(self.parser.left_over().map(Ok));
        }
        loop {
            let parsed = match self.source.next_line() {
                Some(Line::Text(text)) if text.contains(NOT_UTF8) => mended(&mut *self.parser, text)?,
                Some(Line::Text(text)) => self.parser.line(text)?,
                Some(Line::Unreadable { first, .. }) if self.parser.comment_mark() == Some(first) => None,
                Some(Line::Unreadable { reason, .. }) if self.parser.awaits_header() => {
                    return Err(ImportError::UnreadableHeader(reason));
                }
                Some(Line::Unreadable { reason, .. }) => Some(Err(reason)),
                None => return self.end(),
            };
            if parsed.is_some() {
                return Ok(parsed);
            }
        }
    }

    fn place(&self) -> u64 {
        self.source.line_number()
    }

    fn ended_early(&self) -> Option<EndedEarly> {
        self.source.ended_early().cloned()
    }
}
