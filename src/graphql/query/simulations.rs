use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::scalars::JsonString;
use crate::service::simulate;

#[derive(Default)]
pub struct SimulationQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl SimulationQuery {
    /// Divides the capacity that the input brings along over its queues; the shapes are those of `POST /division/simulate`.
    async fn simulate_division(&self, ctx: &Context<'_>, input: JsonString) -> Result<JsonString> {
        caller(ctx)?;
        let work = move || simulate::division(input.0.to_string().as_bytes());
        Ok(JsonString::of(&service(ctx)?.permits.run(work).await?))
    }

    /// Plans who gives back for the input's pending workload; the shapes are those of `POST /reclaim/simulate`.
    async fn simulate_reclaim(&self, ctx: &Context<'_>, input: JsonString) -> Result<JsonString> {
        caller(ctx)?;
        let service = service(ctx)?;
        let now = service.clock().now();
        let work = move || simulate::reclaim(input.0.to_string().as_bytes(), now);
        Ok(JsonString::of(&service.permits.run(work).await?))
    }
}
