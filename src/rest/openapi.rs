//! The OpenAPI document: the declarations of the endpoints, and the refusals that follow from their declarations.

use std::sync::OnceLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use utoipa::OpenApi;
use utoipa::openapi::path::{Operation, Parameter};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, RefOr, Schema};

use super::descriptions::{describe_answers, move_defaults};
use super::examples::add_examples;
use super::forms::{add_forms, add_path_forms};
use super::problem::ProblemView;
use super::refusals::add_refusals;
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
struct BaseDocument;

/// The document of all endpoints.
pub fn openapi() -> Document {
    let mut document = BaseDocument::openapi();
    for part in [router::USUAL_ENDPOINTS, router::BULK_ENDPOINTS, router::UNTIMED_ENDPOINTS] {
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
            move_defaults(operation);
            add_path_forms(operation);
            add_refusals(operation);
            describe_answers(operation, &components.schemas);
            add_examples(operation, &components.schemas);
        }
    }
    document
}

/// The document as bytes, which are made for the first request.
pub async fn openapi_document() -> Response {
    static DOCUMENT_BYTES: OnceLock<Bytes> = OnceLock::new();
    let write = || serde_json::to_vec(&openapi()).unwrap_or_default().into();
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT_BYTES.get_or_init(write).clone()).into_response()
}

/// Adds the limits of the page size to operations with the parameter `cursor`, which return lists in pages.
fn add_page_limits(operation: &mut Operation) {
    let mut parameters: Vec<&mut Parameter> =
        operation.parameters.iter_mut().flatten().filter_map(inline_parameter).collect();
    if !parameters.iter().any(|parameter| parameter.name == "cursor") {
        return;
    }
    let limit = parameters.iter_mut().find(|parameter| parameter.name == "limit");
    if let Some(RefOr::T(Schema::Object(schema))) = limit.and_then(|parameter| parameter.schema.as_mut()) {
        schema.minimum = Some(1.into());
        schema.maximum = Some(MAX_PAGE.into());
    }
}

fn inline_parameter(parameter: &mut RefOr<Parameter>) -> Option<&mut Parameter> {
    match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    }
}
