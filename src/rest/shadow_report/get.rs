//! `GET /resource-groups/{rg}/shadow-report`: how the order of a group and that of another scheduler agree.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::domain::time::Day;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::connectors::shadow_report::ShadowReport;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ShadowReportQuery {
    /// The first day, inclusive; 31 days up to `to` by default, at most 366.
    #[param(value_type = Option<String>, format = Date)]
    pub from: Option<Day>,
    /// The last day, inclusive; today by default.
    #[param(value_type = Option<String>, format = Date)]
    pub to: Option<Day>,
}

/// How the order of the group and that of another scheduler agree: the last comparison, and sums by day and by owner. 404
/// (`no_shadow_report`) before the first round that has compared them.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/shadow-report", operation_id = "get_shadow_report", tag = "Connectors",
    params(GroupPath, ShadowReportQuery), responses((status = 200, body = ShadowReport))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<ShadowReportQuery>,
) -> Result<Json<ShadowReport>> {
    Ok(Json(service.shadow_report(&caller, &path.rg, query.from, query.to).await?))
}
