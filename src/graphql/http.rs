//! `POST /graphql` and the query page.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use serde_json::json;

use super::{FairShareSchema, anonymous, execute, page};
use crate::domain::reading::read_from;
use crate::service::input::json::{self, Unreadable};
use crate::service::{Caller, Error};

/// The endpoint over `schema`. The layer that authenticates requests puts a [`Caller`] into their extensions.
pub fn router(schema: FairShareSchema) -> Router {
    Router::new().route("/graphql", get(page::page).post(answer)).with_state(schema)
}

async fn answer(State(schema): State<FairShareSchema>, caller: Option<Extension<Caller>>, body: Bytes) -> Response {
    let Some(Extension(caller)) = caller else { return problem(StatusCode::UNAUTHORIZED, &anonymous(), "") };
    let request = match read(&body) {
        Ok(request) => request,
        Err(error) => return problem(StatusCode::BAD_REQUEST, &error, &caller.request_id),
    };
    Json(execute(&schema, caller, request).await).into_response()
}

/// A request is a JSON object; read on its own, it would be taken from an array too.
fn read(body: &[u8]) -> Result<async_graphql::Request, Error> {
    let malformed = |detail: &str| {
        let detail = format!("the body is not a GraphQL request in JSON: {detail}");
        Error::Malformed { code: "malformed_json", detail }
    };
    let object = json::read_map(body).map_err(|error| match error {
        Unreadable::Wrong(fault) => malformed(&fault.detail),
        unreadable @ Unreadable::Malformed { .. } => unreadable.into(),
    })?;
    let request = read_from(serde_json::Value::Object(object), "invalid_type");
    request.map_err(|misread| malformed(&misread.sentence("it")))
}

/// RFC 9457, for requests that no GraphQL answer fits.
fn problem(status: StatusCode, error: &Error, request_id: &str) -> Response {
    let body = json!({
        "type": format!("urn:fairshared:problem:{}", error.code()),
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "detail": error.to_string(),
        "code": error.code(),
        "request_id": request_id,
    });
    (status, [(header::CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
}
