//! The parameters of a GraphQL request, from a JSON body or from the query of an address.

use async_graphql::Request;
use serde_json::{Map, Value};

use crate::domain::reading::read_from;
use crate::service::Error;
use crate::service::input::json::{self, JsonError};

const QUERY: &str = "query";
const OPERATION_NAME: &str = "operationName";
const VARIABLES: &str = "variables";
const EXTENSIONS: &str = "extensions";

/// Reads the body of a POST, which must be a JSON object. Without this check a request would be read from an array as
/// well.
pub fn read_body(body: &[u8]) -> Result<Request, Error> {
    const WHERE: &str = "the body is not a GraphQL request in JSON";
    let map = json::read_map(body).map_err(|error| match error {
        JsonError::Wrong(fault) => malformed_request(WHERE, &fault.detail),
        unreadable @ JsonError::Malformed { .. } => unreadable.into(),
    })?;
    request(map, WHERE)
}

/// Reads the query string of a GET. `variables` and `extensions` are JSON in it, and an empty value counts as missing.
pub fn read_address(query: &str) -> Result<Request, Error> {
    const WHERE: &str = "the address is not a GraphQL request";
    let mut map = Map::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let Some(name) = [QUERY, OPERATION_NAME, VARIABLES, EXTENSIONS].into_iter().find(|known| *known == name) else {
            continue;
        };
        if map.contains_key(name) {
            return Err(malformed_request(WHERE, &format!("`{name}` is given twice")));
        }
        let is_json = name == VARIABLES || name == EXTENSIONS;
        let read = match value.as_ref() {
            "" if name != QUERY => Value::Null,
            "null" if is_json => Value::Null,
            text if is_json => read_json(name, text, WHERE)?,
            text => Value::from(text),
        };
        map.insert(name.to_owned(), read);
    }
    request(map, WHERE)
}

/// True if the query string contains a GraphQL document.
pub fn has_document(query: &str) -> bool {
    form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == QUERY)
}

fn read_json(name: &str, text: &str, place: &str) -> Result<Value, Error> {
    json::read_map(text.as_bytes()).map(Value::Object).map_err(|error| match error {
        JsonError::Malformed { code: "too_deep", detail } => Error::Malformed { code: "too_deep", detail },
        _ => malformed_request(place, &format!("`{name}` must be a JSON object")),
    })
}

fn request(mut map: Map<String, Value>, place: &str) -> Result<Request, Error> {
    // Other keys are reserved for later editions. The edition requires servers to ignore unknown keys.
    map.retain(|key, value| match key.as_str() {
        QUERY => true,
        OPERATION_NAME | VARIABLES | EXTENSIONS => !value.is_null(),
        _ => false,
    });
    let fault = |name: &str, kind: &str| Err(malformed_request(place, &format!("`{name}` must be {kind}")));
    match map.get(QUERY) {
        None => return Err(malformed_request(place, "`query` is missing")),
        Some(query) if !query.is_string() => return fault(QUERY, "a text"),
        Some(_) => {}
    }
    if map.get(OPERATION_NAME).is_some_and(|name| !name.is_string()) {
        return fault(OPERATION_NAME, "a text or null");
    }
    for name in [VARIABLES, EXTENSIONS] {
        if map.get(name).is_some_and(|value| !value.is_object()) {
            return fault(name, "an object or null");
        }
    }
    read_from(Value::Object(map), "invalid_type").map_err(|misread| malformed_request(place, &misread.sentence("it")))
}

fn malformed_request(place: &str, detail: &str) -> Error {
    Error::Malformed { code: "malformed_json", detail: format!("{place}: {detail}") }
}
