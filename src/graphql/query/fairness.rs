//! Queries for fairness, and for fairness, factors and ranks at the end of past days.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::charges::charge_days;
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::guard;
use crate::graphql::orders::{FairShareDayOrder, FairnessTier};
use crate::graphql::scalars::Date;
use crate::graphql::types::{FairShareDayNode, FairnessDayNode, FairnessNode};
use crate::service::Service;
use crate::service::fairness::days::FairnessFilter;
use crate::service::fairness::window::ReportWindow;
use crate::service::share_history::ShareHistoryQuery;

#[derive(Default)]
pub struct FairnessQueries;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl FairnessQueries {
    /// The usage of each domain, project or user of a tier in a window, beside the shares that weights entitle them to.
    /// The window is `now` (running kernels
    /// instead of usage), `1h`, `1d`, `7d`, `28d`, or a first and a last day like `2026-01-01..2026-01-31`.
    async fn fairness(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        #[graphql(default = "7d")] window: String,
        #[graphql(default_with = "FairnessTier::Domain")] tier: FairnessTier,
    ) -> Result<FairnessNode> {
        let window = ReportWindow::read(&window)?;
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        // The days of the other windows are in memory.
        let days = if let ReportWindow::Between(days) = window { days.count_days() } else { 1 };
        charge_days(ctx, group.count_users(), group.count_users(), days)?;
        Ok(FairnessNode(service(ctx)?.fairness(caller(ctx)?, &resource_group, window, tier.into()).await?))
    }

    /// How fair each tier was on each day, by day and tier; `from` and `to` are inclusive.
    async fn fairness_history(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        from: Option<Date>,
        to: Option<Date>,
        tier: Option<FairnessTier>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<FairnessDayNode>> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let window =
            PageArgs { first, last, before, after, offset }.window(Service::FAIRNESS_HISTORY, &resource_group)?;
        let filter = FairnessFilter { from: from.map(|d| d.0), to: to.map(|d| d.0), tier: tier.map(Into::into) };
        let page = service(ctx)?.fairness_history(caller(ctx)?, &resource_group, filter, &window).await?;
        Ok(connect(ctx, &resource_group, page, FairnessDayNode)?)
    }

    /// The factors and ranks that the last run of each day left, by day and then by id or rank. `project` and `user` are names or UUIDs; `from` and `to` are
    /// inclusive, and the last 31 days by default; `search` is a part of the name, in any case.
    async fn fair_share_history(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        #[graphql(default_with = "FairnessTier::User")] tier: FairnessTier,
        domain: Option<String>,
        project: Option<String>,
        user: Option<String>,
        from: Option<Date>,
        to: Option<Date>,
        search: Option<String>,
        #[graphql(default_with = "FairShareDayOrder::Id")] order: FairShareDayOrder,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<FairShareDayNode>> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let list = Service::share_history_list(tier.into(), order.into());
        let window = PageArgs { first, last, before, after, offset }.window(&list, &resource_group)?;
        let query = ShareHistoryQuery {
            tier: tier.into(),
            domain: domain.as_deref(),
            project: project.as_deref(),
            user: user.as_deref(),
            from: from.map(|d| d.0),
            to: to.map(|d| d.0),
            search: search.as_deref(),
            order: order.into(),
        };
        let page = service(ctx)?.share_history(caller(ctx)?, &resource_group, query, &window).await?;
        Ok(connect(ctx, &resource_group, page, FairShareDayNode)?)
    }
}
