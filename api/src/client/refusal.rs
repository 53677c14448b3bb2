//! A refusal of an endpoint as one sentence.

use std::fmt;
use std::sync::Arc;

use axum::http::StatusCode;

use crate::problem::ShownProblem;

/// The refusal of a request by an endpoint.
#[derive(Debug)]
pub struct EndpointRefusal {
    status: StatusCode,
    problem: ShownProblem,
    /// The address of the server; empty for this process.
    server: Arc<str>,
    /// The name of the file or stream whose content was sent.
    input: Option<String>,
}

impl EndpointRefusal {
    pub fn new(status: StatusCode, problem: ShownProblem, server: Arc<str>) -> Self {
        Self { status, problem, server, input: None }
    }

    /// The stable code of the problem.
    pub fn code(&self) -> &str {
        &self.problem.code
    }

    /// The number of items of a kind that a removal would destroy.
    pub fn count(&self, kind: &str) -> u64 {
        self.problem.counts.get(kind).copied().unwrap_or_default()
    }

    /// True for an error in the request; false for a fault of the server.
    pub fn is_about_input(&self) -> bool {
        self.is_about_body() || self.status == StatusCode::NOT_FOUND
    }

    /// True if the same request may succeed later, because the server, or a proxy before it, was not able to answer.
    pub fn may_pass_soon(&self) -> bool {
        let statuses = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
        self.status.is_server_error() || statuses.contains(&self.status)
    }

    fn is_about_body(&self) -> bool {
        let statuses = [StatusCode::BAD_REQUEST, StatusCode::PAYLOAD_TOO_LARGE, StatusCode::UNPROCESSABLE_ENTITY];
        statuses.contains(&self.status)
    }

    /// Adds the name of the input, if it is the input that cannot be used.
    #[must_use]
    pub fn in_input(mut self, name: &str) -> Self {
        if self.is_about_body() {
            self.input = Some(name.to_owned());
        }
        self
    }

    /// Replaces the pointers of faults by `rename`, for commands that build the body from flags.
    #[must_use]
    pub fn at(mut self, rename: impl Fn(&str) -> Option<&'static str>) -> Self {
        for fault in &mut self.problem.errors {
            if let Some(place) = rename(&fault.pointer) {
                place.clone_into(&mut fault.pointer);
            }
        }
        self
    }
}

impl fmt::Display for EndpointRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, problem, server, input } = self;
        if let Some(input) = input {
            write!(f, "{input}: ")?;
        }
        match (status.as_u16(), problem.code.as_str()) {
            (_, "missing_key") => write!(f, "{server} wants a key; give it as FAIRSHARED_KEY, or with --key"),
            (401, _) => write!(f, "{server} does not take the key: {}", problem.detail),
            (500, _) if server.is_empty() => f.write_str("an internal error happened; `--log error` shows its cause"),
            (500, _) => {
                let id = &problem.request_id;
                write!(f, "{server} met an internal error; its log names the cause under the request id {id}")
            }
            _ if problem.errors.is_empty() => f.write_str(&problem.detail),
            _ => f.write_str(&describe(problem.errors.iter().map(|fault| (&*fault.pointer, &*fault.detail)))),
        }
    }
}

/// The first faults with their pointers, and the number of the others.
pub fn describe<'f>(faults: impl ExactSizeIterator<Item = (&'f str, &'f str)>) -> String {
    const MAX_SHOWN_FAULTS: usize = 3;
    let more = faults.len().saturating_sub(MAX_SHOWN_FAULTS);
    let mut parts: Vec<String> = faults
        .take(MAX_SHOWN_FAULTS)
        .map(|(pointer, detail)| if pointer.is_empty() { detail.to_owned() } else { format!("{pointer}: {detail}") })
        .collect();
    if more > 0 {
        parts.push(format!("and {more} more faults"));
    }
    parts.join("; ")
}
