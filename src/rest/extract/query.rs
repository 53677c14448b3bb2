//! Parameters in the query string. Unknown and repeated ones are refused: a misspelt filter would
//! otherwise answer with everything.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use super::super::problem::Problem;
use crate::service::Error;
use crate::service::json::fault;

/// The parameters of a query string, as a struct with their names.
pub struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        if std::str::from_utf8(&decoded(query.as_bytes())).is_err() {
            return Err(Problem::malformed("invalid_utf8", "the query string is not UTF-8 text"));
        }
        let pairs = form_urlencoded::parse(query.as_bytes());
        serde_path_to_error::deserialize(serde_urlencoded::Deserializer::new(pairs))
            .map(Self)
            .map_err(|e| Error::Invalid(vec![fault(e.path(), &e.inner().to_string(), name)]).into())
    }
}

/// The bytes that percent signs stand for.
fn decoded(query: &[u8]) -> Vec<u8> {
    let hex = |byte: Option<&u8>| byte.and_then(|b| char::from(*b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
    let mut bytes = Vec::with_capacity(query.len());
    let mut at = 0;
    while let Some(byte) = query.get(at) {
        if let (b'%', Some(high), Some(low)) = (byte, hex(query.get(at + 1)), hex(query.get(at + 2))) {
            bytes.push(high * 16 + low);
            at += 3;
        } else {
            bytes.push(*byte);
            at += 1;
        }
    }
    bytes
}

fn name(path: &Path, key: Option<&str>) -> String {
    let last = path.iter().next_back().and_then(|segment| match segment {
        Segment::Map { key } => Some(key.clone()),
        _ => None,
    });
    key.map(str::to_owned).or(last).unwrap_or_default()
}
