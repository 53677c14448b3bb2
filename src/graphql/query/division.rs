//! Queries for the division of now and of past days, and for reclaim plans.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::domain::cycle::CycleAnswer;
use crate::graphql::charges::charge_kernels;
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::guard;
use crate::graphql::scalars::{Date, JsonString};
use crate::graphql::types::{Division, DivisionDayNode};
use crate::service::division::HistoryFilter;
use crate::service::input::json;
use crate::service::plans::PlanRequest;
use crate::service::{Error, Service};

#[derive(Default)]
pub struct DivisionQueries;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl DivisionQueries {
    /// The amounts that every queue of a resource group deserves now, by the group's option `division`.
    async fn division(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        #[graphql(default)] explain: bool,
    ) -> Result<Division> {
        guard::charge_rows(ctx, guard::REPORT_ROWS)?;
        Ok(Division(service(ctx)?.division(caller(ctx)?, &resource_group, explain).await?))
    }

    /// The amounts that queues got on the days before, by day and queue; `from` and `to` are inclusive.
    async fn division_history(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        from: Option<Date>,
        to: Option<Date>,
        queue: Option<String>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<DivisionDayNode>> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let (from, to) = (from.map(|d| d.0), to.map(|d| d.0));
        if from.zip(to).is_some_and(|(from, to)| to < from) {
            return Err(Error::about("/to", "contradiction", "lies before `from`").into());
        }
        let window =
            PageArgs { first, last, before, after, offset }.window(Service::DIVISION_HISTORY, &resource_group)?;
        let filter = HistoryFilter { from, to, queue };
        let page = service(ctx)?.division_history(caller(ctx)?, &resource_group, &filter, &window).await?;
        Ok(connect(ctx, &resource_group, page, DivisionDayNode)?)
    }

    /// The workloads that would have to give back so that a workload can run now; nothing is stored, no workload is
    /// evicted. The
    /// shapes are those of `POST /resource-groups/{rg}/reclaim-plans`.
    async fn plan_reclaim(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        workload: JsonString,
    ) -> Result<JsonString> {
        caller(ctx)?.require_scheduler()?;
        charge_kernels(ctx, &resource_group, 1).await?;
        let request = json::read::<PlanRequest>(workload.0.to_string().as_bytes())
            .map_err(|e| Error::from(e).below("/workload"))?;
        let planned = service(ctx)?.plan_reclaim(caller(ctx)?, &resource_group, request).await;
        Ok(JsonString::of(&planned.map_err(|error| error.below("/workload"))?.plan))
    }

    /// Decides which workloads would start in the group now, what has to be evicted for them, and why the rest waits; nothing is
    /// stored, started or evicted. The shapes are those of `POST /resource-groups/{rg}/cycle-plans`.
    async fn plan_cycle(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        #[graphql(default_with = "JsonString(serde_json::json!({}))")] input: JsonString,
    ) -> Result<JsonString> {
        caller(ctx)?.require_scheduler()?;
        charge_kernels(ctx, &resource_group, 2).await?;
        let show = |answer: &CycleAnswer| Ok(JsonString::of(answer));
        let asked = service(ctx)?.plan_cycle(caller(ctx)?, &resource_group, || input.0.to_string(), show).await;
        Ok(asked.map_err(|error| error.below("/input"))?)
    }
}
