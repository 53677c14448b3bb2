//! `GET /resource-groups/{rg}/usage-records`: the usage records of a period, by kernel and then by time.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::UsageRecordView;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::usage_records::{self as records, RECORD_LIST, RecordPeriod};
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UsageRecordsQuery {
    /// A user's name or UUID.
    pub user: Option<String>,
    /// A project's name or UUID.
    pub project: Option<String>,
    /// Only what counted for this domain.
    pub domain: Option<String>,
    /// The beginning, an instant or a day.
    #[param(example = "2026-01-13T00:00:00Z")]
    pub from: String,
    /// The end, an instant or a day, which is then included; at most 31 days after `from`.
    #[param(example = "2026-01-14T00:00:00Z")]
    pub to: String,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// The usage records of a period, by kernel and then by time.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/usage-records", operation_id = "list_usage_records", tag = "Usage",
    params(GroupPath, UsageRecordsQuery), responses((status = 200, body = List<UsageRecordView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<UsageRecordsQuery>,
) -> Result<Json<List<UsageRecordView>>> {
    let cursor = ListCursor::new(RECORD_LIST, &path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let period = RecordPeriod::read(&query.from, &query.to)?;
    let (user, project, domain) = (query.user.as_deref(), query.project.as_deref(), query.domain.as_deref());
    let wanted = records::RecordQuery { user, project, domain, period };
    Ok(Json(cursor.answer(service.usage_records(&caller, &path.rg, wanted, &window).await?)))
}
