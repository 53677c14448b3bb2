//! The rows of a trace one after the other, for every form of file.

use super::ImportError;
use super::job::ImportedJob;
use super::parser::{LineParser, ParsedLine};
use super::reason::{DropReason, EndedEarly};
use super::skipped::NOT_UTF8_FIELD;
use super::source::{LineSource, SourceLine};
use super::utf8::NOT_UTF8;

/// The unit in which rows are counted, so that a reason can name the place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowUnit {
    #[default]
    Line,
    /// The jobs of a list that has no lines.
    Job,
}

impl RowUnit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Job => "job",
        }
    }
}

/// The rows of a file, each of which stands for a job.
pub(super) trait RowStream: Send {
    /// The next row; `None` at the real end or an early one. Fails only if the whole file is unusable.
    fn next(&mut self) -> Result<ParsedLine, ImportError>;

    /// The place of the row that was read last, from 1 on.
    fn place(&self) -> u64;

    fn unit(&self) -> RowUnit {
        RowUnit::Line
    }

    /// Set if the file broke off instead of ending.
    fn ended_early(&self) -> Option<EndedEarly>;
}

/// A file with a line for each row.
pub(super) struct TextRows {
    source: LineSource,
    parser: Box<dyn LineParser>,
    over: bool,
}

impl TextRows {
    pub(super) fn new(source: LineSource, parser: Box<dyn LineParser>) -> Self {
        Self { source: source.of_whole_lines(), parser, over: false }
    }

    fn end(&mut self) -> Result<ParsedLine, ImportError> {
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
fn parse_mended(parser: &mut dyn LineParser, text: &str) -> Result<ParsedLine, ImportError> {
    let awaits_header = parser.awaits_header();
    let parsed = parser.line(text);
    if awaits_header && parsed.is_err() {
        return Err(ImportError::UnreadableHeader(DropReason::InvalidUtf8));
    }
    let note = |mut job: ImportedJob| {
        let is_in_name = {
            let names = [job.queue.as_deref(), Some(&*job.session_key), Some(&*job.domain)].into_iter().flatten();
            let mut names = names.chain(job.agents.names().iter().map(String::as_str));
            names.any(|name| name.contains(NOT_UTF8))
        };
        if job.skipped.is_empty() && !is_in_name {
            job.skipped.add(NOT_UTF8_FIELD, text);
        }
        job
    };
    let name_cause = |reason| if reason == DropReason::FieldCount { DropReason::InvalidUtf8 } else { reason };
    Ok(parsed?.map(|row| row.map(note).map_err(name_cause)))
}

impl RowStream for TextRows {
    fn next(&mut self) -> Result<ParsedLine, ImportError> {
        if self.over {
            return Ok(self.parser.left_over().map(Ok));
        }
        loop {
            let parsed = match self.source.next_line() {
                Some(SourceLine::Text(text)) if text.contains(NOT_UTF8) => parse_mended(&mut *self.parser, text)?,
                Some(SourceLine::Text(text)) => self.parser.line(text)?,
                Some(SourceLine::Unreadable { first, .. }) if self.parser.comment_mark() == Some(first) => None,
                Some(SourceLine::Unreadable { reason, .. }) if self.parser.awaits_header() => {
                    return Err(ImportError::UnreadableHeader(reason));
                }
                Some(SourceLine::Unreadable { reason, .. }) => Some(Err(reason)),
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
