//! Queries for resource groups, their agents and their weights.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::filters::{FairShareWeightFilter, WeightCondition};
use crate::graphql::guard;
use crate::graphql::orders::{FairShareWeightOrderBy, FairShareWeightOrderField};
use crate::graphql::types::{Agent, FairShareWeightNode, ScalingGroup, weight_rows};
use crate::service::input::page::{CursorKey, cut_ordered, cut_window};

/// The sort key of a weight in ascending order: the field, then what identifies the row.
fn weight_key(field: FairShareWeightOrderField, node: &FairShareWeightNode) -> Vec<CursorKey> {
    let kind = CursorKey::Number(node.target_type() as u64);
    let project = node.project_id().map(|p| CursorKey::Text(p.to_string()));
    let id = CursorKey::Text(node.target_id());
    let mut key = match field {
        FairShareWeightOrderField::TargetType => vec![kind, id],
        FairShareWeightOrderField::TargetId => vec![id, kind],
        FairShareWeightOrderField::Weight => {
            vec![CursorKey::Number(node.weight.ten_thousandths().unsigned_abs()), kind, id]
        }
    };
    key.extend(project);
    key
}

fn condition_holds(condition: &WeightCondition, node: &FairShareWeightNode) -> bool {
    match condition {
        WeightCondition::Type(kinds) => kinds.contains(&node.target_type()),
        WeightCondition::Id(text) => text.holds(&node.target_id()),
    }
}

#[derive(Default)]
pub struct GroupQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl GroupQuery {
    /// One resource group; null if there is none of that name.
    async fn resource_group(&self, ctx: &Context<'_>, name: String) -> Result<Option<ScalingGroup>> {
        caller(ctx)?;
        Ok(service(ctx)?.group(caller(ctx)?, &name).ok().map(ScalingGroup))
    }

    /// All resource groups by name.
    async fn resource_groups(&self, ctx: &Context<'_>) -> Result<Vec<ScalingGroup>> {
        caller(ctx)?;
        let groups = service(ctx)?.groups(caller(ctx)?);
        guard::spend_rows(ctx, groups.len())?;
        Ok(groups.into_iter().map(ScalingGroup).collect())
    }

    /// Nodes of a resource group by id.
    #[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
    async fn agents(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<Agent>> {
        const LIST: &str = "agents";
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let window = PageArgs { first, last, before, after, offset }.window(LIST, &resource_group)?;
        let rows = service(ctx)?.agents(caller(ctx)?, &resource_group).await?;
        let page = cut_window(LIST, &rows, |a| vec![CursorKey::Text(a.agent_id.clone())], &window);
        Ok(connect(ctx, &resource_group, page, |row| Agent { group: resource_group.clone(), row })?)
    }

    /// Weights that are set in a resource group.
    #[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
    async fn fair_share_weights(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
        filter: Option<FairShareWeightFilter>,
        order: Option<FairShareWeightOrderBy>,
    ) -> Result<FactsList<FairShareWeightNode>> {
        let (field, descending) =
            order.map_or((FairShareWeightOrderField::TargetType, false), |o| (o.field, o.descending()));
        let name = format!("fair-share-weights/{field:?}/{}", if descending { "desc" } else { "asc" });
        let window = PageArgs { first, last, before, after, offset }.window(&name, &resource_group)?;
        let filter = FairShareWeightFilter::read(filter)?;
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let facts = group.whole()?;
        guard::charge_rows(ctx, group.count_users())?;
        let page = || {
            let mut rows = weight_rows(&group, facts.weights());
            rows.retain(|node| filter.matches(&|c| condition_holds(c, node)));
            rows.sort_by_cached_key(|node| weight_key(field, node));
            Ok(cut_ordered(&name, &rows, |node| weight_key(field, node), &window, descending))
        };
        let page = service(ctx)?.permits.scan(group.access().client(), group.count_users(), page).await?;
        Ok(connect(ctx, &resource_group, page, |node| node)?)
    }
}
