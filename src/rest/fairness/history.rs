//! `GET /resource-groups/{rg}/fairness/history`: the fairness of each tier on past days.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::FairnessDayView;
use crate::domain::tier::Tier;
use crate::domain::time::Day;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::fairness::days::FairnessFilter;
use crate::service::{Caller, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FairnessDaysQuery {
    /// The first day, inclusive.
    #[param(value_type = Option<String>, format = Date)]
    pub from: Option<Day>,
    /// The last day, inclusive.
    #[param(value_type = Option<String>, format = Date)]
    pub to: Option<Day>,
    /// Only this tier.
    #[param(inline)]
    pub tier: Option<Tier>,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// How fair each tier was on each day, by day and tier.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/fairness/history", operation_id = "get_fairness_history", tag = "Fair share",
    params(GroupPath, FairnessDaysQuery), responses((status = 200, body = List<FairnessDayView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<FairnessDaysQuery>,
) -> Result<Json<List<FairnessDayView>>> {
    let FairnessDaysQuery { from, to, tier, limit, cursor } = query;
    let list = ListCursor::new(Service::FAIRNESS_HISTORY, path.rg.clone());
    let window = list.window(limit, cursor.as_deref())?;
    let filter = FairnessFilter { from, to, tier };
    Ok(Json(list.answer(service.fairness_history(&caller, &path.rg, filter, &window).await?)))
}
