//! Queries for workloads, and for what running kernels hold.

use async_graphql::{Context, Enum, Object, Result};

use super::{caller, service};
use crate::domain::workloads::WorkloadStatus;
use crate::domain::workloads::occupancy::OccupancyBy;
use crate::graphql::charges::charge_kernels;
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::guard;
use crate::graphql::scalars::{JsonString, Uuid};
use crate::graphql::types::{ForecastSummaryNode, OccupancyNode, WorkloadNode, WorkloadStatusName};
use crate::service::cycle_plans::what_if::WorkloadChange;
use crate::service::input::json;
use crate::service::workloads::{WorkloadFilter, WorkloadOrder, reason_of_text};
use crate::service::{Error, Service};

/// The order of workloads.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(name = "WorkloadOrder", rename_items = "SCREAMING_SNAKE_CASE", remote = "WorkloadOrder")]
pub enum WorkloadOrderName {
    /// As the group's scheduler would start them.
    Position,
    /// The first submission first.
    Submitted,
    /// The one that waits longest first.
    Waiting,
}

/// The kind of the holders in an occupancy.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(name = "OccupancyBy", rename_items = "SCREAMING_SNAKE_CASE", remote = "OccupancyBy")]
pub enum OccupancyByName {
    Domain,
    Project,
    User,
    Queue,
    Agent,
}

#[derive(Default)]
pub struct WorkloadQueries;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl WorkloadQueries {
    /// Workloads of a resource group: what waits, in the order in which it would start, unless another status or order is asked
    /// for. Those that have ended have one order: the last to end first. `reason` is that of `waiting`, `waiting_longer_than` a
    /// number of seconds. Pages go forwards only.
    async fn workloads(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        status: Option<WorkloadStatusName>,
        domain_name: Option<String>,
        project_id: Option<Uuid>,
        user_uuid: Option<Uuid>,
        queue: Option<String>,
        reason: Option<String>,
        waiting_longer_than: Option<u64>,
        order: Option<WorkloadOrderName>,
        first: Option<i64>,
        after: Option<String>,
    ) -> Result<FactsList<WorkloadNode>> {
        charge_kernels(ctx, &resource_group, 1).await?;
        let (service, caller) = (service(ctx)?, caller(ctx)?);
        let (status, order) =
            (status.map_or(WorkloadStatus::Pending, Into::into), order.map_or(WorkloadOrder::Position, Into::into));
        let window = PageArgs { first, after, ..PageArgs::default() }
            .window(&Service::workload_list(status, order), &resource_group)?;
        let filter = WorkloadFilter {
            status,
            domain: domain_name,
            project: project_id.map(|id| service.people().project_of_uuid(id.0)),
            user: user_uuid.map(|id| service.people().user_of_uuid(id.0)),
            queue,
            reason: reason.as_deref().map(reason_of_text).transpose()?,
            waiting_longer_than,
        };
        let page = service.workloads(caller, &resource_group, filter, order, &window).await?;
        Ok(connect(ctx, &resource_group, page, |item| WorkloadNode::new(item, caller))?)
    }

    /// One workload by its id, or by the id of one of its kernels; null if there is none. With `helps`, it has the changes with which
    /// it would start earlier, which takes several forecasts.
    async fn workload(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        workload_id: String,
        #[graphql(default = false)] helps: bool,
    ) -> Result<Option<WorkloadNode>> {
        // With `helps` there are several forecasts.
        charge_kernels(ctx, &resource_group, if helps { 4 } else { 1 }).await?;
        let caller = caller(ctx)?;
        match service(ctx)?.workload(caller, &resource_group, &workload_id, helps).await {
            Ok(item) => Ok(Some(WorkloadNode::new(item, caller))),
            Err(Error::NotFound { code: "unknown_workload", .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The forecasts of a resource group as a whole, and how good the last ones were.
    async fn forecasts(&self, ctx: &Context<'_>, resource_group: String) -> Result<ForecastSummaryNode> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        Ok(service(ctx)?.forecast_summary(caller(ctx)?, &resource_group).await?.into())
    }

    /// Shows whether a workload that waits would start now if it were different; nothing is changed. The shapes are those of
    /// `POST /resource-groups/{rg}/workloads/{workload_id}/what-if`.
    async fn workload_what_if(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        workload_id: String,
        #[graphql(default_with = "JsonString(serde_json::json!({}))")] change: JsonString,
    ) -> Result<JsonString> {
        charge_kernels(ctx, &resource_group, 2).await?;
        let moved = |error: Error| error.below("/change");
        let read = json::read::<WorkloadChange>(change.0.to_string().as_bytes());
        let change = read.map_err(|error| moved(error.into()))?;
        let asked = service(ctx)?.workload_what_if(caller(ctx)?, &resource_group, &workload_id, change).await;
        Ok(JsonString::of(&asked.map_err(moved)?))
    }

    /// The slots that running kernels of a resource group hold now, and those that are free. A kernel counts once, where it runs.
    async fn occupancy(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        #[graphql(default_with = "OccupancyByName::User")] by: OccupancyByName,
    ) -> Result<OccupancyNode> {
        charge_kernels(ctx, &resource_group, 1).await?;
        let occupancy = service(ctx)?.occupancy(caller(ctx)?, &resource_group, by.into()).await?;
        let shown = OccupancyNode::from(occupancy);
        guard::spend_rows(ctx, shown.items.len())?;
        Ok(shown)
    }
}
