//! Queries for the usage buckets of the three tiers.

use async_graphql::{Context, Object, OutputType, Result};

use super::{caller, service};
use crate::domain::filter::Filter;
use crate::domain::tier::Tier;
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::filters::{DomainUsageBucketFilter, ProjectUsageBucketFilter, UserUsageBucketFilter};
use crate::graphql::guard;
use crate::graphql::orders::{DomainUsageBucketOrderBy, ProjectUsageBucketOrderBy, UserUsageBucketOrderBy};
use crate::graphql::types::{DomainUsageBucketNode, ProjectUsageBucketNode, UserUsageBucketNode};
use crate::service::buckets::{BucketCondition, BucketField, BucketList, BucketRow, bucket_list_name};
use crate::service::input::page::Page;
use crate::service::{Error, Result as ServiceResult};

/// Without an order, lists begin with the newest period.
const NEWEST: (BucketField, bool) = (BucketField::PeriodStart, true);

/// The properties that distinguish one list of buckets from another.
struct BucketListKey {
    tier: Tier,
    filter: Filter<BucketCondition>,
    order: (BucketField, bool),
    page: PageArgs,
}

async fn list<N: OutputType>(
    ctx: &Context<'_>,
    group: &str,
    wanted: BucketListKey,
    node: fn(&str, BucketRow) -> Option<N>,
) -> ServiceResult<FactsList<N>> {
    guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
    let BucketListKey { tier, filter, order: (field, descending), page } = wanted;
    let window = page.window(&bucket_list_name(tier, field, descending), group)?;
    let list = BucketList { tier, filter, field, descending, window };
    let found = service(ctx)?.usage_buckets(caller(ctx)?, group, list).await?;
    let Page { rows, has_next, has_previous, total } = found;
    let nodes: Option<Vec<_>> = rows.into_iter().map(|(cursor, row)| Some((cursor, node(group, row)?))).collect();
    let rows = nodes.ok_or_else(|| Error::internal("a bucket of another tier"))?;
    connect(ctx, group, Page { rows, has_next, has_previous, total }, |node| node)
}

#[derive(Default)]
pub struct BucketQueries;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl BucketQueries {
    /// The usage of domains by period; by default the newest first.
    async fn domain_usage_buckets(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
        filter: Option<DomainUsageBucketFilter>,
        order: Option<DomainUsageBucketOrderBy>,
    ) -> Result<FactsList<DomainUsageBucketNode>> {
        let wanted = BucketListKey {
            tier: Tier::Domain,
            filter: DomainUsageBucketFilter::read(filter)?,
            order: order.map_or(NEWEST, |o| (o.field.into(), o.descending())),
            page: PageArgs { first, last, before, after, offset },
        };
        Ok(list(ctx, &resource_group, wanted, |group, row| Some(DomainUsageBucketNode::new(group, row))).await?)
    }

    /// The usage of projects by period; by default the newest first.
    async fn project_usage_buckets(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
        filter: Option<ProjectUsageBucketFilter>,
        order: Option<ProjectUsageBucketOrderBy>,
    ) -> Result<FactsList<ProjectUsageBucketNode>> {
        let wanted = BucketListKey {
            tier: Tier::Project,
            filter: ProjectUsageBucketFilter::read(filter)?,
            order: order.map_or(NEWEST, |o| (o.field.into(), o.descending())),
            page: PageArgs { first, last, before, after, offset },
        };
        Ok(list(ctx, &resource_group, wanted, ProjectUsageBucketNode::new).await?)
    }

    /// The usage of users in their projects by period; by default the newest first.
    async fn user_usage_buckets(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
        filter: Option<UserUsageBucketFilter>,
        order: Option<UserUsageBucketOrderBy>,
    ) -> Result<FactsList<UserUsageBucketNode>> {
        let wanted = BucketListKey {
            tier: Tier::User,
            filter: UserUsageBucketFilter::read(filter)?,
            order: order.map_or(NEWEST, |o| (o.field.into(), o.descending())),
            page: PageArgs { first, last, before, after, offset },
        };
        Ok(list(ctx, &resource_group, wanted, UserUsageBucketNode::new).await?)
    }
}
