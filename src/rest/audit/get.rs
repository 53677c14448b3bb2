//! `GET /resource-groups/{rg}/audit`: compares records with buckets, and the tiers with each other.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::AuditReport;
use crate::rest::extract::PathParams;
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// Compares records with buckets and tier with tier on live data, as of one moment; no other request waits for it.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/audit", operation_id = "audit_resource_group", tag = "Operations",
    params(GroupPath), responses((status = 200, body = AuditReport))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
) -> Result<Json<AuditReport>> {
    Ok(Json(service.audit_conservation(&caller, &path.rg).await?.into()))
}
