//! `POST /jobs/trust-clock`: an admin confirms that the clock is right, and held jobs continue.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::TrustedClock;
use crate::rest::extract::QueryParams;
use crate::rest::paths::ReasonQuery;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Confirms that the clock is right, so that jobs that were paused because of it continue. The next run of each group takes
/// back records of times that are still to come.
#[utoipa::path(
    post, path = "/jobs/trust-clock", operation_id = "trust_clock", tag = "Operations",
    params(ReasonQuery), responses((status = 200, body = TrustedClock))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<ReasonQuery>,
) -> Result<Json<TrustedClock>> {
    Ok(Json(service.trust_clock(&caller, query.reason).await?.into()))
}
