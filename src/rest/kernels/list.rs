use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::view::KernelView;
use crate::domain::ids::{ProjectId, UserId};
use crate::domain::kernel::Phase;
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, Place};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::kernels::KernelFilter;
use crate::service::{Caller, Error, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct KernelQuery {
    pub user_uuid: Option<Uuid>,
    pub project_id: Option<Uuid>,
    pub domain_name: Option<String>,
    /// `PENDING`, `RUNNING` or `TERMINATED`.
    pub status: Option<String>,
    /// Rows of a page, 1 to 1000; 100 unless given.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl KernelQuery {
    fn filter(&self) -> Result<KernelFilter> {
        let phase = self.status.as_deref().map(|status| {
            let known = "is not one of PENDING, RUNNING, TERMINATED";
            Phase::parse(status).ok_or_else(|| Error::about("/status", "unknown_status", known))
        });
        Ok(KernelFilter {
            user: self.user_uuid.map(UserId),
            project: self.project_id.map(ProjectId),
            domain: self.domain_name.clone(),
            phase: phase.transpose()?,
        })
    }
}

/// Kernels of a group by id.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/kernels", operation_id = "list_kernels", tag = "Kernels",
    params(GroupPath, KernelQuery), responses((status = 200, body = List<KernelView>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<KernelQuery>,
) -> Result<Json<List<KernelView>>> {
    let place = Place::new(Service::KERNEL_LIST, &path.rg);
    let window = place.window(query.limit, query.cursor.as_deref())?;
    let page = service.kernels(&caller, &path.rg, query.filter()?, &window).await?;
    Ok(Json(place.answer(page)))
}
