//! `GET /resource-groups/{rg}/fair-share-history`: the factors and ranks of the last run of each day.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::view::ShareDayView;
use crate::domain::tier::Tier;
use crate::domain::time::Day;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::share_history::{ShareHistoryQuery, ShareOrder};
use crate::service::{Caller, Service};

/// The order of the rows of a day.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrderName {
    #[default]
    Id,
    Rank,
}

impl From<OrderName> for ShareOrder {
    fn from(name: OrderName) -> Self {
        match name {
            OrderName::Id => Self::Id,
            OrderName::Rank => Self::Rank,
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ShareDaysQuery {
    /// `user` by default.
    #[param(inline)]
    pub tier: Option<Tier>,
    /// Only this domain; of the other tiers only the projects that are in it now.
    pub domain: Option<String>,
    /// Only this project, by name or UUID; not of the tier of domains.
    pub project: Option<String>,
    /// Only this user, by name or UUID; of the tier of users only.
    pub user: Option<String>,
    /// The first day, inclusive; 30 days before the last by default. At most 31 days, or 3660 of one entity.
    #[param(value_type = Option<String>, format = Date)]
    pub from: Option<Day>,
    /// The last day, inclusive; today by default.
    #[param(value_type = Option<String>, format = Date)]
    pub to: Option<Day>,
    /// A part of the name, in any case; of those without a name, of the UUID.
    pub search: Option<String>,
    /// The order of the rows of a day; `id` by default.
    #[serde(default)]
    #[param(inline, default = "id")]
    pub order: OrderName,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// The factors and ranks that the last run of each day left, by day and then by id or rank.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/fair-share-history", operation_id = "list_fair_share_history", tag = "Fair share",
    params(GroupPath, ShareDaysQuery), responses((status = 200, body = List<ShareDayView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<ShareDaysQuery>,
) -> Result<Json<List<ShareDayView>>> {
    let ShareDaysQuery { tier, domain, project, user, from, to, search, order, limit, cursor } = query;
    let (tier, order) = (tier.unwrap_or(Tier::User), order.into());
    let list = ListCursor::new(Service::share_history_list(tier, order), path.rg.clone());
    let window = list.window(limit, cursor.as_deref())?;
    let (domain, project, user) = (domain.as_deref(), project.as_deref(), user.as_deref());
    let search = search.as_deref();
    let query = ShareHistoryQuery { tier, domain, project, user, from, to, search, order };
    let rows = service.share_history(&caller, &path.rg, query, &window).await?;
    let people = service.people();
    Ok(Json(list.answer(rows.map(|row| ShareDayView::new(&people, row)))))
}
