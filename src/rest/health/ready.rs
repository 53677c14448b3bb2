//! `GET /readyz`: the readiness of this server for requests.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::Readiness;
use crate::rest::extract::QueryParams;
use crate::rest::problem::Result;
use crate::service::{Error, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReadyQuery {
    /// `writes`: 503 also while writes are refused.
    #[serde(rename = "for")]
    pub purpose: Option<String>,
}

/// The readiness of this server for requests. It never asks the database: published snapshots need none, so a
/// database that is away makes the service `degraded`, not unready. 503 before anything is published and while the
/// service stops.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "Health", security(()),
    params(ReadyQuery), responses((status = 200, body = Readiness)))]
pub async fn handle(
    State(service): State<Arc<Service>>,
    QueryParams(query): QueryParams<ReadyQuery>,
) -> Result<Json<Readiness>> {
    let for_writes = match query.purpose.as_deref() {
        None => false,
        Some("writes") => true,
        Some(_) => return Err(Error::about("/for", "invalid_value", "is not `writes`").into()),
    };
    if service.health.is_draining() {
        let detail = "the service is about to stop".to_owned();
        return Err(Error::not_now("draining", detail).into());
    }
    match service.health.refuses_writes().filter(|_| for_writes) {
        Some(condition) => Err(Error::not_now(condition.code, condition.detail).into()),
        None => Ok(Json(service.health.reasons().into())),
    }
}
