//! The root of queries, which resolves the fields of a request one after the other.
//!
//! The library resolves the fields of a query beside each other. Each of a thousand fields would then hold its own copy of a
//! large variable, and what it has computed, while it waits for a permit or for the database. The fields inside a field are
//! still resolved beside each other.

use std::borrow::Cow;

use async_graphql::parser::types::Field;
use async_graphql::registry::Registry;
use async_graphql::{
    ContainerType, Context, ContextSelectionSet, ObjectType, OutputType, Positioned, ServerResult, Value,
};
use tokio::sync::Mutex;

use super::query::Query;

/// [`Query`], one field at a time.
#[derive(Default)]
pub struct SerialQuery(Query);

/// The turn of the field of a request that is being resolved.
#[derive(Default)]
pub struct FieldTurn(Mutex<()>);

impl ContainerType for SerialQuery {
    async fn resolve_field(&self, ctx: &Context<'_>) -> ServerResult<Option<Value>> {
        let turn = ctx.data_opt::<FieldTurn>();
        let _turn = if let Some(FieldTurn(turn)) = turn { Some(turn.lock().await) } else { None };
        self.0.resolve_field(ctx).await
    }
}

impl OutputType for SerialQuery {
    fn type_name() -> Cow<'static, str> {
        Query::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        Query::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> ServerResult<Value> {
        self.0.resolve(ctx, field).await
    }
}

impl ObjectType for SerialQuery {}
