use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::defaults::yes;
use crate::domain::quantity;
use crate::domain::reading::ReadOnly;
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;
use crate::service::agents::{Agent, AgentSpec};

/// A node.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "agent_id": "node-01", "available_slots": {"cpu": "64", "cuda.device": "8", "mem": "549755813888"}, "alive": true,
    "schedulable": true, "labels": {"rack": "r7"}, "updated_at": "2026-01-13T10:00:00Z"
}))]
pub struct AgentView {
    pub agent_id: String,
    #[schema(value_type = BTreeMap<String, String>)]
    pub available_slots: Amounts,
    pub alive: bool,
    pub schedulable: bool,
    pub labels: BTreeMap<String, String>,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<Agent> for AgentView {
    fn from(agent: Agent) -> Self {
        let Agent { agent_id, available_slots, alive, schedulable, labels, updated_at } = agent;
        Self { agent_id, available_slots, alive, schedulable, labels, updated_at }
    }
}

/// What a node offers, and whether it counts for the group's capacity.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"available_slots": {"cpu": "64", "cuda.device": "8", "mem": "549755813888"}, "labels": {"rack": "r7"}}))]
pub struct AgentBody {
    /// Decimals, or quantities of Kubernetes such as `64Gi`.
    #[serde(deserialize_with = "quantity::slots")]
    pub available_slots: Amounts,
    #[serde(default = "yes")]
    pub alive: bool,
    #[serde(default = "yes")]
    pub schedulable: bool,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Why, for the audit log.
    pub reason: Option<String>,
    /// The agent of the path, if it is named at all.
    pub agent_id: Option<String>,
    #[serde(default)]
    #[schema(inline)]
    pub updated_at: ReadOnly,
}

impl From<AgentBody> for AgentSpec {
    fn from(body: AgentBody) -> Self {
        let AgentBody { available_slots, alive, schedulable, labels, .. } = body;
        Self { available_slots, alive, schedulable, labels }
    }
}
