//! `GET /resource-groups/{rg}/kernels/{kernel_id}`: one kernel with its slices.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};

use super::view::{KernelView, KernelWithSlices, SliceView, SuspensionView};
use crate::domain::ids::KernelId;
use crate::rest::extract::PathParams;
use crate::rest::paths::KernelPath;
use crate::rest::problem::Result;
use crate::service::kernels::KernelWithRecords;
use crate::service::{Caller, Service};

/// One kernel with its slices.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/kernels/{kernel_id}", operation_id = "get_kernel", tag = "Kernels",
    params(KernelPath), responses((status = 200, body = KernelWithSlices))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<KernelPath>,
) -> Result<Json<KernelWithSlices>> {
    let found = service.kernel(&caller, &path.rg, KernelId(path.kernel_id)).await?;
    let KernelWithRecords { kernel, records, records_from } = found;
    let suspensions = SuspensionView::of(&kernel);
    let kernel = KernelView::new(kernel, &service.people());
    let slices = records.into_iter().map(SliceView::from).collect();
    Ok(Json(KernelWithSlices { kernel, suspensions, slices, records_from }))
}
