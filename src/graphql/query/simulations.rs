//! Queries that compute without writing: a division, a reclaim plan, or changes of a group.

use async_graphql::{Context, Object, Result};
use serde::Serialize;

use super::{caller, service};
use crate::domain::cycle::CycleSimulation;
use crate::domain::{division, reclaim};
use crate::graphql::charges::charge_simulation;
use crate::graphql::guard;
use crate::graphql::scalars::JsonString;
use crate::service::Error;
use crate::service::simulate::StatelessSimulation;

#[derive(Default)]
pub struct SimulationQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl SimulationQuery {
    /// Divides the capacity that the input brings along over its queues; the shapes are those of `POST /division/simulate`.
    async fn simulate_division(&self, ctx: &Context<'_>, input: JsonString) -> Result<JsonString> {
        simulated::<division::DivisionSimulation>(ctx, input).await
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
        charge_simulation(ctx, &resource_group).await?;
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
        simulated::<reclaim::ReclaimSimulation>(ctx, input).await
    }

    /// Decides what would start now in the input's snapshot, and why the rest waits; the shapes are those of
    /// `POST /cycle/simulate`.
    async fn simulate_cycle(&self, ctx: &Context<'_>, input: JsonString) -> Result<JsonString> {
        simulated::<CycleSimulation>(ctx, input).await
    }
}

/// The answer of a simulation, in the form of the REST endpoint.
async fn simulated<S>(ctx: &Context<'_>, input: JsonString) -> Result<JsonString>
where
    S: StatelessSimulation,
    S::Answer: Serialize,
{
    // A byte of the input takes about as long as a row.
    let document = input.0.to_string();
    guard::charge_rows(ctx, guard::REPORT_ROWS + document.len())?;
    drop(input);
    let show = |answer: &S::Answer| Ok(JsonString::of(answer));
    Ok(service(ctx)?.simulate::<S, _, _>(caller(ctx)?, || document, show).await?)
}
