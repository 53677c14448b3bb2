//! Nodes of a group. A change takes effect on the group's capacity at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::audit::Change;
use super::group::session::Session;
use super::group::state::capacity_of;
use super::work::detached;
use super::{Caller, Error, Result, Service};
use crate::domain::decimal::Amount;
use crate::domain::names::check_name;
use crate::domain::slots::{Amounts, SlotName};

pub use crate::store::agents::Agent;

/// What an agent offers and whether it counts.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    pub available_slots: Amounts,
    pub alive: bool,
    pub schedulable: bool,
    pub labels: BTreeMap<String, String>,
}

impl Service {
    /// All agents of a group by id.
    pub async fn agents(&self, caller: &Caller, group: &str) -> Result<Vec<Agent>> {
        caller.require_reader()?;
        self.group(caller, group)?;
        Ok(crate::store::agents::list(self.store().read(), group).await?)
    }

    /// Creates or replaces one agent. Returns it and whether it is new.
    pub async fn put_agent(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        agent_id: String,
        spec: AgentSpec,
        reason: Option<String>,
    ) -> Result<(Agent, bool)> {
        caller.require_admin()?;
        check_name(&agent_id).map_err(|e| Error::invalid_name("/agent_id", e))?;
        let service = Arc::clone(self);
        detached(async move {
            let mut session = Session::open(&service, &caller, &group).await?;
            let agent = agent(agent_id, spec, session.now);
            let old = session.state().agents.iter().find(|a| a.agent_id == agent.agent_id).cloned();
            let mut agents = session.state().agents.clone();
            agents.retain(|a| a.agent_id != agent.agent_id);
            agents.push(agent.clone());
            crate::store::agents::upsert(session.tx(), &group, std::slice::from_ref(&agent)).await?;
            let change = Change {
                caller: &caller,
                action: "agent.put",
                target: agent.agent_id.clone(),
                before: old.as_ref().map(describe),
                after: Some(describe(&agent)),
                reason,
            };
            session.audit(change).await?;
            change_agents(session, agents).await?;
            Ok((agent, old.is_none()))
        })
        .await
    }

    /// Creates or replaces many agents in one transaction.
    pub async fn put_agents(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        specs: BTreeMap<String, AgentSpec>,
        reason: Option<String>,
    ) -> Result<()> {
        caller.require_admin()?;
        for agent_id in specs.keys() {
            check_name(agent_id).map_err(|e| Error::invalid_name("/agent_id", e))?;
        }
        let service = Arc::clone(self);
        detached(async move {
            let mut session = Session::open(&service, &caller, &group).await?;
            let new: Vec<Agent> = specs.into_iter().map(|(id, spec)| agent(id, spec, session.now)).collect();
            let mut by_id: BTreeMap<_, _> =
                session.state().agents.iter().map(|a| (a.agent_id.clone(), a.clone())).collect();
            by_id.extend(new.iter().map(|a| (a.agent_id.clone(), a.clone())));
            crate::store::agents::upsert(session.tx(), &group, &new).await?;
            let change = Change {
                caller: &caller,
                action: "agents.put",
                target: group.clone(),
                before: None,
                after: Some(json!({"agents": new.len()})),
                reason,
            };
            session.audit(change).await?;
            change_agents(session, by_id.into_values().collect()).await
        })
        .await
    }

    pub async fn delete_agent(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        agent_id: String,
        reason: Option<String>,
    ) -> Result<()> {
        caller.require_admin()?;
        let service = Arc::clone(self);
        detached(async move {
            let mut session = Session::open(&service, &caller, &group).await?;
            let Some(old) = session.state().agents.iter().find(|a| a.agent_id == agent_id).cloned() else {
                return Err(Error::NotFound {
                    code: "unknown_agent",
                    detail: format!("there is no agent {agent_id:?} in {group:?}"),
                });
            };
            let mut agents = session.state().agents.clone();
            agents.retain(|a| a.agent_id != agent_id);
            crate::store::agents::delete(session.tx(), &group, &agent_id).await?;
            let before = Some(describe(&old));
            let action = "agent.delete";
            session.audit(Change { caller: &caller, action, target: agent_id, before, after: None, reason }).await?;
            change_agents(session, agents).await
        })
        .await
    }
}

fn agent(agent_id: String, spec: AgentSpec, updated_at: crate::domain::time::Timestamp) -> Agent {
    let AgentSpec { available_slots, alive, schedulable, labels } = spec;
    Agent { agent_id, available_slots, alive, schedulable, labels, updated_at }
}

/// Refuses agents that together offer more of a slot than an amount can be: order and factors would be wrong.
fn check_sum(agents: &[Agent]) -> Result<()> {
    let mut sums: BTreeMap<SlotName, Amount> = BTreeMap::new();
    for (slot, amount) in agents.iter().filter(|agent| agent.offers()).flat_map(|agent| agent.available_slots.iter()) {
        let sum = sums.entry(slot).or_default();
        *sum = sum.checked_add(amount).ok_or_else(|| {
            let said = format!("brings the capacity of the group above {} {slot}", Amount::MAX);
            Error::about("/available_slots", "capacity_too_large", said)
        })?;
    }
    Ok(())
}

fn describe(agent: &Agent) -> serde_json::Value {
    json!({"available_slots": agent.available_slots, "alive": agent.alive, "schedulable": agent.schedulable, "labels": agent.labels})
}

/// Closes the time at the old capacity, then lets the new one count. Faults point into one agent.
async fn change_agents(mut session: Session, mut agents: Vec<Agent>) -> Result<()> {
    check_sum(&agents)?;
    session.observe_capacity().await?;
    agents.sort_by(|a, b| a.agent_id.cmp(&b.agent_id));
    let state = session.state_mut();
    state.capacity = capacity_of(&agents);
    state.agents = agents;
    session.observe_capacity().await?;
    session.recompute_histories().await?;
    session.commit().await?;
    Ok(())
}
