//! The OpenAPI document: what the endpoints declare, and the refusals that follow from their shape.

use std::sync::OnceLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi as Document, Ref, RefOr, ResponseBuilder, Schema};
use utoipa::{OpenApi, ToSchema};

use super::forms::{add_forms, add_path_forms};
use super::problem::ProblemView;
use super::router;
use crate::service::Fault;
use crate::service::input::page::MAX_PAGE;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "fairshared",
        description = "A fair-share server for compute clusters.\n\nDecimals come as text or number and are answered as \
            text without trailing zeros. Refusals are `application/problem+json`: 400 not parseable, 422 parseable but \
            wrong (also unknown keys and unknown query parameters), with the place of every fault in `errors`."
    ),
    components(schemas(ProblemView, Fault)),
    security(("key" = []))
)]
struct Base;

/// The document of every endpoint.
pub fn openapi() -> Document {
    let mut document = Base::openapi();
    for part in [router::PROMPT, router::BULK, router::PATIENT] {
        document.merge((part.declared)());
    }
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A key as `fairshared keys create` or `POST /keys` shows it once."))
        .build();
    let components = document.components.get_or_insert_default();
    components.security_schemes.insert("key".to_owned(), RefOr::T(SecurityScheme::Http(scheme)));
    components.schemas.values_mut().for_each(add_forms);
    for item in document.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete].into_iter().flatten();
        for operation in operations {
            add_page_limits(operation);
            add_path_forms(operation);
            add_refusals(operation);
        }
    }
    document
}

/// The document as bytes, which are written for the first request that asks.
pub async fn openapi_document() -> Response {
    static WRITTEN: OnceLock<Bytes> = OnceLock::new();
    let write = || serde_json::to_vec(&openapi()).unwrap_or_default().into();
    ([(header::CONTENT_TYPE, "application/json")], WRITTEN.get_or_init(write).clone()).into_response()
}

/// The page size of a list that comes in pages, which is what an operation with a cursor answers.
fn add_page_limits(operation: &mut Operation) {
    let mut parameters: Vec<&mut Parameter> = operation.parameters.iter_mut().flatten().filter_map(inline).collect();
    if !parameters.iter().any(|parameter| parameter.name == "cursor") {
        return;
    }
    let limit = parameters.iter_mut().find(|parameter| parameter.name == "limit");
    if let Some(RefOr::T(Schema::Object(schema))) = limit.and_then(|parameter| parameter.schema.as_mut()) {
        schema.minimum = Some(1.into());
        schema.maximum = Some(MAX_PAGE.into());
    }
}

fn inline(parameter: &mut RefOr<Parameter>) -> Option<&mut Parameter> {
    match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    }
}

/// Every refusal that an operation of this shape can answer.
fn add_refusals(operation: &mut Operation) {
    let parameters = operation.parameters.as_deref().unwrap_or_default();
    let has =
        |place: fn(&ParameterIn) -> bool| parameters.iter().any(|p| matches!(p, RefOr::T(p) if place(&p.parameter_in)));
    let has_path = has(|p| matches!(p, ParameterIn::Path));
    let has_query = has(|p| matches!(p, ParameterIn::Query));
    let has_body = operation.request_body.is_some();
    let is_conditional = parameters.iter().any(|p| matches!(p, RefOr::T(p) if p.name == "If-Match"));
    let is_open = operation.security.is_some();
    let refusals = [
        (true, "500", "A fault of the server; the cause is in its log."),
        (true, "503", "Busy, shutting down or too slow; `Retry-After` says when to try again."),
        (!is_open, "401", "No key, or one that is unknown, expired or revoked."),
        (!is_open, "403", "The key's role does not allow this."),
        (has_path, "404", "The path names something that is not there."),
        (has_path || has_query || has_body, "400", "Not parseable."),
        (true, "406", "No form of the answer is acceptable to the request's `Accept-Encoding`."),
        (
            true,
            "422",
            "Parseable but wrong, or with a query parameter or a condition that is not taken; `errors` names every fault.",
        ),
        (is_conditional, "412", "`If-Match` names an older version."),
        (has_body, "408", "The body did not arrive in time."),
        (has_body, "413", "The body is too large."),
        (has_body, "415", "The body has another content type."),
    ];
    for (_, status, description) in refusals.into_iter().filter(|(applies, ..)| *applies) {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(ProblemView::name()))).build();
        let response =
            ResponseBuilder::new().description(description).content("application/problem+json", content).build();
        operation.responses.responses.entry(status.to_owned()).or_insert(RefOr::T(response));
    }
}
