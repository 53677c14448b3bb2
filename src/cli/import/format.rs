//! A format of an import, as its file describes it.

use super::TraceOptions;
use super::charge_class::ChargeClassField;
use super::missing_amounts::MissingAmounts;
use super::parser::LineParser;
use super::rows::{RowStream, TextRows};
use super::source::LineSource;

/// Returns the rows of a JSON document.
type ReadDocument = fn(LineSource, &TraceOptions) -> Box<dyn RowStream>;

#[derive(Clone, Copy)]
pub struct ImportFormat {
    pub name: &'static str,
    /// A description in one line, for the help.
    pub about: &'static str,
    /// True if its times may be local, so that a time zone has an effect.
    pub zoned: bool,
    /// True for a table whose separator and header the user may specify.
    pub table: bool,
    /// True if resources have names, so that the user may choose which of them count as slots.
    pub names_resources: bool,
    pub(super) missing_amounts: MissingAmounts,
    /// The fields that `--charge-class` may choose.
    pub(super) charge_classes: &'static [ChargeClassField],
    pub(super) parser: fn(&TraceOptions) -> Box<dyn LineParser>,
    /// Reads the same format as a JSON document.
    pub(super) json: Option<ReadDocument>,
}

impl ImportFormat {
    pub(super) fn rows(&self, mut source: LineSource, options: &TraceOptions) -> Box<dyn RowStream> {
        if let Some(json) = self.json
            && source.is_json()
        {
            return json(source, options);
        }
        Box::new(TextRows::new(source.of_any_encoding(), (self.parser)(options)))
    }
}
