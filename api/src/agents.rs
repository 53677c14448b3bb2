//! Agents, which are nodes: as answers show them, and the bodies that create or replace one or many.

use std::collections::BTreeMap;

use domain::defaults::default_true;
use domain::placement_rules::{Labels, MAX_TAINTS, Taint};
use domain::reading::{ReadOnly, at_most};
use domain::slots::{SlotAmounts, resource_slots};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::input_warning::InputWarning;

/// The largest number of agents in one request.
pub const MAX_AGENTS: usize = 50_000;

/// A node.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "agent_id": "node-01", "available_slots": {"cpu": "64", "cuda.device": "8", "mem": "549755813888"}, "alive": true,
    "schedulable": true, "labels": {"rack": "r7"}, "taints": [], "updated_at": "2026-01-13T10:00:00Z"
}))]
pub struct AgentView {
    pub agent_id: String,
    #[schema(value_type = BTreeMap<String, String>)]
    pub available_slots: SlotAmounts,
    pub alive: bool,
    pub schedulable: bool,
    pub labels: Labels,
    pub taints: Vec<Taint>,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// A node after its write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "agent_id": "node-01", "available_slots": {"cpu": "64", "cuda.device": "8", "mem": "549755813888"}, "alive": true,
    "schedulable": true, "labels": {"rack": "r7"}, "taints": [], "updated_at": "2026-01-13T10:00:00Z"
}))]
pub struct AgentWritten {
    #[serde(flatten)]
    pub agent: AgentView,
    /// Likely mistakes; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}

/// The slots that a node offers; `alive` and `schedulable` say if it counts for the group's capacity.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"available_slots": {"cpu": "64", "cuda.device": "8", "mem": "549755813888"}, "labels": {"rack": "r7"},
    "taints": [{"key": "gpu", "value": "a100", "effect": "NoSchedule"}]}))]
pub struct AgentBody {
    /// Decimals, or quantities of Kubernetes such as `64Gi`.
    #[serde(deserialize_with = "resource_slots")]
    #[schema(schema_with = domain::schemas::resource_quantities)]
    pub available_slots: SlotAmounts,
    #[serde(default = "default_true")]
    pub alive: bool,
    #[serde(default = "default_true")]
    pub schedulable: bool,
    #[serde(default)]
    /// At most 64.
    pub labels: Labels,
    /// Workloads that do not tolerate them stay away.
    #[serde(default, deserialize_with = "at_most::<MAX_TAINTS, _, _>")]
    #[schema(max_items = 64)]
    pub taints: Vec<Taint>,
    /// Why, for the audit log.
    pub reason: Option<String>,
    /// The agent of the path, if it is named at all.
    pub agent_id: Option<String>,
    #[serde(default)]
    #[schema(inline)]
    pub updated_at: ReadOnly,
}

/// Nodes, each with its `agent_id`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "agents": [
        {"agent_id": "node-01", "available_slots": {"cpu": "64"}},
        {"agent_id": "node-02", "available_slots": {"cpu": "64"}, "alive": false}
    ]
}))]
pub struct AgentsBody {
    #[serde(deserialize_with = "at_most::<MAX_AGENTS, _, _>")]
    #[schema(max_items = 50_000)]
    pub agents: Vec<AgentBody>,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

/// The result of a write.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"written": 2}))]
pub struct AgentsWritten {
    /// Agents that were created or replaced.
    pub written: u64,
    /// Likely mistakes; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<InputWarning>,
}

/// An agent as clients send it, with amounts as texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentReport {
    pub agent_id: String,
    pub available_slots: BTreeMap<String, String>,
    pub alive: bool,
    pub schedulable: bool,
}
