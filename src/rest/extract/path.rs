//! Parameters in the path of a request.

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequestParts, Path, RawPathParams};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::super::problem::Problem;
use super::query::pairs;

/// The parameters of a path as a struct with fields of their names.
pub struct PathParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // No name contains the character NUL.
        let has_nul = parts.uri.path().contains("%00");
        if !has_nul && let Ok(Path(params)) = Path::from_request_parts(parts, state).await {
            return Ok(Self(params));
        }
        match RawPathParams::from_request_parts(parts, state).await {
            Ok(raw) => pairs(raw.iter()).map(Self),
            Err(RawPathParamsRejection::InvalidUtf8InPathParam(_)) => {
                Err(Problem::malformed("invalid_utf8", "the path is not UTF-8 text"))
            }
            Err(_) => Err(Problem::malformed("malformed_path", "the path cannot be read")),
        }
    }
}
