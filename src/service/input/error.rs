//! What a use-case can answer instead of a result. REST and GraphQL turn it into their own form,
//! with the same `code`.

use std::collections::BTreeMap;
use std::fmt::Display;

pub use crate::domain::fault::Fault;
use crate::domain::fault::MAX_FAULTS;
use crate::domain::names::NameError;
use crate::store::{Fault as Cause, StoreError};

/// The faults of one request, as many as an answer names.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Takes a fault, unless there are enough of them.
    pub fn push(&mut self, fault: Fault) {
        if !self.are_enough() {
            self.0.push(fault);
        }
    }

    /// Whether looking for more is of no use.
    pub fn are_enough(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    /// `value` if there was no fault.
    pub fn or<T>(self, value: T) -> Result<T> {
        if self.0.is_empty() { Ok(value) } else { Err(Error::Invalid(self.0)) }
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// 400: the request cannot be read.
    #[error("{detail}")]
    Malformed { code: &'static str, detail: String },
    /// 401.
    #[error("{detail}")]
    Unauthorized { code: &'static str, detail: String },
    /// 403.
    #[error("{0}")]
    Forbidden(String),
    /// 404: the path names something that is not there.
    #[error("{detail}")]
    NotFound { code: &'static str, detail: String },
    /// 408: the rest of the request did not come.
    #[error("{0}")]
    TimedOut(String),
    /// 409.
    #[error("{detail}")]
    Conflict { code: &'static str, detail: String },
    /// 409: it would destroy what is counted, and so has to be asked for once more.
    #[error("{detail}")]
    Guarded { code: &'static str, detail: String, counts: BTreeMap<&'static str, u64> },
    /// 412.
    #[error("the resource has changed since the version that If-Match names")]
    StaleMatch,
    /// 413.
    #[error("{0}")]
    TooLarge(String),
    /// 422: readable, but wrong; every fault is named.
    #[error("{}", summary(.0))]
    Invalid(Vec<Fault>),
    /// 503: a later try may work.
    #[error("{detail}")]
    Unavailable { code: &'static str, detail: String },
    /// 500: a fault of ours. The detail goes to the log, never into an answer.
    #[error("an internal error happened; its cause is in the server's log")]
    Internal(String),
}

pub type Result<T> = std::result::Result<T, Error>;

fn summary(faults: &[Fault]) -> String {
    match faults {
        [only] => only.detail.clone(),
        many => format!("the request has {} faults", many.len()),
    }
}

impl Error {
    /// The stable, machine-readable name of the error, the same in REST and GraphQL.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed { code, .. }
            | Self::Unauthorized { code, .. }
            | Self::NotFound { code, .. }
            | Self::Conflict { code, .. }
            | Self::Guarded { code, .. }
            | Self::Unavailable { code, .. } => code,
            Self::Forbidden(_) => "forbidden",
            Self::TimedOut(_) => "request_timeout",
            Self::StaleMatch => "stale_match",
            Self::TooLarge(_) => "too_large",
            Self::Invalid(faults) => match faults.as_slice() {
                [only] => only.code,
                _ => "invalid",
            },
            Self::Internal(_) => "internal",
        }
    }

    pub fn invalid(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault::new(pointer, code, detail)])
    }

    /// 503 without a more exact code.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::Unavailable { code: "unavailable", detail: detail.into() }
    }

    /// [`Fault::about`] one place.
    pub fn about(pointer: impl Into<String>, code: &'static str, said: impl Display) -> Self {
        Self::Invalid(vec![Fault::about(pointer, code, said)])
    }

    pub fn unknown_job(name: &str) -> Self {
        Self::NotFound { code: "unknown_job", detail: format!("there is no job {name:?}") }
    }

    /// A cursor that names its list and yet fits none of its rows.
    pub fn other_cursor() -> Self {
        Self::about("/cursor", "invalid_cursor", "is not a cursor of this list")
    }

    pub fn unknown_group(name: &str) -> Self {
        Self::NotFound { code: "unknown_resource_group", detail: format!("there is no resource group {name:?}") }
    }

    pub fn unknown_queue(name: &str, group: &str) -> Self {
        Self::NotFound { code: "unknown_queue", detail: format!("there is no queue {name:?} in {group:?}") }
    }

    pub fn invalid_name(pointer: &str, error: NameError) -> Self {
        Self::about(pointer, "invalid_name", error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        if let StoreError::Unavailable { fault, .. } = &error {
            match fault {
                // The condition of the service is in the log, once.
                Cause::Full | Cause::ReadOnly | Cause::Replaced => tracing::debug!(%error, "database unavailable"),
                _ => tracing::warn!(%error, "database unavailable"),
            }
            Self::Unavailable { code: code_of(*fault), detail: format!("{fault}; try again later") }
        } else {
            tracing::error!(%error, "database error");
            Self::Internal(error.to_string())
        }
    }
}

/// The code of answers to what met `fault`.
pub(in crate::service) fn code_of(fault: Cause) -> &'static str {
    match fault {
        Cause::Unreachable | Cause::Closed | Cause::Busy => "unavailable",
        Cause::Full => "storage_full",
        Cause::ReadOnly => "database_read_only",
        Cause::Replaced => "database_replaced",
    }
}
