//! The interface of a format: a parser of its lines, which may have a header.

use super::ImportError;
use super::job::ImportedJob;
use super::reason::DropReason;

/// The content of a line; `None` for a header, a comment or a blank line.
pub(super) type ParsedLine = Option<Result<ImportedJob, DropReason>>;

/// Reads one file line by line, remembering only its header. It leaves names empty that the trace does not contain, and
/// leaves the checks that all formats share to the reader.
pub(super) trait LineParser: Send {
    /// Fails only when the whole file is unusable.
    fn line(&mut self, line: &str) -> Result<ParsedLine, ImportError>;

    /// True while the format's header line has not come yet.
    fn awaits_header(&self) -> bool;

    /// The byte that makes a line a comment.
    fn comment_mark(&self) -> Option<u8> {
        None
    }

    /// A job that is still held back at the end of the file; called until it returns `None`.
    fn left_over(&mut self) -> Option<ImportedJob> {
        None
    }
}

pub(super) const HEADER_LINE: &str = "the header line";

/// The names of a table's columns, by which columns are found whatever their order and letter case.
pub(super) struct TableHeader<'a> {
    /// The origin of the names, for messages.
    of: &'static str,
    names: Vec<&'a str>,
    /// The names that were looked for.
    asked: Vec<&'static str>,
    missing: Vec<&'static str>,
    twice: Option<&'static str>,
}

impl<'a> TableHeader<'a> {
    /// The names in the first line of a file.
    pub(super) fn line(names: impl Iterator<Item = &'a str>) -> Self {
        Self::new(HEADER_LINE, names)
    }

    /// Names from another origin than the header line, such as an option of the command line.
    pub(super) fn new(of: &'static str, names: impl Iterator<Item = &'a str>) -> Self {
        Self { of, names: names.map(str::trim).collect(), asked: Vec::new(), missing: Vec::new(), twice: None }
    }

    pub(super) fn find(&mut self, name: &'static str) -> Option<usize> {
        self.asked.push(name);
        let mut places = (0..self.names.len()).filter(|at| self.names[*at].eq_ignore_ascii_case(name));
        let first = places.next();
        if places.next().is_some() {
            self.twice = Some(name);
        }
        first
    }

    /// A required column; [`TableHeader::into_names`] lists all that are missing.
    pub(super) fn need(&mut self, name: &'static str) -> usize {
        self.find(name).unwrap_or_else(|| {
            self.missing.push(name);
            0
        })
    }

    /// A column that is required unless its value comes from elsewhere.
    pub(super) fn find_or_need(&mut self, name: &'static str, given_elsewhere: bool) -> Option<usize> {
        if given_elsewhere { self.find(name) } else { Some(self.need(name)) }
    }

    /// True if a line is a repeated header line, as in concatenated files: three of its fields are names that every such
    /// table needs, which no row contains.
    pub(super) fn repeats<'f>(fields: impl Iterator<Item = &'f str>, needed: &[&str]) -> bool {
        let is_needed = |field: &&str| needed.iter().any(|name| name.eq_ignore_ascii_case(field.trim()));
        fields.filter(is_needed).take(3).count() == 3
    }

    /// The names of the fields of every row, in their order.
    pub(super) fn into_names(self) -> Result<Vec<String>, ImportError> {
        let of = self.of;
        if !self.missing.is_empty() {
            let missing = self.missing.join(", ");
            return Err(match self.unknown() {
                Some(unknown) => ImportError::UnknownField { of, missing, unknown },
                None => ImportError::MissingFields { of, missing },
            });
        }
        match self.twice {
            Some(name) => Err(ImportError::FieldTwice { of, name }),
            None => Ok(self.names.into_iter().map(str::to_owned).collect()),
        }
    }

    /// A name that was not looked for, and may be a misspelt one. Names in header lines are not checked, because files have
    /// many fields that the import does not read.
    fn unknown(&self) -> Option<String> {
        let known = |name: &str| self.asked.iter().any(|asked| asked.eq_ignore_ascii_case(name));
        let unknown = self.names.iter().find(|name| self.of != HEADER_LINE && !known(name));
        unknown.map(|name| (*name).to_owned())
    }
}
