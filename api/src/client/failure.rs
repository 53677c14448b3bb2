//! The reasons why a request has no answer.

use std::io;

use super::refusal::EndpointRefusal;

/// The reason why a request has no answer that can be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientFailure {
    /// A fault of the machine, or an answer that is not from fairshared.
    #[error("{0}")]
    Failed(String),
    /// The server does not answer, or its answer broke off. A later attempt may succeed.
    #[error("{0}")]
    Unreachable(String),
    /// The request, or the way to the server, cannot be used as it was given.
    #[error("{0}")]
    Unusable(String),
    /// An endpoint refused the request.
    #[error("{0}")]
    Refused(Box<EndpointRefusal>),
    /// The answer cannot be written to where it was to go.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}
