//! The rows of a trace one after the other, whatever the file looks like.

use super::ImportError;
use super::job::ImportedJob;
use super::parser::{Parsed, Parser};
use super::reason::{EndedEarly, Reason};
use super::skipped::NOT_UTF8_FIELD;
use super::source::{Line, Source};
use super::utf8::NOT_UTF8;

/// What rows are counted in, so that a reason can say where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    #[default]
    Line,
    /// The jobs of a list that has no lines of its own.
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

/// What stands for jobs in a file, row by row.
pub(super) trait Rows: Send {
    /// The next row; `None` at the end, be it the real one or an early one. Fails only when the whole file is unusable.
    fn next(&mut self) -> Result<Parsed, ImportError>;

    /// The place of the row read last, from 1.
    fn place(&self) -> u64;

    fn unit(&self) -> Unit {
        Unit::Line
    }

    /// Set once the file broke off instead of ending.
    fn ended_early(&self) -> Option<EndedEarly>;
}

/// A file that has a line for each row.
pub(super) struct Lines {
    source: Source,
    parser: Box<dyn Parser>,
    over: bool,
}

impl Lines {
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

/// Reads a line with bytes that are no UTF-8. If the parser has no name for the field that has them, and no name of the job has
/// them, the job notes that there is one.
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

impl Rows for Lines {
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
