//! Mutations of resource groups, their agents and their connectors, over the same use-cases as REST.

use async_graphql::{Context, Object, Result};

use super::agent_input::{AgentInput, read_agents};
use super::inputs::read_options;
use super::query::{caller, service};
use super::scalars::JsonString;
use super::types::{Agent, ScalingGroup, UpsertAgentsResult, input_warnings};
use crate::service::Error;
use crate::service::agents::name_warnings;
use crate::service::groups::{GroupDeletion, SchedulerPatch};

#[derive(Default)]
pub struct GroupMutation;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl GroupMutation {
    /// Creates a resource group, or sets its scheduler and replaces its options, each if given: an option that
    /// `scheduler_opts` leaves out gets its default; without `scheduler_opts` they stay. `update_scheduler_options` merges
    /// instead. Refused where the group has another `config_revision` than `if_revision`.
    async fn upsert_resource_group(
        &self,
        ctx: &Context<'_>,
        name: String,
        scheduler: Option<String>,
        scheduler_opts: Option<JsonString>,
        reason: Option<String>,
        if_revision: Option<String>,
    ) -> Result<ScalingGroup> {
        caller(ctx)?.require_admin()?;
        let scheduler_opts = read_options(scheduler_opts)?;
        let patch = SchedulerPatch { scheduler, scheduler_opts, reason, if_match: None, if_revision };
        let (group, _) = service(ctx)?.put_group(caller(ctx)?.clone(), name, patch).await?;
        Ok(ScalingGroup(group))
    }

    /// Removes a resource group with all that belongs to it: agents, kernels, records, buckets, weights. One with kernels or
    /// history has to be confirmed by its name in `confirm`, and one in which kernels run has to be forced too;
    /// `extensions.counts` of the refusal says how much there is.
    async fn delete_resource_group(
        &self,
        ctx: &Context<'_>,
        name: String,
        confirm: Option<String>,
        #[graphql(default)] force: bool,
        reason: Option<String>,
    ) -> Result<bool> {
        let deletion = GroupDeletion { confirm, force, reason };
        service(ctx)?.delete_group(caller(ctx)?.clone(), name, deletion).await?;
        Ok(true)
    }

    /// Creates or replaces one agent; the group's capacity follows at once.
    #[expect(clippy::too_many_arguments, reason = "what an agent has")]
    async fn upsert_agent(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        agent_id: String,
        available_slots: JsonString,
        alive: Option<bool>,
        schedulable: Option<bool>,
        labels: Option<JsonString>,
        taints: Option<JsonString>,
        reason: Option<String>,
    ) -> Result<Agent> {
        caller(ctx)?.require_admin()?;
        let input = AgentInput { agent_id, available_slots, alive, schedulable, labels, taints };
        let (agent_id, spec) = input.read().map_err(|fault| Error::Invalid(vec![fault]))?;
        let written =
            service(ctx)?.put_agent(caller(ctx)?.clone(), resource_group.clone(), agent_id, spec, reason).await?;
        Ok(Agent { group: resource_group, row: written.0 })
    }

    /// Creates and replaces agents, all or none; those that are not named stay. The group's capacity follows at once.
    async fn upsert_agents(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        agents: Vec<AgentInput>,
        reason: Option<String>,
    ) -> Result<UpsertAgentsResult> {
        caller(ctx)?.require_admin()?;
        let named = agents.iter().enumerate().map(|(at, agent)| (format!("/agents/{at}/agent_id"), &*agent.agent_id));
        let warnings = input_warnings(name_warnings(named));
        let specs = read_agents(agents)?;
        let upserted_count = specs.len() as u64;
        service(ctx)?.put_agents(caller(ctx)?.clone(), resource_group.clone(), specs, reason).await?;
        let resource_group = ScalingGroup(service(ctx)?.group(caller(ctx)?, &resource_group)?);
        Ok(UpsertAgentsResult { upserted_count, resource_group, warnings })
    }

    /// Removes an agent; the group's capacity follows at once.
    async fn delete_agent(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        agent_id: String,
        reason: Option<String>,
    ) -> Result<bool> {
        service(ctx)?.delete_agent(caller(ctx)?.clone(), resource_group, agent_id, reason).await?;
        Ok(true)
    }

    /// Forgets a connector that is gone. The resource group is needed if several have a cluster of the name. With the last connector of
    /// a group goes the shadow report of the group. A connector that still runs comes back with its next round.
    async fn delete_connector(
        &self,
        ctx: &Context<'_>,
        cluster: String,
        resource_group: Option<String>,
        reason: Option<String>,
    ) -> Result<bool> {
        service(ctx)?.delete_connector(caller(ctx)?.clone(), cluster, resource_group, reason).await?;
        Ok(true)
    }
}
