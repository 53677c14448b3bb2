//! `fairshared import sshare` and `import sacctmgr-dump`: the tree of accounts of a Slurm cluster as the tree of people of a group.
//!
//! A file is read whole, by lines. A line that cannot be read is dropped and counted; the others make the tree, which goes to
//! the server by `PUT /people-tree` as that of a connector does.

mod dump;
pub mod report;
mod sshare;

use std::path::Path;

use super::ImportError;
use super::source::{LineSource, SourceLine};
use crate::connectors::slurm::account_tree::AccountTree;

/// All formats of trees by their names on the command line.
pub const TREE_FORMATS: &[TreeFormat] = &[sshare::FORMAT, dump::FORMAT];

/// A format of a tree of accounts.
#[derive(Clone, Copy)]
pub struct TreeFormat {
    pub name: &'static str,
    /// A description in one line, for the help.
    pub about: &'static str,
    reader: fn() -> Box<dyn TreeLines>,
}

impl TreeFormat {
    pub fn named(name: &str) -> Option<&'static Self> {
        TREE_FORMATS.iter().find(|format| format.name == name)
    }

    /// Reads a file, gzip or plain; `-` is standard input.
    pub fn read(&self, path: &Path) -> Result<AccountFile, ImportError> {
        self.read_lines(LineSource::open(path)?)
    }

    fn read_lines(&self, source: LineSource) -> Result<AccountFile, ImportError> {
        let mut source = source.of_any_encoding();
        let (mut reader, mut file) = ((self.reader)(), AccountFile::default());
        while let Some(line) = source.next_line() {
            let read = match line {
                SourceLine::Text(text) if text.trim().is_empty() => continue,
                SourceLine::Text(text) => reader.read_line(text, &mut file),
                SourceLine::Unreadable { reason, .. } => Err(LineFault::Unreadable(reason.to_string())),
            };
            let is_entry = !matches!(read, Ok(LineKind::Other));
            file.entries += u64::from(is_entry);
            if let Err(fault) = read {
                file.dropped.push(DroppedLine { line: source.line_number(), fault });
            }
        }
        match source.ended_early() {
            // A part of a tree would unset the weights of the rest.
            Some(early) => Err(early.clone().into()),
            None if file.entries == file.dropped.len() as u64 => Err(ImportError::NoAccount),
            None => Ok(file),
        }
    }
}

/// The reader of the lines of one file.
trait TreeLines {
    /// Adds an account or a user to the tree.
    fn read_line(&mut self, text: &str, file: &mut AccountFile) -> Result<LineKind, LineFault>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    /// An account or a user.
    Entry,
    /// A header, a comment, or something else that is no entry.
    Other,
}

/// The reason why a line is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    #[error("it is unreadable: {0}")]
    Unreadable(String),
    #[error("it has {found} fields, and the header line {expected}")]
    FieldCount { found: usize, expected: usize },
    #[error("it names no account")]
    NoAccount,
    #[error("no line before it names the account {0:?}")]
    UnknownParent(String),
    #[error("the share {0:?} is neither a whole number nor `parent`")]
    BadShare(String),
    #[error("it is no line of such a file")]
    UnknownForm,
}

/// A line that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedLine {
    pub line: u64,
    pub fault: LineFault,
}

/// The tree in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountFile {
    pub tree: AccountTree,
    /// The cluster, if the file names it.
    pub cluster: Option<String>,
    /// The number of lines with an account or a user, dropped ones included.
    pub entries: u64,
    pub dropped: Vec<DroppedLine>,
}
