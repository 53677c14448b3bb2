//! `POST /kernels/lookup`: finds which of many kernels are known, in all resource groups that the key reaches.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::view::KernelView;
use crate::domain::ids::KernelId;
use crate::domain::reading::at_most;
use crate::rest::extract::JsonBody;
use crate::rest::list::List;
use crate::rest::problem::Result;
use crate::service::{Caller, Service};

/// The largest number of ids in one request.
pub const MAX_IDS: usize = 100_000;

/// Kernels that are asked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"kernel_ids": ["2b1f6c1e-9d57-4a1e-8b0e-6a3c0f1d2e4b"]}))]
pub struct KernelLookup {
    #[serde(deserialize_with = "at_most::<MAX_IDS, _, _>")]
    #[schema(max_items = 100_000)]
    pub kernel_ids: Vec<Uuid>,
}

/// The known kernels among up to 100,000 ids, in every resource group that the key reaches; the others are left out.
#[utoipa::path(
    post, path = "/kernels/lookup", operation_id = "lookup_kernels", tag = "Kernels",
    request_body = KernelLookup, responses((status = 200, body = List<KernelView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    JsonBody(body): JsonBody<KernelLookup>,
) -> Result<Json<List<KernelView>>> {
    let ids: Vec<KernelId> = body.kernel_ids.into_iter().map(KernelId).collect();
    let mut known = service.known_kernels(&caller, &ids).await?;
    known.sort_unstable_by_key(|kernel| kernel.report.id);
    let people = service.people();
    Ok(Json(List::whole(known.into_iter().map(|kernel| KernelView::new(kernel, &people)).collect())))
}
