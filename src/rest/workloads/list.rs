//! `GET /resource-groups/{rg}/workloads`: the workloads of a group.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::domain::ids::{ProjectId, UserId};
use crate::domain::workloads::WorkloadStatus;
use crate::engine::people::{PeopleDirectory, lookup};
use crate::rest::extract::{PathParams, QueryParams};
use crate::rest::list::{List, ListCursor};
use crate::rest::paths::GroupPath;
use crate::rest::problem::Result;
use crate::service::people::known_names;
use crate::service::workloads::answer::WorkloadItem;
use crate::service::workloads::{WorkloadFilter, WorkloadOrder, order_of_text, reason_of_text, status_of_text};
use crate::service::{Caller, Error, Service};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkloadQuery {
    /// `pending`, `starting`, `running` or `ended`.
    #[param(default = "pending")]
    pub status: Option<String>,
    pub domain_name: Option<String>,
    pub project_id: Option<Uuid>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
    pub user_uuid: Option<Uuid>,
    /// The user's name instead of the UUID.
    pub user: Option<String>,
    /// The queue that they count for.
    pub queue: Option<String>,
    /// The reason for which they wait, as in `waiting.reason`.
    pub reason: Option<String>,
    /// Only those that have waited for more than this, in seconds.
    pub waiting_longer_than: Option<u64>,
    /// `position`; `submitted`: the first submission first; `waiting`: the one that waits longest first. Workloads that have ended
    /// have one order: the last to end first.
    #[param(default = "position")]
    pub order: Option<String>,
    /// Rows of a page, 1 to 1000; 100 unless given.
    #[param(default = 100)]
    pub limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl WorkloadQuery {
    fn read(&self, people: &PeopleDirectory, caller: &Caller) -> Result<(WorkloadFilter, WorkloadOrder)> {
        let fault = |fault| Error::Invalid(vec![fault]);
        let (called, of_project) = (self.user.as_deref(), self.project.as_deref());
        let user = lookup::some_user(people, self.user_uuid.map(UserId), called).map_err(fault)?;
        known_names::require_known_user(people, caller, user, called).map_err(fault)?;
        let project = lookup::some_project(people, self.project_id.map(ProjectId), of_project).map_err(fault)?;
        known_names::require_known_project(people, caller, project, of_project).map_err(fault)?;
        let status = self.status.as_deref().map_or(Ok(WorkloadStatus::Pending), status_of_text)?;
        let reason = self.reason.as_deref().map(reason_of_text).transpose()?;
        let filter = WorkloadFilter {
            status,
            domain: self.domain_name.clone(),
            project,
            user,
            queue: self.queue.clone(),
            reason,
            waiting_longer_than: self.waiting_longer_than,
        };
        Ok((filter, self.order.as_deref().map_or(Ok(WorkloadOrder::default()), order_of_text)?))
    }
}

/// Workloads of a group: what waits, in the order in which it would start, unless another status or order is asked for.
#[utoipa::path(
    get, path = "/resource-groups/{rg}/workloads", operation_id = "list_workloads", tag = "Workloads",
    params(GroupPath, WorkloadQuery), responses((status = 200, body = List<WorkloadItem>))
)]
pub async fn handle(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    PathParams(path): PathParams<GroupPath>,
    QueryParams(query): QueryParams<WorkloadQuery>,
) -> Result<Json<List<WorkloadItem>>> {
    let (filter, order) = query.read(&service.people(), &caller)?;
    let cursor = ListCursor::new(Service::workload_list(filter.status, order), &path.rg);
    let window = cursor.window(query.limit, query.cursor.as_deref())?;
    Ok(Json(cursor.answer(service.workloads(&caller, &path.rg, filter, order, &window).await?)))
}
