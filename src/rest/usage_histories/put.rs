//! `PUT /resource-groups/{rg}/usage-histories/{source}`: adds day totals of earlier years to a history.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::{HistoryAnswer, HistoryBody, HistoryPath};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::problem::{ProblemView, Result};
use crate::service::usage_history::HistoryRows;
use crate::service::{Caller, RequestFaults, Service};

/// Adds day totals of years gone by to a history, for reports. They make no kernels and change no share. Rows come in any
/// number of requests; the last one says `complete`. A history that is complete takes no more.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/usage-histories/{source}", operation_id = "put_usage_history", tag = "Usage",
    params(HistoryPath), request_body = HistoryBody,
    responses(
        (status = 200, body = HistoryAnswer),
        (status = 409, description = "The history is complete.", body = ProblemView, content_type = "application/problem+json",
            example = json!({
                "type": "urn:fairshared:problem:history_complete", "title": "Conflict", "status": 409,
                "code": "history_complete",
                "detail": "the history \"slurm-2023\" is complete, and its usage counts already; it takes no more rows",
                "request_id": "0198f9d0-6c5c-7d7e-9c35-0d6a7c4f2b11"
            }))
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<HistoryPath>,
    JsonBody(body): JsonBody<HistoryBody>,
) -> Result<Json<HistoryAnswer>> {
    caller.require_admin()?;
    let (today, mut rows, mut faults) = (service.trusted_now().day(), Vec::new(), RequestFaults::default());
    for (at, row) in body.rows.0.into_iter().enumerate() {
        match row.check(&service.people(), today, &format!("/rows/{at}")) {
            Ok(row) => rows.push(row),
            Err(found) => found.into_iter().for_each(|fault| faults.push(fault)),
        }
    }
    let rows = faults.or(rows)?;
    let rows = HistoryRows { rows, complete: body.complete };
    Ok(Json(service.put_history(caller, path.rg, path.source, rows).await?.into()))
}
