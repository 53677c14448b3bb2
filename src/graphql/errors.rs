//! Errors in GraphQL responses. The service's code is in `extensions.code`, the faults of a request are in
//! `extensions.errors`.

use async_graphql::{ErrorExtensionValues, Name, Response, ServerError, Value, value};

use crate::engine::error::PresentState;
use crate::service::Error;

/// The code for a query with a syntax error, or one that does not match the schema.
const INVALID_QUERY: &str = "invalid_query";
/// The code of the error that stands for all errors that are not listed.
const MORE_ERRORS: &str = "more_errors";

/// The largest number of errors in a response. A small query can cause thousands.
const MAX_ERRORS: usize = 100;

/// Adds a code to every error of a response, and replaces the errors beyond the first hundred by their number.
pub fn explain(mut response: Response) -> Response {
    let more = response.errors.len().saturating_sub(MAX_ERRORS);
    response.errors.truncate(MAX_ERRORS);
    if more > 0 {
        let mut rest = ServerError::new(format!("{more} more errors are not shown"), None);
        rest.extensions.get_or_insert_default().set("code", MORE_ERRORS);
        response.errors.push(rest);
    }
    for error in &mut response.errors {
        let extensions = extensions(error);
        error.extensions = Some(extensions);
        if let Some(said) = of_value(&error.message) {
            error.message = said.to_owned();
        }
    }
    response
}

/// True if an operation was executed, so that its answer has `data`. Errors of an execution have a path to their field, and
/// those before an execution have none.
pub fn is_executed(response: &Response) -> bool {
    response.errors.is_empty() || response.data != Value::Null || response.errors.iter().any(|e| !e.path.is_empty())
}

/// The message of a scalar about an invalid value, without the text that the library adds.
fn of_value(message: &str) -> Option<&str> {
    let (_, said) = message.strip_prefix("Failed to parse \"")?.split_once("\": ")?;
    Some(said.split(" (occurred while parsing").next().unwrap_or(said))
}

/// The refusal of a text with a syntax error. It states the position, but not the parser's own message.
pub fn syntax_refusal(error: ServerError) -> Response {
    let message = match error.locations.first() {
        Some(place) => format!("the query is not GraphQL from line {}, column {} on", place.line, place.column),
        None => "the query is not GraphQL".to_owned(),
    };
    explain(Response::from_errors(vec![ServerError { message, ..error }]))
}

fn extensions(error: &ServerError) -> ErrorExtensionValues {
    let mut extensions = error.extensions.clone().unwrap_or_default();
    if let Some(cause) = error.source::<Error>() {
        extensions.set("code", cause.code());
        if let Error::Invalid(faults) = cause {
            let list = faults
                .iter()
                .map(|f| value!({"pointer": f.pointer.clone(), "code": f.code, "detail": f.detail.clone()}))
                .collect();
            extensions.set("errors", Value::List(list));
        }
        if let Error::Guarded { counts, .. } = cause {
            let counts = counts.iter().map(|(kind, count)| (Name::new(kind), Value::from(*count)));
            extensions.set("counts", Value::Object(counts.collect()));
        }
        if let Error::Overtaken { found, .. } = cause {
            set_found(&mut extensions, found);
        }
    } else if extensions.get("code").is_none() {
        extensions.set("code", INVALID_QUERY);
    }
    extensions
}

/// Adds the state that contradicts the request, as in REST.
fn set_found(extensions: &mut ErrorExtensionValues, found: &PresentState) {
    if let Some(revision) = &found.config_revision {
        extensions.set("config_revision", revision.as_str());
    }
    if let Some(by) = &found.by {
        extensions.set("audit_id", by.id);
        extensions.set("actor", by.actor.as_str());
        extensions.set("at", by.at.to_string());
    }
}

/// A response that consists of one error.
pub fn error_response(error: Error) -> Response {
    let error = async_graphql::Error::from(error);
    let mut refused = ServerError::new(error.message, None);
    refused.source = error.source;
    explain(Response::from_errors(vec![refused]))
}
