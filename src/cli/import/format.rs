//! A format that an import reads, as its file describes it.

use super::Options;
use super::parser::Parser;
use super::rows::{Lines, Rows};
use super::source::Source;

#[derive(Clone, Copy)]
pub struct Format {
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// Its times may be local ones, so that a time zone says something.
    pub zoned: bool,
    /// A table whose separator and header the user may know better.
    pub table: bool,
    pub(super) parser: fn(&Options) -> Box<dyn Parser>,
    /// Reads the same as a JSON document.
    pub(super) json: Option<fn(Source) -> Box<dyn Rows>>,
}

impl Format {
    pub(super) fn rows(&self, mut source: Source, options: &Options) -> Box<dyn Rows> {
        if let Some(json) = self.json
            && source.is_json()
        {
            return json(source);
        }
        let parser = (self.parser)(options);
        let source = if parser.any_encoding() { source.of_any_encoding() } else { source };
        Box::new(Lines::new(source, parser))
    }
}
