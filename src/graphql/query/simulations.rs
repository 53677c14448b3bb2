//! Queries that compute without writing: a division, a reclaim plan, or changes of a group.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::guard;
use crate::graphql::scalars::JsonString;
use crate::service::{Error, simulate};

#[derive(Default)]
pub struct SimulationQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl SimulationQuery {
    /// Divides the capacity that the input brings along over its queues; the shapes are those of `POST /division/simulate`.
    async fn simulate_division(&self, ctx: &Context<'_>, input: JsonString) -> Result<JsonString> {
        guard::charge_rows(ctx, guard::REPORT_ROWS)?;
        let service = service(ctx)?;
        let work = || {
            let document = input.0.to_string();
            let _memory = service.memory().reserve_for_simulation(document.len())?;
            simulate::division(document.as_bytes())
        };
        Ok(JsonString::of(&service.permits.run(caller(ctx)?.key_id, work).await?))
    }

    /// The effects that changes of weights, options, capacity and people would have in a live group; the shapes are
    /// those of
    /// `POST /resource-groups/{rg}/fair-share-simulations`. Nothing is changed.
    async fn simulate_fair_shares(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        input: JsonString,
    ) -> Result<JsonString> {
        guard::charge_rows(ctx, guard::REPORT_ROWS)?;
        if input.0["apply"] == true {
            let said = "is for the mutation `apply_fair_share_simulation`";
            return Err(Error::about("/input/apply", "not_applicable", said).into());
        }
        let document = input.0.to_string().into();
        let what_if = service(ctx)?.simulate_fair_shares(caller(ctx)?.clone(), resource_group, document).await?;
        Ok(JsonString::of(&what_if.into_answer()))
    }

    /// Plans who gives back for the input's pending workload; the shapes are those of `POST /reclaim/simulate`.
    async fn simulate_reclaim(&self, ctx: &Context<'_>, input: JsonString) -> Result<JsonString> {
        guard::charge_rows(ctx, guard::REPORT_ROWS)?;
        let service = service(ctx)?;
        let now = service.clock().now();
        let work = || {
            let document = input.0.to_string();
            let _memory = service.memory().reserve_for_simulation(document.len())?;
            simulate::reclaim(document.as_bytes(), now)
        };
        Ok(JsonString::of(&service.permits.run(caller(ctx)?.key_id, work).await?))
    }
    /// Decides what would start now in the input's snapshot, and why the rest waits; the shapes are those of
    /// `POST /cycle/simulate`.
    async fn simulate_cycle(&self, ctx: &Context<'_>, input: JsonString) -> Result<JsonString> {
        guard::charge_rows(ctx, guard::REPORT_ROWS)?;
        let service = service(ctx)?;
        let now = service.clock().now();
        let work = || {
            let document = input.0.to_string();
            let _memory = service.memory().reserve_for_simulation(document.len())?;
            let simulation = simulate::read_cycle(document.as_bytes())?;
            // A member costs memory even where one line of the input stands for many.
            let _members = service.memory().reserve_for_simulation(simulation.members() * simulate::BYTES_OF_MEMBER)?;
            simulate::cycle(simulation, now)
        };
        Ok(JsonString::of(&service.permits.run(caller(ctx)?.key_id, work).await?))
    }
}
