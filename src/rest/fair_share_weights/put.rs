//! `PUT /resource-groups/{rg}/fair-share-weights`: sets and unsets weights, all or nothing.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::{WeightChanges, WeightsWritten};
use crate::rest::extract::{JsonBody, PathParams};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::input::terms::WriteTerms;
use crate::service::weights::WeightsChanged;
use crate::service::{Caller, Service};

/// Sets and unsets weights in one transaction; factors and ranks follow at once.
#[utoipa::path(
    put, path = "/resource-groups/{rg}/fair-share-weights", operation_id = "put_fair_share_weights", tag = "Fair share",
    params(GroupPath), request_body = WeightChanges, responses(
        (status = 200, body = WeightsWritten),
        (status = 409, description = "The configuration has changed since `if_revision`.", body = crate::rest::problem::ProblemView,
            content_type = "application/problem+json")
    )
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    JsonBody(mut body): JsonBody<WeightChanges>,
) -> Result<Json<WeightsWritten>> {
    let terms = WriteTerms { reason: body.reason.take(), if_revision: body.if_revision.take() };
    let called = body.called();
    let items = body.into_items(&service.people())?;
    let changed = service.put_weights(caller, path.rg, items, terms).await;
    let changed = changed.map_err(|error| called.with_given_names(error, &service.people()))?;
    let WeightsChanged { upserted, deleted, warnings, .. } = changed;
    Ok(Json(WeightsWritten { ok: true, upserted, deleted, warnings }))
}
