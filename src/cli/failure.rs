//! Failures of commands: a single clear line and an exit code.

use std::process::ExitCode;
use std::{fmt, io};

use crate::api::client::{ClientFailure, EndpointRefusal, describe};
use crate::config::ConfigError;
use crate::connectors::setting_values::SettingError;
use crate::service::Error;
use crate::store::StoreError;

/// The result of a command.
pub type CommandOutcome = Result<ExitCode, CommandFailure>;

/// The exit code of a command that did its work and found a fault or a difference.
pub const EXIT_FAULT_FOUND: u8 = 1;
/// The exit code of a command whose input cannot be used.
const EXIT_BAD_INPUT: u8 = 2;

#[derive(Debug)]
pub enum CommandFailure {
    /// A fault of the machine, the network or the database: exit code 1.
    Failed(String),
    /// The same, but a later attempt may succeed.
    Unreachable(String),
    /// The input cannot be used: exit code 2.
    Unusable(String),
    /// An endpoint refused the request.
    Refused(Box<EndpointRefusal>),
    /// A wrong command line, or a request for help.
    Misused(Box<clap::Error>),
    /// The reader of the output has closed it.
    NobodyReads,
}

impl CommandFailure {
    /// Writes the failure to standard error.
    pub fn report(self) -> ExitCode {
        let code = match &self {
            Self::Failed(_) | Self::Unreachable(_) => EXIT_FAULT_FOUND,
            Self::Unusable(_) => EXIT_BAD_INPUT,
            Self::Refused(refusal) => {
                if refusal.is_about_input() {
                    EXIT_BAD_INPUT
                } else {
                    EXIT_FAULT_FOUND
                }
            }
            Self::Misused(error) => {
                // The reader of the help may have closed it.
                let _ = error.print();
                return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(EXIT_BAD_INPUT));
            }
            Self::NobodyReads => return ExitCode::SUCCESS,
        };
        eprint_line(&format!("error: {self}"));
        ExitCode::from(code)
    }

    /// Adds the name of the input that cannot be used.
    #[must_use]
    pub fn in_input(self, name: &str) -> Self {
        match self {
            Self::Unusable(message) => Self::Unusable(format!("{name}: {message}")),
            Self::Refused(refusal) => Self::Refused(Box::new(refusal.in_input(name))),
            other => other,
        }
    }

    /// Replaces the pointers of faults that an endpoint returned.
    #[must_use]
    pub fn at(self, rename: impl Fn(&str) -> Option<&'static str>) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(Box::new(refusal.at(rename))),
            other => other,
        }
    }

    /// Removes the pointers of faults, for commands that build the body from flags. The sentences say what is wrong.
    pub fn without_places(failure: impl Into<Self>) -> Self {
        failure.into().at(|_| Some(""))
    }

    /// A file that cannot be read.
    pub fn unreadable(name: &str, error: &io::Error) -> Self {
        Self::Unusable(format!("cannot read {name}: {error}"))
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::Unreachable(message) | Self::Unusable(message) => f.write_str(message),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Misused(error) => error.fmt(f),
            Self::NobodyReads => f.write_str("the reader of the output has gone"),
        }
    }
}

impl std::error::Error for CommandFailure {}

/// Writes a line to standard error. If standard error is closed, this is not a failure.
pub fn eprint_line(line: &str) {
    use io::Write;
    let _ = writeln!(io::stderr(), "{line}");
}

impl From<io::Error> for CommandFailure {
    /// Converts an error of writing results.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Failed(format!("cannot write the output: {error}")),
        }
    }
}

impl From<ClientFailure> for CommandFailure {
    fn from(failure: ClientFailure) -> Self {
        match failure {
            ClientFailure::Failed(message) => Self::Failed(message),
            ClientFailure::Unreachable(message) => Self::Unreachable(message),
            ClientFailure::Unusable(message) => Self::Unusable(message),
            ClientFailure::Refused(refusal) => Self::Refused(refusal),
            ClientFailure::Output(error) => error.into(),
        }
    }
}

impl From<ConfigError> for CommandFailure {
    fn from(error: ConfigError) -> Self {
        Self::Unusable(error.to_string())
    }
}

impl From<SettingError> for CommandFailure {
    fn from(error: SettingError) -> Self {
        Self::Unusable(error.to_string())
    }
}

impl From<StoreError> for CommandFailure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Address(_) => Self::Unusable(error.to_string()),
            _ if error.may_pass_soon() => Self::Unreachable(one_line(&error.to_string())),
            _ => Self::Failed(one_line(&error.to_string())),
        }
    }
}

impl From<Error> for CommandFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(faults) => {
                Self::Unusable(describe(faults.iter().map(|fault| (&*fault.pointer, &*fault.detail))))
            }
            Error::Malformed { .. } | Error::NotFound { .. } | Error::TooLarge(_) => Self::Unusable(error.to_string()),
            // The user of a command may see details that a client of the server may not.
            Error::Internal { detail, .. } => Self::Failed(one_line(&detail)),
            Error::Unavailable { .. } => Self::Unreachable(one_line(&error.to_string())),
            _ => Self::Failed(one_line(&error.to_string())),
        }
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
