//! Parameters in the path.

use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::super::problem::Problem;
use crate::service::Error;
use crate::service::json::of_text;

/// The parameters of a path, as a struct with their names.
pub struct PathParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(params)) => Ok(Self(params)),
            Err(PathRejection::FailedToDeserializePathParams(error)) => Err(match error.into_kind() {
                ErrorKind::InvalidUtf8InPathParam { key } => {
                    Problem::malformed("invalid_utf8", format!("{key} in the path is not UTF-8 text"))
                }
                ErrorKind::ParseErrorAtKey { key, value, .. } => wrong(key, &value),
                ErrorKind::DeserializeError { key, message, .. } => Error::Invalid(vec![of_text(key, &message)]).into(),
                ErrorKind::Message(message) => Error::Invalid(vec![of_text("path".to_owned(), &message)]).into(),
                other => Problem::malformed("malformed_path", other.to_string()),
            }),
            Err(_) => Err(Problem::malformed("malformed_path", "the path cannot be read")),
        }
    }
}

fn wrong(key: String, value: &str) -> Problem {
    Error::invalid(key, "invalid_value", format!("{value:?} is not what belongs here")).into()
}
