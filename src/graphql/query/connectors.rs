//! Queries for connectors of other schedulers, for the tree of people that they bring, and for shadow reports.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::guard;
use crate::graphql::scalars::Date;
use crate::graphql::types::{ConnectorNode, CurrentTreeNode, ShadowReportNode};
use crate::service::Error;

#[derive(Default)]
pub struct ConnectorQueries;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl ConnectorQueries {
    /// The connectors of the resource groups that the key reaches, by cluster and group, each with its last round.
    async fn connectors(&self, ctx: &Context<'_>) -> Result<Vec<ConnectorNode>> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let connectors = service(ctx)?.connectors(caller(ctx)?).await?;
        guard::spend_rows(ctx, connectors.len())?;
        Ok(connectors.into_iter().map(ConnectorNode).collect())
    }

    /// The tree of people of a resource group as `PUT /people-tree` takes one: domains, projects and users with their weights, and what
    /// an admin has pinned.
    async fn people_tree(&self, ctx: &Context<'_>, resource_group: String) -> Result<CurrentTreeNode> {
        let rows = service(ctx)?.group(caller(ctx)?, &resource_group)?.count_users();
        guard::charge_rows(ctx, rows.max(guard::DATABASE_LIST_ROWS))?;
        Ok(CurrentTreeNode(service(ctx)?.people_tree(caller(ctx)?, &resource_group).await?))
    }

    /// How the order of a resource group and that of another scheduler agree: the last comparison, and sums by day and owner from
    /// `from` to `to`, both inclusive; the last 31 days by default. Null before the first round that has compared them.
    async fn shadow_report(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        from: Option<Date>,
        to: Option<Date>,
    ) -> Result<Option<ShadowReportNode>> {
        guard::charge_rows(ctx, guard::REPORT_ROWS)?;
        let (from, to) = (from.map(|day| day.0), to.map(|day| day.0));
        match service(ctx)?.shadow_report(caller(ctx)?, &resource_group, from, to).await {
            Ok(report) => Ok(Some(ShadowReportNode::from(report))),
            Err(Error::NotFound { code: "no_shadow_report", .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
