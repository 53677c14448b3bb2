//! The answer of an endpoint: JSON, read as a whole or passed on piece by piece.

use std::io::Write;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Response, StatusCode, header};
use bytes::Bytes;
use chrono::DateTime;
use domain::time::Timestamp;
use futures::TryStreamExt;
use serde::de::DeserializeOwned;

use super::failure::ClientFailure;
use super::refusal::EndpointRefusal;
use crate::problem::ShownProblem;

/// The number of bytes that are read of an answer that is not from fairshared.
const FOREIGN_BYTES: usize = 1 << 20;
const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";

/// An answer whose body has not been read yet.
pub struct HttpAnswer {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
    /// The address of the server; empty for this process.
    server: Arc<str>,
}

impl HttpAnswer {
    pub(super) fn new(response: Response<Body>, server: Arc<str>) -> Self {
        let (head, body) = response.into_parts();
        Self { status: head.status, headers: head.headers, body, server }
    }

    /// The answer, unless it is a refusal or not from fairshared.
    pub(super) async fn accepted(self) -> Result<Self, ClientFailure> {
        if self.status == StatusCode::NO_CONTENT || self.status.is_success() && self.is("application/json") {
            return Ok(self);
        }
        let (status, server, is_problem) = (self.status, Arc::clone(&self.server), self.is(PROBLEM_MEDIA_TYPE));
        let bytes = to_bytes(self.body, FOREIGN_BYTES).await.unwrap_or_default();
        match serde_json::from_slice::<ShownProblem>(&bytes) {
            Ok(problem) if is_problem => {
                Err(ClientFailure::Refused(Box::new(EndpointRefusal::new(status, problem, server))))
            }
            _ if status.is_success() => Err(no_json()),
            _ => Err(ClientFailure::Failed(format!(
                "{server} answered {status}, but not as a fairshared server does; is the address right?"
            ))),
        }
    }

    fn is(&self, kind: &str) -> bool {
        let found = self.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        found.is_some_and(|found| found.split(';').next().is_some_and(|found| found.trim() == kind))
    }

    /// True if something was created.
    pub fn is_new(&self) -> bool {
        self.status == StatusCode::CREATED
    }

    /// The time at which the server answered, in whole seconds; `None` if the answer does not say it, as in this process.
    pub fn server_time(&self) -> Option<Timestamp> {
        let date = self.headers.get(header::DATE)?.to_str().ok()?;
        let time = DateTime::parse_from_rfc2822(date).ok()?;
        Some(Timestamp::from_micros(time.timestamp_micros()))
    }

    /// The whole body.
    pub async fn bytes(self) -> Result<Bytes, ClientFailure> {
        let server = self.server;
        to_bytes(self.body, usize::MAX).await.map_err(|_| broken_off(&server))
    }

    /// The body as a value.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, ClientFailure> {
        serde_json::from_slice(&self.bytes().await?).map_err(|_| no_json())
    }

    /// Writes the body as it arrives.
    pub async fn write(self, out: &mut impl Write) -> Result<(), ClientFailure> {
        let mut pieces = self.body.into_data_stream();
        while let Some(piece) = pieces.try_next().await.map_err(|_| broken_off(&self.server))? {
            out.write_all(&piece)?;
        }
        Ok(())
    }
}

/// The failure of an answer that is not from fairshared.
pub fn no_json() -> ClientFailure {
    ClientFailure::Failed("the answer is not the JSON of a fairshared server; is the address right?".to_owned())
}

fn broken_off(server: &str) -> ClientFailure {
    ClientFailure::Unreachable(format!("the answer of {server} broke off; try again"))
}
