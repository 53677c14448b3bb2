//! The refusals that follow from the declaration of an operation, each with an example, in the `OpenAPI` document.

use axum::http::StatusCode;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use super::problem::ProblemView;

/// A refusal, with the code and the detail of its example.
struct DocumentedRefusal {
    status: u16,
    description: &'static str,
    code: &'static str,
    detail: &'static str,
}

const REFUSALS: [DocumentedRefusal; 14] = [
    DocumentedRefusal {
        status: 400,
        description: "Not parseable.",
        code: "malformed_json",
        detail: "the JSON document ends too early",
    },
    DocumentedRefusal {
        status: 401,
        description: "No key, or one that is unknown, expired or revoked.",
        code: "missing_key",
        detail: "the request has no key; send it in the header Authorization: Bearer <key>",
    },
    DocumentedRefusal {
        status: 403,
        description: "The key's role does not allow this.",
        code: "forbidden",
        detail: "the key has the role viewer; this needs admin",
    },
    DocumentedRefusal {
        status: 404,
        description: "The path names something that is not there.",
        code: "unknown_resource_group",
        detail: "there is no resource group \"gpu-cluster\"",
    },
    DocumentedRefusal {
        status: 406,
        description: "No form of the answer is acceptable to the request's `Accept-Encoding`.",
        code: "not_acceptable",
        detail: "the header Accept-Encoding accepts no form in which this can be answered",
    },
    DocumentedRefusal {
        status: 408,
        description: "The body did not arrive in time.",
        code: "request_timeout",
        detail: "the body did not arrive in time",
    },
    DocumentedRefusal {
        status: 409,
        description: "The configuration has changed since `if_revision`.",
        code: "config_changed",
        detail: "the configuration has changed since the revision 7.e4a1686f; now it is 8.e4a1686f",
    },
    DocumentedRefusal {
        status: 412,
        description: "`If-Match` names an older version.",
        code: "stale_match",
        detail: "the resource has changed since the version that If-Match names",
    },
    DocumentedRefusal {
        status: 413,
        description: "The body is too large.",
        code: "too_large",
        detail: "the body is larger than this endpoint takes",
    },
    DocumentedRefusal {
        status: 415,
        description: "The body has another content type.",
        code: "unsupported_media_type",
        detail: "the body must be application/json",
    },
    DocumentedRefusal {
        status: 422,
        description: "Parseable but wrong, or with a query parameter or a condition that is not taken; `errors` names every \
            fault.",
        code: "unknown_field",
        detail: "`colour` is not known here",
    },
    DocumentedRefusal {
        status: 429,
        description: "The key asks more than the server allows one key; `Retry-After` says when to try again.",
        code: "too_many_requests",
        detail: "this key has 64 requests that are not answered yet; ask again later",
    },
    DocumentedRefusal {
        status: 500,
        description: "A fault of the server; the cause is in its log.",
        code: "internal",
        detail: "an internal error happened; its cause is in the server's log",
    },
    DocumentedRefusal {
        status: 503,
        description: "Busy, shutting down or too slow; `Retry-After` says when to try again.",
        code: "unavailable",
        detail: "the service is busy; try again",
    },
];

impl DocumentedRefusal {
    fn response(&self) -> Response {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(ProblemView::name()))).build();
        ResponseBuilder::new().description(self.description).content("application/problem+json", content).build()
    }

    fn example(&self) -> Value {
        let Self { status, code, detail, .. } = self;
        let title = StatusCode::from_u16(*status).ok().and_then(|status| status.canonical_reason());
        let mut example = json!({
            "type": format!("urn:fairshared:problem:{code}"), "title": title, "status": status, "code": code, "detail": detail,
            "request_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11",
        });
        match status {
            409 => example["config_revision"] = "8.e4a1686f".into(),
            422 => example["errors"] = json!([{"pointer": "/colour", "code": code, "detail": detail}]),
            _ => {}
        }
        example
    }
}

/// Adds the refusals that an operation can return. If the endpoint declares one of them itself, its description and
/// example are kept.
pub fn add_refusals(operation: &mut Operation) {
    let parameters = operation.parameters.as_deref().unwrap_or_default();
    let has =
        |place: fn(&ParameterIn) -> bool| parameters.iter().any(|p| matches!(p, RefOr::T(p) if place(&p.parameter_in)));
    let has_path = has(|p| matches!(p, ParameterIn::Path));
    let has_query = has(|p| matches!(p, ParameterIn::Query));
    let has_body = operation.request_body.is_some();
    let is_conditional = parameters.iter().any(|p| matches!(p, RefOr::T(p) if p.name == "If-Match"));
    let is_open = operation.security.is_some();
    for refusal in REFUSALS {
        let applies = match refusal.status {
            400 => has_path || has_query || has_body,
            401 | 403 | 429 => !is_open,
            404 => has_path,
            408 | 413 | 415 => has_body,
            409 => false,
            412 => is_conditional,
            _ => true,
        };
        let responses = &mut operation.responses.responses;
        let status = refusal.status.to_string();
        if applies {
            responses.entry(status.clone()).or_insert_with(|| RefOr::T(refusal.response()));
        }
        let Some(RefOr::T(response)) = responses.get_mut(&status) else { continue };
        for content in response.content.values_mut() {
            if let RefOr::T(content) = content {
                content.example.get_or_insert_with(|| refusal.example());
            }
        }
    }
}
