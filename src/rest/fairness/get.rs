//! `GET /resource-groups/{rg}/fairness`: the usage of all owners of a tier next to their entitlements by weight.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::FairnessView;
use crate::domain::tier::Tier;
use crate::engine::work::run_blocking;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::fairness::report::list_name;
use crate::service::fairness::window::ReportWindow;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FairnessQuery {
    /// `now` (what runs now instead of what was used), `1h`, `1d`, `7d`, `28d` (whole days, of which the last is today), or a first
    /// and a last day like `2026-01-01..2026-01-31`.
    #[param(default = "7d")]
    pub window: Option<String>,
    /// The tier that is reported.
    #[param(inline, default = "domain")]
    pub tier: Option<Tier>,
    /// Rows of a page, 1 to 1000. Without `limit` and `cursor` everyone is in one answer.
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// The usage of each domain, project or user of a tier in a window, beside the shares that weights entitle them to.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/fairness", operation_id = "get_fairness", tag = "Fair share",
    params(GroupPath, FairnessQuery), responses((status = 200, body = FairnessView))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<FairnessQuery>,
) -> Result<Response> {
    let FairnessQuery { window, tier, limit, cursor } = query;
    let tier = tier.unwrap_or(Tier::Domain);
    let window = ReportWindow::read(window.as_deref().unwrap_or("7d"))?;
    let list = ListCursor::new(list_name(tier), path.rg.clone());
    let is_whole = limit.is_none() && cursor.is_none();
    let page = list.window(limit, cursor.as_deref())?;
    let fairness = service.fairness(&caller, &path.rg, window, tier).await?;
    if is_whole {
        let rows = List::whole(fairness.rows.iter().cloned().map(From::from).collect());
        return Ok(run_blocking(|| Json(FairnessView::new(&fairness, rows)).into_response()));
    }
    Ok(Json(FairnessView::new(&fairness, list.answer(fairness.page(&page)))).into_response())
}
