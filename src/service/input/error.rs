//! What a use-case can answer instead of a result. REST and GraphQL turn it into their own form,
//! with the same `code`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

pub use crate::domain::fault::Fault;
use crate::domain::fault::MAX_FAULTS;
use crate::domain::names::NameError;
use crate::store::audit_targets::Author;
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

/// What is there instead of what a request goes out from.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The revision of the configuration as it is now.
    pub config_revision: Option<String>,
    /// Who has changed it.
    pub by: Option<Author>,
}

/// What caused an error; shared, because one cause may fail many requests.
pub type Source = Arc<dyn std::error::Error + Send + Sync>;

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
    /// 409: what the request goes out from has changed meanwhile.
    #[error("{detail}")]
    Overtaken { code: &'static str, detail: String, found: Box<Found> },
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
    Unavailable { code: &'static str, detail: String, source: Option<Source> },
    /// 500: a fault of ours. The detail goes to the log, never into an answer.
    #[error("an internal error happened; its cause is in the server's log")]
    Internal { detail: String, source: Option<Source> },
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
            | Self::Overtaken { code, .. }
            | Self::Unavailable { code, .. } => code,
            Self::Forbidden(_) => "forbidden",
            Self::TimedOut(_) => "request_timeout",
            Self::StaleMatch => "stale_match",
            Self::TooLarge(_) => "too_large",
            Self::Invalid(faults) => match faults.as_slice() {
                [only] => only.code,
                _ => "invalid",
            },
            Self::Internal { .. } => "internal",
        }
    }

    pub fn invalid(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault::new(pointer, code, detail)])
    }

    /// 503 without a more exact code.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::not_now("unavailable", detail)
    }

    /// 503 with its code.
    pub fn not_now(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Unavailable { code, detail: detail.into(), source: None }
    }

    /// 500 without a cause below it; in the log from here on.
    pub fn internal(detail: impl Into<String>) -> Self {
        let detail = detail.into();
        tracing::error!(detail, "internal error");
        Self::Internal { detail, source: None }
    }

    /// 500 for something that failed, with its cause; in the log from here on.
    pub fn failed(what: &str, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        let error = chain(&cause);
        tracing::error!(%error, "{what}");
        Self::Internal { detail: format!("{what}: {error}"), source: Some(Arc::new(cause)) }
    }

    /// What the log is to say of it: also what answers leave out.
    pub fn cause(&self) -> String {
        match self {
            Self::Internal { detail, .. } => detail.clone(),
            Self::Unavailable { source: Some(source), .. } => chain(&**source),
            _ => self.to_string(),
        }
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

    /// Queues are checked when they are written; a capacity that grows later can still add slots beyond the most.
    pub fn not_divisible(faults: Vec<Fault>) -> Self {
        let detail = faults.into_iter().next().map_or_else(String::new, |fault| fault.detail);
        Self::Conflict { code: "not_divisible", detail: format!("the group cannot be divided: {detail}") }
    }

    pub fn invalid_name(pointer: &str, error: NameError) -> Self {
        Self::about(pointer, "invalid_name", error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let StoreError::Unavailable { fault, .. } = &error else {
            let detail = chain(&error);
            tracing::error!(error = %detail, "database error");
            return Self::Internal { detail, source: Some(Arc::new(error)) };
        };
        // A lock concerns this statement alone; the other faults are a condition of the service, which is in the log once.
        if *fault == Cause::Busy {
            tracing::warn!(error = %chain(&error), "database unavailable");
        } else {
            tracing::debug!(error = %chain(&error), "database unavailable");
        }
        let (code, detail) = (code_of(*fault), format!("{fault}; try again later"));
        Self::Unavailable { code, detail, source: Some(Arc::new(error)) }
    }
}

/// An error with the causes below it. A cause whose words the one above it repeats is told once.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        let words = cause.to_string();
        if !told.contains(&words) {
            told = format!("{told}: {words}");
        }
        below = cause.source();
    }
    told
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
