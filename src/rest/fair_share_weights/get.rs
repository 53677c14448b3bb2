use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::{WeightList, WeightView};
use crate::rest::extract::PathParams;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Every weight that is set in the group.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/fair-share-weights", operation_id = "list_fair_share_weights", tag = "Fair share",
    params(GroupPath), responses((status = 200, body = WeightList))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
) -> Result<Json<WeightList>> {
    let rows = service.weights(&caller, &path.rg)?;
    Ok(Json(WeightList { items: rows.into_iter().map(|row| WeightView::new(&path.rg, row)).collect() }))
}
