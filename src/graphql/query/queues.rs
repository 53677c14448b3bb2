//! Queries for queues as they are configured.

use std::sync::Arc;

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::guard;
use crate::graphql::types::Queue;
use crate::service::input::page::{CursorKey, cut_window};

#[derive(Default)]
pub struct QueueQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl QueueQuery {
    /// Queues of a resource group by name.
    async fn queues(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<Queue>> {
        const LIST: &str = "queues";
        let window = PageArgs { first, last, before, after, offset }.window(LIST, &resource_group)?;
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        guard::charge_rows(ctx, group.whole()?.queues.len())?;
        let rows: Vec<_> = group.whole()?.queues.values().collect();
        let page = cut_window(LIST, &rows, |queue| vec![CursorKey::Text(queue.name.clone())], &window);
        Ok(connect(ctx, &resource_group, page, |queue| Queue {
            group: Arc::clone(&group.name),
            config: Arc::clone(queue),
        })?)
    }

    /// One queue; null if there is none of that name.
    async fn queue(&self, ctx: &Context<'_>, resource_group: String, name: String) -> Result<Option<Queue>> {
        let group = service(ctx)?.group(caller(ctx)?, &resource_group)?;
        let found = group.whole()?.queues.get(name.as_str()).cloned();
        Ok(found.map(|config| Queue { group: Arc::clone(&group.name), config }))
    }
}
