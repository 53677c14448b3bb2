//! Lines with fields between bars, as the programs of Slurm print them without a header line.
//!
//! A line with another number of fields, or with a field of another kind, makes the whole text unusable: a version of Slurm
//! with another format must not look like an empty queue.

use std::str::FromStr;

use crate::fault::RoundFault;

/// A line of a table.
pub struct TextRow<'t> {
    program: &'static str,
    line: &'t str,
    fields: Vec<&'t str>,
}

impl<'t> TextRow<'t> {
    pub fn text(&self, at: usize) -> &'t str {
        self.fields[at]
    }

    /// True for the words that stand for an absent value.
    pub fn is_absent(&self, at: usize) -> bool {
        matches!(self.text(at), "" | "N/A" | "(null)" | "None" | "Unknown")
    }

    /// A field that is never empty.
    pub fn filled(&self, at: usize) -> Result<&'t str, RoundFault> {
        if self.is_absent(at) { Err(self.fault(at)) } else { Ok(self.text(at)) }
    }

    pub fn number<T: FromStr>(&self, at: usize) -> Result<T, RoundFault> {
        self.text(at).parse().map_err(|_| self.fault(at))
    }

    fn fault(&self, at: usize) -> RoundFault {
        let reason = format!("field {} ({:?}) is of another kind than expected", at + 1, self.text(at));
        RoundFault::unknown_format(self.program, self.line, &reason)
    }
}

/// Reads all lines of a text. A text that breaks off within a line is refused.
pub fn read_rows<T>(
    program: &'static str,
    text: &str,
    fields: usize,
    read: impl Fn(&TextRow) -> Result<T, RoundFault>,
) -> Result<Vec<T>, RoundFault> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(RoundFault::half_answer(program));
    }
    let row = |line| {
        let mut parts: Vec<&str> = line_fields(line);
        if parts.len() == fields + 1 && parts.last() == Some(&"") {
            parts.pop();
        }
        if parts.len() != fields {
            let reason = format!("it has {} fields in place of {fields}", parts.len());
            return Err(RoundFault::unknown_format(program, line, &reason));
        }
        read(&TextRow { program, line, fields: parts })
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
}

fn line_fields(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}
