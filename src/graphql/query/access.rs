//! Queries for keys, and for the key of the request.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::guard;
use crate::graphql::types::{ApiKey, WhoAmI};
use crate::service::input::page::{CursorKey, cut_window};

#[derive(Default)]
pub struct AccessQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl AccessQuery {
    /// The key of this request and its rights; for every role.
    async fn whoami(&self, ctx: &Context<'_>) -> Result<WhoAmI> {
        Ok(WhoAmI::new(caller(ctx)?, &service(ctx)?.people()))
    }

    /// All keys by creation, without their texts.
    async fn keys(
        &self,
        ctx: &Context<'_>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<ApiKey>> {
        const LIST: &str = "keys";
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let window = PageArgs { first, last, before, after, offset }.window(LIST, "")?;
        let rows = service(ctx)?.keys(caller(ctx)?).await?;
        let created = |micros: i64| CursorKey::Number(micros.unsigned_abs());
        let page = cut_window(
            LIST,
            &rows,
            |k| vec![created(k.created_at.micros()), CursorKey::Text(k.id.to_string())],
            &window,
        );
        let people = service(ctx)?.people();
        Ok(connect(ctx, "", page, |key| ApiKey::new(key, &people))?)
    }
}
