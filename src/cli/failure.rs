//! How a command ends when it does not end well: one clear line and an exit code.

use std::process::ExitCode;
use std::{fmt, io};

use super::refusal::{Refusal, describe};
use crate::config::ConfigError;
use crate::service::Error;
use crate::store::StoreError;

/// What a command answers.
pub type Outcome = Result<ExitCode, Failure>;

/// Exit code of a command that did its work and found a fault or a difference.
pub const FAILED: u8 = 1;
/// Exit code of a command that could not use what was given.
const UNUSABLE: u8 = 2;

#[derive(Debug)]
pub enum Failure {
    /// The machine, the network or the database does not play along: exit code 1.
    Failed(String),
    /// The same, and a later try may work.
    Unreachable(String),
    /// What was given cannot be used: exit code 2.
    Unusable(String),
    /// An endpoint refused.
    Refused(Box<Refusal>),
    /// The words on the command line, or a wish for help.
    Misused(Box<clap::Error>),
    /// The reader of the output has gone.
    NobodyReads,
}

impl Failure {
    /// Says it on standard error.
    pub fn report(self) -> ExitCode {
        let code = match &self {
            Self::Failed(_) | Self::Unreachable(_) => FAILED,
            Self::Unusable(_) => UNUSABLE,
            Self::Refused(refusal) => {
                if refusal.is_about_input() {
                    UNUSABLE
                } else {
                    FAILED
                }
            }
            Self::Misused(error) => {
                // The reader of the help may have gone.
                let _ = error.print();
                return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(UNUSABLE));
            }
            Self::NobodyReads => return ExitCode::SUCCESS,
        };
        eprint_line(&format!("error: {self}"));
        ExitCode::from(code)
    }

    /// Names the input that cannot be used.
    #[must_use]
    pub fn in_input(self, name: &str) -> Self {
        match self {
            Self::Unusable(message) => Self::Unusable(format!("{name}: {message}")),
            Self::Refused(refusal) => Self::Refused(Box::new(refusal.in_input(name))),
            other => other,
        }
    }

    /// Renames the places of faults that an endpoint found.
    #[must_use]
    pub fn at(self, rename: impl Fn(&str) -> Option<&'static str>) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(Box::new(refusal.at(rename))),
            other => other,
        }
    }

    /// Leaves the places of faults out, for commands whose flags became the body: the sentences name what is wrong.
    #[must_use]
    pub fn without_places(self) -> Self {
        self.at(|_| Some(""))
    }

    /// A file that cannot be read.
    pub fn unreadable(name: &str, error: &io::Error) -> Self {
        Self::Unusable(format!("cannot read {name}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::Unreachable(message) | Self::Unusable(message) => f.write_str(message),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Misused(error) => error.fmt(f),
            Self::NobodyReads => f.write_str("the reader of the output has gone"),
        }
    }
}

impl std::error::Error for Failure {}

/// A line on standard error. It is no failure if standard error is closed.
pub fn eprint_line(line: &str) {
    use io::Write;
    let _ = writeln!(io::stderr(), "{line}");
}

impl From<io::Error> for Failure {
    /// An error while writing results.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Failed(format!("cannot write the output: {error}")),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Unusable(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Address(_) => Self::Unusable(error.to_string()),
            _ if error.may_pass_soon() => Self::Unreachable(one_line(&error.to_string())),
            _ => Self::Failed(one_line(&error.to_string())),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(faults) => {
                Self::Unusable(describe(faults.iter().map(|fault| (&*fault.pointer, &*fault.detail))))
            }
            Error::Malformed { .. } | Error::NotFound { .. } | Error::TooLarge(_) => Self::Unusable(error.to_string()),
            // Who runs a command may know what a client may not.
            Error::Internal { detail, .. } => Self::Failed(one_line(&detail)),
            Error::Unavailable { .. } => Self::Unreachable(one_line(&error.to_string())),
            _ => Self::Failed(one_line(&error.to_string())),
        }
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
