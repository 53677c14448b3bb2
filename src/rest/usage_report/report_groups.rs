//! `GET /usage-report`: the usage in several groups together, or in each of them.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use utoipa::IntoParams;

use super::view::{ReportQuery, UsageReportAnswer, answer};
use crate::rest::extract::GroupParams;
use crate::rest::problem::{ProblemView, Result};
use crate::service::{Caller, Service};

/// Which groups a report sums.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReportGroups {
    /// A resource group; may be given several times. Without it, all that the key reaches.
    #[param(example = json!(["gpu-cluster"]))]
    pub group: Option<Vec<String>>,
}

/// The usage in several groups together; by `resource_group`, in each of them.
#[utoipa::path(
    get, path = "/usage-report", operation_id = "get_usage_report_of_groups", tag = "Usage",
    params(ReportGroups, ReportQuery),
    responses(
        (status = 200, body = UsageReportAnswer),
        (status = 404, description = "A resource group is not there.", body = ProblemView, content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    GroupParams { groups, rest: query }: GroupParams<ReportQuery>,
) -> Result<Json<UsageReportAnswer>> {
    let question = service.report_question(&caller, (!groups.is_empty()).then_some(groups), query.asked())?;
    let page = query.page(&question)?;
    Ok(Json(answer(page.as_ref(), service.usage_report(&caller, &question).await?)))
}
