//! `GET /resource-groups/{rg}/division/history`: the division on past days.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use super::view::DivisionDayView;
use crate::domain::time::Day;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::division::HistoryFilter;
use crate::service::{Caller, Error, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DivisionHistoryQuery {
    /// The first day, inclusive.
    #[param(value_type = Option<String>, format = Date)]
    pub from: Option<Day>,
    /// The last day, inclusive.
    #[param(value_type = Option<String>, format = Date)]
    pub to: Option<Day>,
    /// Only this queue.
    pub queue: Option<String>,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// The amounts that queues got on the days before: the last division of each day, by day and queue.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/division/history", operation_id = "get_division_history", tag = "Queues",
    params(GroupPath, DivisionHistoryQuery), responses((status = 200, body = List<DivisionDayView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<DivisionHistoryQuery>,
) -> Result<Json<List<DivisionDayView>>> {
    let DivisionHistoryQuery { from, to, queue, limit, cursor } = query;
    if from.zip(to).is_some_and(|(from, to)| to < from) {
        return Err(Error::about("/to", "contradiction", "lies before `from`").into());
    }
    let list = ListCursor::new(Service::DIVISION_HISTORY, path.rg.clone());
    let window = list.window(limit, cursor.as_deref())?;
    let filter = HistoryFilter { from, to, queue };
    Ok(Json(list.answer(service.division_history(&caller, &path.rg, &filter, &window).await?)))
}
