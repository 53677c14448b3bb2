//! `GET /resource-groups/{rg}/usage-report`: the usage in a group over a range of days.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::{ReportQuery, UsageReportAnswer, answer};
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// The usage in a group in a range of days, by domain, project, user, charge class, day, week or month.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/usage-report", operation_id = "get_usage_report", tag = "Usage",
    params(GroupPath, ReportQuery), responses((status = 200, body = UsageReportAnswer))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<ReportQuery>,
) -> Result<Json<UsageReportAnswer>> {
    let question = service.report_question(&caller, Some(vec![path.rg]), query.asked())?;
    let page = query.page(&question)?;
    Ok(Json(answer(page.as_ref(), service.usage_report(&caller, &question).await?)))
}
