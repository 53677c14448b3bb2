//! `GET /resource-groups/{rg}/kernels`: the kernels of a group by id.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::view::KernelView;
use crate::domain::ids::{ProjectId, UserId};
use crate::domain::kernel::KernelPhase;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::kernels::KernelFilter;
use crate::service::people::known_names;
use crate::service::{Caller, Error, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct KernelQuery {
    pub user_uuid: Option<Uuid>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    pub project_id: Option<Uuid>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
    pub domain_name: Option<String>,
    /// `PENDING`, `RUNNING`, `SUSPENDED` or `TERMINATED`.
    pub status: Option<String>,
    /// Rows of a page, 1 to 1000; 100 by default.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl KernelQuery {
    fn filter(&self, people: &PeopleDirectory, caller: &Caller) -> Result<KernelFilter> {
        let fault = |fault| Error::Invalid(vec![fault]);
        let phase = self.status.as_deref().map(|status| {
            let known = "is not one of PENDING, RUNNING, SUSPENDED, TERMINATED";
            KernelPhase::parse(status).ok_or_else(|| Error::about("/status", "unknown_status", known))
        });
        let (called, of_project) = (self.user.as_deref(), self.project.as_deref());
        let user = lookup::some_user(people, self.user_uuid.map(UserId), called).map_err(fault)?;
        known_names::require_known_user(people, caller, user, called).map_err(fault)?;
        let project = lookup::some_project(people, self.project_id.map(ProjectId), of_project).map_err(fault)?;
        known_names::require_known_project(people, caller, project, of_project).map_err(fault)?;
        Ok(KernelFilter { user, project, domain: self.domain_name.clone(), phase: phase.transpose()? })
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
    let cursor = ListCursor::new(Service::KERNEL_LIST, &path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    let filter = query.filter(&service.people(), &caller)?;
    let page = service.kernels(&caller, &path.rg, filter, &window).await?;
    let people = service.people();
    Ok(Json(cursor.answer(page.map(|kernel| KernelView::new(kernel, &people)))))
}
