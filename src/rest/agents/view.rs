//! Agents of the store as REST shows them, and bodies as the service takes them.

use std::collections::BTreeMap;

use crate::api::agents::{AgentBody, AgentView, AgentsBody};
use crate::api::input_warning::InputWarning;
use crate::service::Error;
use crate::service::agents::{AgentSpec, StoredAgent, collect_specs, name_warnings};

impl From<StoredAgent> for AgentView {
    fn from(agent: StoredAgent) -> Self {
        let StoredAgent { agent_id, available_slots, alive, schedulable, labels, taints, updated_at } = agent;
        Self { agent_id, available_slots, alive, schedulable, labels, taints, updated_at }
    }
}

impl From<AgentBody> for AgentSpec {
    fn from(body: AgentBody) -> Self {
        let AgentBody { available_slots, alive, schedulable, labels, taints, .. } = body;
        Self { available_slots, alive, schedulable, labels, taints }
    }
}

/// Warnings about likely mistakes in the names of the agents.
pub fn agent_warnings(body: &AgentsBody) -> Vec<InputWarning> {
    let named = body.agents.iter().enumerate().filter_map(|(at, agent)| Some((at, agent.agent_id.as_deref()?)));
    name_warnings(named.map(|(at, name)| (format!("/agents/{at}/agent_id"), name)))
}

/// The agents of a body by id. The error lists the first faults.
pub fn agent_specs(body: AgentsBody) -> Result<BTreeMap<String, AgentSpec>, Error> {
    collect_specs(body.agents.into_iter().map(|mut agent| {
        let id = agent.agent_id.take().unwrap_or_default();
        (id, agent.into())
    }))
}
