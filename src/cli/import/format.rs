//! A format that an import reads, as its file describes it.

use super::Options;
use super::parser::Parser;
use super::rows::{Lines, Rows};
use super::source::Source;

/// Gives the rows of a JSON document.
type ReadDocument = fn(Source, &Options) -> Box<dyn Rows>;

#[derive(Clone, Copy)]
pub struct Format {
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// Its times may be local ones, so that a time zone says something.
    pub zoned: bool,
    /// A table whose separator and header the user may know better.
    pub table: bool,
    /// Resources have names, so that the user may say which count as slots.
    pub names_resources: bool,
    pub(super) parser: fn(&Options) -> Box<dyn Parser>,
    /// Reads the same as a JSON document.
    pub(super) json: Option<ReadDocument>,
}

impl Format {
    pub(super) fn rows(&self, mut source: Source, options: &Options) -> Box<dyn Rows> {
        if let Some(json) = self.json
            && source.is_json()
        {
            return json(source, options);
        }
        Box::new(Lines::new(source.of_any_encoding(), (self.parser)(options)))
    }
}
