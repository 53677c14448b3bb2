use std::sync::Arc;

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::domain::filter::Filter;
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::graphql::connection::{List, PageArgs, connect};
use crate::graphql::filters::{DomainFairShareFilter, ProjectFairShareFilter, UserFairShareFilter};
use crate::graphql::orders::{DomainFairShareOrderBy, ProjectFairShareOrderBy, UserFairShareOrderBy};
use crate::graphql::scalars::Uuid;
use crate::graphql::types::{DomainFairShare, ProjectFairShare, UserFairShare};
use crate::service::shares::{ShareCondition, ShareField, ShareList, share_list_name};
use crate::service::{PublishedGroup, Result as ServiceResult};

/// Without an order, lists come by rank.
const BY_RANK: (ShareField, bool) = (ShareField::Rank, false);

fn list(
    tier: &str,
    (field, descending): (ShareField, bool),
    filter: Filter<ShareCondition>,
    page: &PageArgs,
    scope: &str,
) -> ServiceResult<ShareList> {
    let window = page.window(&share_list_name(tier, field, descending), scope)?;
    Ok(ShareList { filter, field, descending, window })
}

/// A page of `group`'s projects.
pub fn projects(
    ctx: &Context<'_>,
    group: &Arc<PublishedGroup>,
    filter: Filter<ShareCondition>,
    order: Option<ProjectFairShareOrderBy>,
    page: &PageArgs,
) -> ServiceResult<List<ProjectFairShare>> {
    let order = order.map_or(BY_RANK, |o| (o.field.into(), o.descending()));
    let rows =
        service(ctx)?.project_shares(caller(ctx)?, group, &list("project", order, filter, page, &group.name)?)?;
    connect(ctx, &group.name, rows, |row| ProjectFairShare::new(group, row))
}

/// A page of `group`'s users, or of one project's.
pub fn users(
    ctx: &Context<'_>,
    group: &Arc<PublishedGroup>,
    project: Option<ProjectId>,
    filter: Filter<ShareCondition>,
    order: Option<UserFairShareOrderBy>,
    page: &PageArgs,
) -> ServiceResult<List<UserFairShare>> {
    let order = order.map_or(BY_RANK, |o| (o.field.into(), o.descending()));
    let scope = project.map_or_else(|| group.name.to_string(), |project| format!("{}/{}", group.name, project.0));
    let list = list("user", order, filter, page, &scope)?;
    let rows = match project {
        Some(project) => service(ctx)?.project_members(caller(ctx)?, group, project, &list),
        None => service(ctx)?.user_shares(caller(ctx)?, group, &list),
    };
    connect(ctx, &scope, rows?, |row| UserFairShare::new(group, row))
}

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
    ) -> Result<List<DomainFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let page = PageArgs { first, last, before, after, offset };
        let order = order.map_or(BY_RANK, |o| (o.field.into(), o.descending()));
        let wanted = list("domain", order, DomainFairShareFilter::read(filter)?, &page, &group.name)?;
        let rows = service(ctx)?.domain_shares(caller(ctx)?, &group, &wanted)?;
        Ok(connect(ctx, &group.name, rows, |row| DomainFairShare::new(&group, row))?)
    }

    /// One domain; null if nobody knows it.
    async fn domain_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        domain_name: String,
    ) -> Result<Option<DomainFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let found = service(ctx)?.domain_share(caller(ctx)?, &group, &domain_name).await?;
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
    ) -> Result<List<ProjectFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let page = PageArgs { first, last, before, after, offset };
        Ok(projects(ctx, &group, ProjectFairShareFilter::read(filter)?, order, &page)?)
    }

    /// One project; null if nobody knows it.
    async fn project_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        project_id: Uuid,
    ) -> Result<Option<ProjectFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let found = service(ctx)?.project_share(caller(ctx)?, &group, ProjectId(project_id.0)).await?;
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
    ) -> Result<List<UserFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let page = PageArgs { first, last, before, after, offset };
        Ok(users(ctx, &group, None, UserFairShareFilter::read(filter)?, order, &page)?)
    }

    /// One user in one project; null if nobody knows the user or the project.
    async fn user_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        user_uuid: Uuid,
        project_id: Uuid,
    ) -> Result<Option<UserFairShare>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let member = Member { user: UserId(user_uuid.0), project: ProjectId(project_id.0) };
        let found = service(ctx)?.user_share(caller(ctx)?, &group, member).await?;
        Ok(found.map(|row| UserFairShare::new(&group, row)))
    }
}
