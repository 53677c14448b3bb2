use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::{WeightChanges, WeightsWritten};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Sets and unsets weights in one transaction; factors and ranks follow at once.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/fair-share-weights", operation_id = "put_fair_share_weights", tag = "Fair share",
    params(GroupPath), request_body = WeightChanges, responses((status = 200, body = WeightsWritten))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    JsonBody(mut body): JsonBody<WeightChanges>,
) -> Result<Json<WeightsWritten>> {
    let reason = body.reason.take();
    let items = body.into_items(&service.people())?;
    let changed = service.put_weights(caller, path.rg, items, reason).await?;
    Ok(Json(WeightsWritten { ok: true, upserted: changed.upserted, deleted: changed.deleted }))
}
