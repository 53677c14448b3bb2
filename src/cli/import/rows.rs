//! The rows of a trace one after the other, whatever the file looks like.

use super::ImportError;
use super::parser::{Parsed, Parser};
use super::reason::EndedEarly;
use super::source::{Line, Source};

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

impl Rows for Lines {
    fn next(&mut self) -> Result<Parsed, ImportError> {
        if self.over {
            return Ok(self.parser.left_over().map(Ok));
        }
        loop {
            let parsed = match self.source.next_line() {
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
