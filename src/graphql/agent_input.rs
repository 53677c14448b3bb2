//! The agents in mutations. They are read like those in REST bodies, with the same faults.

use std::collections::BTreeMap;

use async_graphql::InputObject;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::scalars::JsonString;
use crate::api::agents::MAX_AGENTS;
use crate::domain::placement_rules::{Labels, MAX_TAINTS, Taint};
use crate::domain::reading::at_most;
use crate::domain::slots::{SlotAmounts, resource_slots};
use crate::service::agents::{AgentSpec, collect_specs};
use crate::service::input::json;
use crate::service::{Error, Fault, RequestFaults, Result};

/// A node. Keys that are left out, or null, have their defaults.
#[derive(InputObject)]
#[graphql(rename_fields = "snake_case")]
pub struct AgentInput {
    pub agent_id: String,
    /// By slot: decimals, or quantities of Kubernetes such as `64Gi`; `mem_mib` is `mem` in MiB.
    pub available_slots: JsonString,
    /// False: the node is down and offers nothing. True by default.
    pub alive: Option<bool>,
    /// False: the node takes no work and offers nothing. True by default.
    pub schedulable: Option<bool>,
    /// Texts by name.
    pub labels: Option<JsonString>,
    /// A list of `{key, value, effect}`; the effect is `NoSchedule`, `NoExecute` or `PreferNoSchedule`.
    pub taints: Option<JsonString>,
}

impl AgentInput {
    /// The id of the agent and its specification.
    pub fn read(self) -> std::result::Result<(String, AgentSpec), Fault> {
        let Self { agent_id, available_slots, alive, schedulable, labels, taints } = self;
        let mut map = Map::from_iter([("available_slots".to_owned(), available_slots.0)]);
        let given = [("labels", labels), ("taints", taints)];
        map.extend(given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.0))));
        let text = Value::Object(map).to_string();
        let AgentJson { available_slots, labels, taints } =
            json::read::<AgentJson>(text.as_bytes()).map_err(Fault::from)?;
        let (alive, schedulable) = (alive.unwrap_or(true), schedulable.unwrap_or(true));
        Ok((agent_id, AgentSpec { available_slots, alive, schedulable, labels, taints }))
    }
}

/// The parts of an agent that are JSON in the request.
#[derive(Deserialize)]
struct AgentJson {
    #[serde(deserialize_with = "resource_slots")]
    available_slots: SlotAmounts,
    #[serde(default)]
    labels: Labels,
    #[serde(default, deserialize_with = "at_most::<MAX_TAINTS, _, _>")]
    taints: Vec<Taint>,
}

/// Reads the agents of a mutation. The error lists the first faults.
pub fn read_agents(inputs: Vec<AgentInput>) -> Result<BTreeMap<String, AgentSpec>> {
    if inputs.len() > MAX_AGENTS {
        return Err(Error::about("/agents", "too_many", format!("lists more than {MAX_AGENTS} elements")));
    }
    let (mut agents, mut faults) = (Vec::new(), RequestFaults::default());
    for (at, input) in inputs.into_iter().enumerate() {
        match input.read() {
            Ok(agent) => agents.push(agent),
            Err(fault) => faults.push(fault.below(&format!("/agents/{at}"))),
        }
    }
    faults.or(())?;
    collect_specs(agents)
}
