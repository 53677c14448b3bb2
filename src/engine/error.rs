//! The errors of use-cases. REST and GraphQL convert them into their own forms, with the same `code`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

pub use crate::domain::fault::Fault;
use crate::domain::fault::MAX_FAULTS;
use crate::domain::names::NameError;
use crate::store::audit_targets::ChangeAuthor;
use crate::store::{StoreError, TransientFault as Cause};

/// The faults of one request, at most as many as an answer lists.
#[derive(Debug, Default)]
pub struct RequestFaults(Vec<Fault>);

impl RequestFaults {
    /// Adds a fault, unless there are [`MAX_FAULTS`] already.
    pub fn push(&mut self, fault: Fault) {
        if !self.are_enough() {
            self.0.push(fault);
        }
    }

    /// True if there are as many faults as an answer lists.
    pub fn are_enough(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    /// Returns `value` if there are no faults.
    pub fn or<T>(self, value: T) -> Result<T> {
        if self.0.is_empty() { Ok(value) } else { Err(Error::Invalid(self.0)) }
    }
}

/// The present state, if it is not the one that a request is based on.
#[derive(Clone, Debug, Default)]
pub struct PresentState {
    /// The current revision of the configuration.
    pub config_revision: Option<String>,
    /// The author of the change.
    pub by: Option<ChangeAuthor>,
}

/// The cause of an error. It is shared, because one cause may fail many requests.
pub type ErrorCause = Arc<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// 400: the request cannot be parsed.
    #[error("{detail}")]
    Malformed { code: &'static str, detail: String },
    /// 401.
    #[error("{detail}")]
    Unauthorized { code: &'static str, detail: String },
    /// 403.
    #[error("{0}")]
    Forbidden(String),
    /// 404: the path names something that does not exist.
    #[error("{detail}")]
    NotFound { code: &'static str, detail: String },
    /// 408: the rest of the request did not arrive in time.
    #[error("{0}")]
    TimedOut(String),
    /// 409.
    #[error("{detail}")]
    Conflict { code: &'static str, detail: String },
    /// 409: the request would destroy counted data, so it needs a confirmation.
    #[error("{detail}")]
    Guarded { code: &'static str, detail: String, counts: BTreeMap<&'static str, u64> },
    /// 409: the state that the request is based on has changed meanwhile.
    #[error("{detail}")]
    Overtaken { code: &'static str, detail: String, found: Box<PresentState> },
    /// 412.
    #[error("the resource has changed since the version that If-Match names")]
    StaleMatch,
    /// 413.
    #[error("{0}")]
    TooLarge(String),
    /// 422: the request can be parsed but is wrong; all faults are named.
    #[error("{}", summary(.0))]
    Invalid(Vec<Fault>),
    /// 503: a later attempt may succeed.
    #[error("{detail}")]
    Unavailable { code: &'static str, detail: String, source: Option<ErrorCause> },
    /// 500: a fault of the server. The detail goes to the log, never into an answer.
    #[error("an internal error happened; its cause is in the server's log")]
    Internal { detail: String, source: Option<ErrorCause> },
}

pub type Result<T> = std::result::Result<T, Error>;

fn summary(faults: &[Fault]) -> String {
    match faults {
        [only] => only.detail.clone(),
        many => format!("the request has {} faults", many.len()),
    }
}

impl Error {
    /// The stable, machine-readable code of the error, the same in REST and GraphQL.
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

    /// 503 without a more specific code.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::not_now("unavailable", detail)
    }

    /// 503 with a code.
    pub fn not_now(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Unavailable { code, detail: detail.into(), source: None }
    }

    /// 500 without an underlying cause. Writes it to the log.
    pub fn internal(detail: impl Into<String>) -> Self {
        let detail = detail.into();
        tracing::error!(detail, "internal error");
        Self::Internal { detail, source: None }
    }

    /// 500 with the cause of a failure. Writes it to the log.
    pub fn failed(what: &str, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        let error = cause_chain(&cause);
        tracing::error!(%error, "{what}");
        Self::Internal { detail: format!("{what}: {error}"), source: Some(Arc::new(cause)) }
    }

    /// The text for the log, including what answers omit.
    pub fn cause(&self) -> String {
        match self {
            Self::Internal { detail, .. } => detail.clone(),
            Self::Unavailable { source: Some(source), .. } => cause_chain(&**source),
            _ => self.to_string(),
        }
    }

    /// [`Fault::about`] a single place.
    pub fn about(pointer: impl Into<String>, code: &'static str, said: impl Display) -> Self {
        Self::Invalid(vec![Fault::about(pointer, code, said)])
    }

    pub fn unknown_job(name: &str) -> Self {
        Self::NotFound { code: "unknown_job", detail: format!("there is no job {name:?}") }
    }

    /// The error of a cursor that names its list but matches none of its rows.
    pub fn other_cursor() -> Self {
        Self::about("/cursor", "invalid_cursor", "is not a cursor of this list")
    }

    pub fn unknown_group(name: &str) -> Self {
        Self::NotFound { code: "unknown_resource_group", detail: format!("there is no resource group {name:?}") }
    }

    pub fn unknown_queue(name: &str, group: &str) -> Self {
        Self::NotFound { code: "unknown_queue", detail: format!("there is no queue {name:?} in {group:?}") }
    }

    /// An error if there are faults.
    pub fn refuse(faults: Vec<Fault>) -> Result<()> {
        if faults.is_empty() { Ok(()) } else { Err(Self::Invalid(faults)) }
    }

    /// Queues are checked when they are written, but a capacity that grows later can still exceed the limit on slots.
    pub fn not_divisible(faults: Vec<Fault>) -> Self {
        let detail = faults.into_iter().next().map_or_else(String::new, |fault| fault.detail);
        Self::Conflict { code: "not_divisible", detail: format!("the group cannot be divided: {detail}") }
    }

    /// The error with the pointers of its faults below `pointer`.
    #[must_use]
    pub fn below(self, pointer: &str) -> Self {
        match self {
            Self::Invalid(faults) => Self::Invalid(faults.into_iter().map(|fault| fault.below(pointer)).collect()),
            other => other,
        }
    }

    pub fn invalid_name(pointer: &str, error: NameError) -> Self {
        Self::about(pointer, "invalid_name", error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let StoreError::Unavailable { fault, .. } = &error else {
            let detail = cause_chain(&error);
            tracing::error!(error = %detail, "database error");
            return Self::Internal { detail, source: Some(Arc::new(error)) };
        };
        // A lock concerns only this statement, so it is logged. The other faults are a condition of the service, which
        // is logged once.
        if *fault == Cause::Busy {
            tracing::warn!(error = %cause_chain(&error), "database unavailable");
        } else {
            tracing::debug!(error = %cause_chain(&error), "database unavailable");
        }
        let (code, detail) = (code_of(*fault), format!("{fault}; try again later"));
        Self::Unavailable { code, detail, source: Some(Arc::new(error)) }
    }
}

/// An error and its causes as one text. A cause that repeats the words of the one above it is left out.
pub fn cause_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        below = cause.source();
    }
    text
}

/// The code of answers to requests that failed because of `fault`.
pub(crate) fn code_of(fault: Cause) -> &'static str {
    match fault {
        Cause::Unreachable | Cause::Closed | Cause::Busy => "unavailable",
        Cause::Full => "storage_full",
        Cause::ReadOnly => "database_read_only",
        Cause::Replaced => "database_replaced",
    }
}
