//! `PUT /connectors/{cluster}`: the report of a connector's round.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use crate::api::connector_round::{ConnectorReport, ConnectorWritten};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::ConnectorPath;
use crate::rest::problem::{ProblemView, Result};
use crate::service::connectors::StoredRound;
use crate::service::{Caller, Service};

/// Reports a round of a connector: the object of `--once` with the connector itself. It stores the comparison of orders that the
/// round has made by `POST …/sequence` with `current_order`, and adds it to the shadow report of the group. A report that is sent
/// again adds nothing. A cluster of another group may have the same name.
#[utoipa::path(
    put, path = "/connectors/{cluster}", operation_id = "put_connector", tag = "Connectors",
    params(ConnectorPath), request_body = ConnectorReport,
    responses(
        (status = 200, description = "Stored.", body = ConnectorWritten),
        (status = 201, description = "Stored; it is the first round of the connector.", body = ConnectorWritten),
        (status = 409, description = "The resource group has too many connectors.", body = ProblemView, content_type = "application/problem+json",
            example = json!({
                "type": "urn:fairshared:problem:too_many_connectors", "title": "Conflict", "status": 409,
                "code": "too_many_connectors",
                "detail": "\"gpu-cluster\" has 1000 connectors; those without rounds go after their retention",
                "request_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11"
            }))
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<ConnectorPath>,
    JsonBody(report): JsonBody<ConnectorReport>,
) -> Result<(StatusCode, Json<ConnectorWritten>)> {
    let StoredRound { connector, is_new, warnings } = service.put_round(caller, path.cluster, report).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(ConnectorWritten { connector, warnings })))
}
