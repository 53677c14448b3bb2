use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::scalars::JsonString;
use crate::service::{aside, simulate};

#[derive(Default)]
pub struct SimulationQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl SimulationQuery {
    /// Divides the capacity that the input brings along over its queues; the shapes are those of `POST /division/simulate`.
    async fn simulate_division(&self, ctx: &Context<'_>, input: JsonString) -> Result<JsonString> {
        caller(ctx)?;
        let report = aside(move || simulate::division(input.0.to_string().as_bytes()));
        Ok(JsonString::of(&report.await?))
    }

    /// Plans who gives back for the input's pending workload; the shapes are those of `POST /reclaim/simulate`.
    async fn simulate_reclaim(&self, ctx: &Context<'_>, input: JsonString) -> Result<JsonString> {
        caller(ctx)?;
        let now = service(ctx)?.clock().now();
        let plan = aside(move || simulate::reclaim(input.0.to_string().as_bytes(), now));
        Ok(JsonString::of(&plan.await?))
    }
}
