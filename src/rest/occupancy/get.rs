//! `GET /resource-groups/{rg}/occupancy`: what is held and what is free.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::domain::workloads::occupancy::OccupancyBy;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::occupancy::GroupOccupancy;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OccupancyQuery {
    /// The kind of the holders that are listed.
    #[serde(default)]
    #[param(inline, default = "user")]
    pub by: OccupancyBy,
}

/// The slots that running kernels hold now by domain, project, user, queue or agent, and those that are free. A kernel counts once, where it runs.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/occupancy", operation_id = "get_occupancy", tag = "Workloads",
    params(GroupPath, OccupancyQuery), responses((status = 200, body = GroupOccupancy))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<OccupancyQuery>,
) -> Result<Json<GroupOccupancy>> {
    Ok(Json(service.occupancy(&caller, &path.rg, query.by).await?))
}
