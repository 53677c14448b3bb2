//! Queries for the fair shares of the three tiers, and for the users whose rank moved most.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::filters::{DomainFairShareFilter, ProjectFairShareFilter, UserFairShareFilter};
use crate::graphql::guard;
use crate::graphql::orders::{DomainFairShareOrderBy, ProjectFairShareOrderBy, UserFairShareOrderBy};
use crate::graphql::scalars::{Date, Uuid};
use crate::graphql::share_list::share_list;
use crate::graphql::shared_scans::page_of_shares;
use crate::graphql::types::{DomainFairShare, ProjectFairShare, RankMovers, RankMoversOfDay, UserFairShare};

#[derive(Default)]
pub struct ShareQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl ShareQuery {
    /// Domains of a resource group; by rank unless an order is given.
    async fn domain_fair_shares(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
        filter: Option<DomainFairShareFilter>,
        order: Option<DomainFairShareOrderBy>,
    ) -> Result<FactsList<DomainFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let page = PageArgs { first, last, before, after, offset };
        let order = order.map(|o| (o.field.into(), o.descending()));
        let wanted = share_list("domain", order, DomainFairShareFilter::read(filter)?, &page, &group.name)?;
        let scan = || group.domain_shares(&wanted);
        let rows = page_of_shares(ctx, &group, (&group.name, group.count_domains()), &wanted, scan).await?;
        Ok(connect(ctx, &group.name, rows, |row| DomainFairShare::new(&group, row))?)
    }

    /// One domain; null if the server does not know it.
    async fn domain_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        domain_name: String,
    ) -> Result<Option<DomainFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let found = service(ctx)?.domain_share(&group, &domain_name).await?;
        Ok(found.map(|row| DomainFairShare::new(&group, row)))
    }

    /// Projects of a resource group; by rank unless an order is given.
    async fn project_fair_shares(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
        filter: Option<ProjectFairShareFilter>,
        order: Option<ProjectFairShareOrderBy>,
    ) -> Result<FactsList<ProjectFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let page = PageArgs { first, last, before, after, offset };
        Ok(ProjectFairShare::list(ctx, &group, ProjectFairShareFilter::read(filter)?, order, &page).await?)
    }

    /// One project; null if the server does not know it.
    async fn project_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        project_id: Uuid,
    ) -> Result<Option<ProjectFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let id = service(ctx)?.people().project_of_uuid(project_id.0);
        let found = service(ctx)?.project_share(&group, id).await?;
        Ok(found.map(|row| ProjectFairShare::new(&group, row)))
    }

    /// Users of a resource group, once for each of their projects; by rank unless an order is given.
    async fn user_fair_shares(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
        filter: Option<UserFairShareFilter>,
        order: Option<UserFairShareOrderBy>,
    ) -> Result<FactsList<UserFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let page = PageArgs { first, last, before, after, offset };
        Ok(UserFairShare::list(ctx, &group, None, UserFairShareFilter::read(filter)?, order, &page).await?)
    }

    /// The users whose rank moved most since the day before the last calculation: at most `first` up and as many down.
    async fn rank_movers(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        #[graphql(default = 5)] first: u32,
    ) -> Result<RankMovers> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        guard::charge_rows(ctx, group.count_users())?;
        let movers = service(ctx)?.rank_movers(caller(ctx)?, &resource_group, first).await?;
        Ok(RankMovers::new(ctx, movers)?)
    }

    /// The users whose rank moved most from what the day before `day` left to what `day` left: at most `first` up and as many
    /// down.
    async fn rank_movers_of_day(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        day: Date,
        #[graphql(default = 5)] first: u32,
    ) -> Result<RankMoversOfDay> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let movers = service(ctx)?.rank_movers_of_day(caller(ctx)?, &resource_group, day.0, first).await?;
        Ok(RankMoversOfDay::new(ctx, movers)?)
    }

    /// One user in one project; null if the server does not know the user or the project.
    async fn user_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        user_uuid: Uuid,
        project_id: Uuid,
    ) -> Result<Option<UserFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let member = service(ctx)?.people().member_of_uuids(user_uuid.0, project_id.0);
        let found = service(ctx)?.user_share(&group, member).await?;
        Ok(found.map(|row| UserFairShare::new(&group, row)))
    }
}
