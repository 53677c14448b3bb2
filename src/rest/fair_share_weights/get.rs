//! `GET /resource-groups/{rg}/fair-share-weights`: all weights that are set in the group.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::view::{WeightList, WeightView};
use crate::rest::extract::{PathParams, json_response};
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
) -> Result<Response> {
    let group = service.group_for_readers(&caller, &path.rg)?;
    let facts = group.whole()?;
    let list = || {
        let people = service.people();
        let rows = facts.weights().into_iter().map(|row| WeightView::new(&group, &people, &row));
        WeightList { items: rows.collect(), config_revision: group.config_revision.to_string() }
    };
    let weights = &group.answers()?.weights;
    let rows = if weights.is_written() { 0 } else { group.count_users() };
    Ok(service.permits.scan(caller.client(), rows, || Ok(json_response(weights.json(list)))).await?)
}
