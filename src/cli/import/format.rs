//! A format of an import, as its file describes it.

use super::Options;
use super::charge_class::ChargeClassField;
use super::parser::Parser;
use super::rows::{Rows, TextRows};
use super::source::Source;

/// Returns the rows of a JSON document.
type ReadDocument = fn(Source, &Options) -> Box<dyn Rows>;

#[derive(Clone, Copy)]
pub struct Format {
    pub name: &'static str,
    /// A description in one line, for the help.
    pub about: &'static str,
    /// True if its times may be local, so that a time zone has an effect.
    pub zoned: bool,
    /// True for a table whose separator and header the user may specify.
    pub table: bool,
    /// True if resources have names, so that the user may choose which of them count as slots.
    pub names_resources: bool,
    /// The fields that `--charge-class` may choose.
    pub(super) charge_classes: &'static [ChargeClassField],
    pub(super) parser: fn(&Options) -> Box<dyn Parser>,
    /// Reads the same format as a JSON document.
    pub(super) json: Option<ReadDocument>,
}

impl Format {
    pub(super) fn rows(&self, mut source: Source, options: &Options) -> Box<dyn Rows> {
        if let Some(json) = self.json
            && source.is_json()
        {
            return json(source, options);
        }
        Box::new(TextRows::new(source.of_any_encoding(), (self.parser)(options)))
    }
}
