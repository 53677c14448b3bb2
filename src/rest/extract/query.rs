//! Parameters in the query string. Unknown and repeated ones are refused. Otherwise a misspelt filter would be ignored,
//! and all rows returned.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::super::problem::Problem;
use crate::domain::reading::read_from;
use crate::service::Error;

/// The parameters of a query string as a struct with fields of their names.
pub struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        read(text_of(parts)?.as_bytes()).map(Self)
    }
}

/// The parameters of a query string in which `group` may be repeated.
pub struct GroupParams<T> {
    pub groups: Vec<String>,
    pub rest: T,
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for GroupParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let all: Vec<_> = form_urlencoded::parse(text_of(parts)?.as_bytes()).collect();
        let (groups, rest): (Vec<_>, Vec<_>) = all.iter().partition(|(name, _)| name == "group");
        Ok(Self {
            groups: groups.into_iter().map(|(_, group)| group.to_string()).collect(),
            rest: pairs(rest.into_iter().map(|(name, value)| (&**name, &**value)))?,
        })
    }
}

/// The query string of a request.
fn text_of(parts: &Parts) -> Result<&str, Problem> {
    let query = parts.uri.query().unwrap_or_default();
    // Without percent signs it is valid UTF-8.
    if query.contains('%') && std::str::from_utf8(&percent_decode(query.as_bytes())).is_err() {
        return Err(Problem::malformed("invalid_utf8", "the query string is not UTF-8 text"));
    }
    Ok(query)
}

/// Reads a query string. The error points to the first fault.
fn read<T: DeserializeOwned>(query: &[u8]) -> Result<T, Problem> {
    let deserializer = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query));
    read_from(deserializer, "invalid_value")
        .map_err(|misread| Error::Invalid(vec![misread.fault("the query string")]).into())
}

/// Reads pairs of names and values like a query string.
pub fn pairs<'a, T: DeserializeOwned>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<T, Problem> {
    read(form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().as_bytes())
}

/// The bytes after percent decoding.
fn percent_decode(query: &[u8]) -> Vec<u8> {
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
