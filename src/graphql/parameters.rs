//! The parameters of a GraphQL request, from a JSON body or from the query of an address.
//!
//! Values take up to a few hundred times the memory of their text: `[0],` becomes a list in a list, first as JSON and
//! then as an argument. The memory of variables and of the query is therefore reserved before they are read.
//! `extensions` are not read at all, because nothing uses them.

use std::collections::BTreeMap;

use async_graphql::{Request, Variables};
use serde::Deserialize;
use serde_json::Value;

use crate::service::input::json::{self, JsonError, UnparsedObject};
use crate::service::memory_budget::MemoryBudget;
use crate::service::{Error, Role};

const QUERY: &str = "query";
const OPERATION_NAME: &str = "operationName";
const VARIABLES: &str = "variables";
const EXTENSIONS: &str = "extensions";

/// The largest memory of a query for each of its bytes: its document, and a list of lists in it as an argument.
const BYTES_PER_QUERY_BYTE: usize = 400;
/// The largest memory of a value in variables, or of a key: as JSON, as a variable, and as the argument of a field. Measured
/// with objects in objects.
const BYTES_PER_VALUE: usize = 800;
/// The number of copies of a text in variables, from the body to the input of a simulation, or to a statement of the
/// database.
const COPIES_OF_TEXT: usize = 16;

const BODY: &str = "the body is not a GraphQL request in JSON";
const ADDRESS: &str = "the address is not a GraphQL request";

/// Reads requests of one role, in memory that is reserved for them until they are executed.
pub struct RequestReader<'a> {
    pub memory: &'a MemoryBudget,
    pub role: Role,
}

/// The parameters of a request. Other keys are reserved for later editions, which require servers to ignore unknown keys.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestParameters {
    query: Option<String>,
    operation_name: Option<String>,
    variables: Option<UnparsedObject>,
    extensions: Option<UnparsedObject>,
}

impl RequestReader<'_> {
    /// Reads the body of a POST, which must be a JSON object. Without this check a request would be read from an array as
    /// well.
    pub fn read_body(&self, body: &[u8]) -> Result<Request, Error> {
        let parameters: RequestParameters = json::read(body).map_err(|error| unreadable(error, BODY))?;
        if !json::without_mark(body).trim_ascii_start().starts_with(b"{") {
            return Err(malformed_request(BODY, "it must be a JSON object"));
        }
        self.request(parameters, BODY)
    }

    /// Reads the query string of a GET. `variables` and `extensions` are JSON in it, and an empty value counts as missing.
    pub fn read_address(&self, query: &str) -> Result<Request, Error> {
        let mut given = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let is_known = [QUERY, OPERATION_NAME, VARIABLES, EXTENSIONS].contains(&name.as_ref());
            if is_known && given.insert(name.clone(), value).is_some() {
                return Err(malformed_request(ADDRESS, &format!("`{name}` is given twice")));
            }
        }
        let text = |name: &str| given.get(name).map(|text| &**text);
        let object = |name: &str| match text(name) {
            None | Some("") => Ok(None),
            Some(text) => json::read(text.as_bytes()).map_err(|error| not_an_object(error, name)),
        };
        let parameters = RequestParameters {
            query: text(QUERY).map(str::to_owned),
            operation_name: text(OPERATION_NAME).filter(|name| !name.is_empty()).map(str::to_owned),
            variables: object(VARIABLES)?,
            extensions: object(EXTENSIONS)?,
        };
        self.request(parameters, ADDRESS)
    }

    /// The request with these parameters. It holds the memory that is reserved for it.
    fn request(&self, parameters: RequestParameters, place: &str) -> Result<Request, Error> {
        let RequestParameters { query, operation_name, variables, extensions } = parameters;
        let query = query.ok_or_else(|| malformed_request(place, "`query` is missing"))?;
        for (name, given) in [(VARIABLES, &variables), (EXTENSIONS, &extensions)] {
            if given.as_ref().is_some_and(|given| !given.text().starts_with('{')) {
                return Err(malformed_request(place, &format!("`{name}` must be a JSON object")));
            }
        }
        drop(extensions);
        let bytes = variables.as_ref().map_or(0, |variables| expanded_bytes(variables.text()));
        let bytes = bytes.saturating_add(query.len().saturating_mul(BYTES_PER_QUERY_BYTE));
        let mut request = Request::new(query).data(self.memory.reserve(self.role, bytes)?);
        request.operation_name = operation_name;
        if let Some(variables) = variables {
            let map = variables.into_map(VARIABLES).map_err(|error| unreadable(error, place))?;
            request.variables = Variables::from_json(Value::Object(map));
        }
        Ok(request)
    }
}

/// The largest memory of variables. Every value and every key stands behind one of four characters. Those in texts count
/// as well, because a text may be the JSON of an argument.
fn expanded_bytes(variables: &str) -> usize {
    let values = variables.bytes().filter(|byte| matches!(byte, b'[' | b'{' | b',' | b':')).count();
    values.saturating_mul(BYTES_PER_VALUE).saturating_add(variables.len().saturating_mul(COPIES_OF_TEXT))
}

/// True if the query string contains a GraphQL document.
pub fn has_document(query: &str) -> bool {
    form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == QUERY)
}

/// The refusal of a request of another form. Text that is not JSON at all keeps its code.
fn unreadable(error: JsonError, place: &str) -> Error {
    match error {
        JsonError::Wrong(fault) => malformed_request(place, &fault.detail),
        malformed @ JsonError::Malformed { .. } => malformed.into(),
    }
}

fn not_an_object(error: JsonError, name: &str) -> Error {
    match error {
        JsonError::Malformed { code: "too_deep", detail } => Error::Malformed { code: "too_deep", detail },
        _ => malformed_request(ADDRESS, &format!("`{name}` must be a JSON object")),
    }
}

fn malformed_request(place: &str, detail: &str) -> Error {
    Error::Malformed { code: "malformed_json", detail: format!("{place}: {detail}") }
}
