//! `/graphql` as specified by "GraphQL over HTTP" (edition of September 2026): POST for all operations, GET for
//! queries, and the query page for a browser that sends no query.
//!
//! A request that is not a GraphQL request (wrong key, media type, method or JSON) is answered with a problem like
//! those of REST. All other responses are GraphQL responses, without `data` if the request could not be executed.
//! Invalid documents get the status 400, although the edition specifies 422, because the common audit tool for servers
//! expects 400.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use async_graphql::{Request, Response as GraphQlResponse, ServerError, Value};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use serde::Serialize;
use serde_json::json;

use super::media_types::{AnswerType, accepts_html, is_json};
use super::named_groups::look_for_new_groups;
use super::parameters::{RequestReader, has_document};
use super::{FairShareSchema, errors, execute, missing_key_error, page, prepare_request};
use crate::service::{Caller, Error, Service};

/// The status of an executed operation with errors. It is defined by the edition, and not in the HTTP registry.
const PARTIAL_SUCCESS: u16 = 294;

/// The path of the endpoint.
pub const PATH: &str = "/graphql";

/// The endpoint for `schema`. The layer that authenticates requests adds the [`Caller`] to their extensions.
pub fn router(schema: FairShareSchema, service: Arc<Service>) -> Router {
    Router::new().route(PATH, get(answer_get).post(answer_post)).with_state(SchemaExecutor { schema, service })
}

/// The schema that executes documents, and the service that finds the groups in them.
#[derive(Clone)]
struct SchemaExecutor {
    schema: FairShareSchema,
    service: Arc<Service>,
}

impl SchemaExecutor {
    fn reader(&self, caller: &Caller) -> RequestReader<'_> {
        RequestReader { memory: self.service.memory(), role: caller.principal.role }
    }
}

/// True for a request that gets the query page, for which no key is needed.
pub fn is_page_request(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let reads = method == Method::GET || method == Method::HEAD;
    reads && uri.path() == PATH && !has_document(uri.query().unwrap_or_default()) && accepts_html(headers)
}

async fn answer_get(
    State(executor): State<SchemaExecutor>,
    caller: Option<Extension<Caller>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if is_page_request(&method, &uri, &headers) {
        return page::page().await;
    }
    let Some(Extension(caller)) = caller else { return refusal(StatusCode::UNAUTHORIZED, &missing_key_error(), "") };
    let request = executor.reader(&caller).read_address(uri.query().unwrap_or_default());
    answer(&executor, caller, &headers, request, true).await
}

async fn answer_post(
    State(executor): State<SchemaExecutor>,
    caller: Option<Extension<Caller>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(Extension(caller)) = caller else { return refusal(StatusCode::UNAUTHORIZED, &missing_key_error(), "") };
    if !is_json(&headers) {
        let detail =
            "the body of a GraphQL request must be application/json in UTF-8, and the header Content-Type must say so";
        return problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail, &caller.request_id);
    }
    let request = executor.reader(&caller).read_body(&body);
    answer(&executor, caller, &headers, request, false).await
}

async fn answer(
    executor: &SchemaExecutor,
    caller: Caller,
    headers: &HeaderMap,
    request: Result<Request, Error>,
    is_get: bool,
) -> Response {
    let request_id = Arc::clone(&caller.request_id);
    let Some(kind) = AnswerType::negotiate(headers) else {
        let detail = "the header Accept has neither application/graphql-response+json nor application/json";
        return problem(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail, &request_id);
    };
    let mut request = match request {
        Ok(request) => request,
        Err(error) => return unread_request(&error, &request_id),
    };
    match prepare_request(&mut request) {
        Err(refusal) => write(kind, &refusal),
        Ok(Some(operation)) if is_get && operation != OperationType::Query => {
            let detail = format!("GET takes queries only; send the {operation} with POST");
            let mut refused = problem(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &detail, &request_id);
            refused.headers_mut().insert(header::ALLOW, const { header::HeaderValue::from_static("POST") });
            refused
        }
        Ok(_) => {
            look_for_new_groups(&executor.service, &caller, &mut request).await;
            write(kind, &execute(&executor.schema, caller, request).await)
        }
    }
}

/// The body of the response to a request that was not executed.
#[derive(Serialize)]
struct RequestErrors<'a> {
    errors: &'a [ServerError],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extensions: &'a BTreeMap<String, Value>,
}

fn write(kind: AnswerType, response: &GraphQlResponse) -> Response {
    let is_executed = errors::is_executed(response);
    let body = if is_executed {
        serde_json::to_vec(response)
    } else {
        serde_json::to_vec(&RequestErrors { errors: &response.errors, extensions: &response.extensions })
    };
    let body = match body {
        Ok(body) => body,
        Err(error) => {
            let error = Error::failed("a GraphQL answer was not written", error);
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, &error, "");
        }
    };
    let status = match kind {
        AnswerType::Json => StatusCode::OK,
        AnswerType::GraphQlResponse if !is_executed => StatusCode::BAD_REQUEST,
        AnswerType::GraphQlResponse if response.errors.is_empty() => StatusCode::OK,
        AnswerType::GraphQlResponse => StatusCode::from_u16(PARTIAL_SUCCESS).unwrap_or_default(),
    };
    // A response is for one key and one moment, so no cache may store the response to a GET.
    let headers = [
        (header::CONTENT_TYPE, kind.content_type()),
        (header::CACHE_CONTROL, "no-store"),
        (header::VARY, "accept, authorization, cookie"),
    ];
    (status, headers, body).into_response()
}

/// The refusal of a request that was not read: it is malformed, or there is no memory for it.
fn unread_request(error: &Error, request_id: &str) -> Response {
    let status = match error {
        Error::Malformed { .. } => StatusCode::BAD_REQUEST,
        Error::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut refused = refusal(status, error, request_id);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        refused.headers_mut().insert(header::RETRY_AFTER, const { header::HeaderValue::from_static("1") });
    }
    refused
}

fn refusal(status: StatusCode, error: &Error, request_id: &str) -> Response {
    problem(status, error.code(), &error.to_string(), request_id)
}

/// A problem (RFC 9457), for requests that are not GraphQL requests.
fn problem(status: StatusCode, code: &str, detail: &str, request_id: &str) -> Response {
    let body = json!({
        "type": format!("urn:fairshared:problem:{code}"),
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "detail": detail,
        "code": code,
        "request_id": request_id,
    });
    let headers = [(header::CONTENT_TYPE, "application/problem+json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, body.to_string()).into_response()
}
