//! `GET /metrics`: the metrics in the text format of Prometheus.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::recorder;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Figures for Prometheus; needs a key that may read everything in all resource groups.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "Health",
    responses((
        status = 200, description = "The figures in the text format.", body = String, content_type = "text/plain",
        example = json!("# HELP fairshared_resource_groups Resource groups\n# TYPE fairshared_resource_groups gauge\n\
            fairshared_resource_groups 3\n")
    ))
)]
pub async fn handle(State(service): State<Arc<Service>>, Extension(caller): Extension<Caller>) -> Result<Response> {
    caller.require_reader()?;
    caller.require_all_groups()?;
    let text = service.permits.run(caller.client(), || Ok(recorder::render(&service))).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
