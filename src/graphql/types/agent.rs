//! Agents as GraphQL shows them.

use async_graphql::{ID, Object, SimpleObject};

use super::{InputWarning, ScalingGroup, input_warnings};
use crate::graphql::global_id;
use crate::graphql::scalars::{DateTime, JsonString};
use crate::service::agents;

/// A node of a resource group.
pub struct Agent {
    pub group: String,
    pub row: agents::StoredAgent,
}

impl Agent {
    pub const KIND: &str = "Agent";
}

#[Object(rename_fields = "snake_case")]
impl Agent {
    pub async fn id(&self) -> ID {
        global_id::encode(Self::KIND, &[&self.group, &self.row.agent_id])
    }

    async fn agent_id(&self) -> &str {
        &self.row.agent_id
    }

    async fn resource_group(&self) -> &str {
        &self.group
    }

    async fn available_slots(&self) -> JsonString {
        JsonString::of(&self.row.available_slots)
    }

    async fn alive(&self) -> bool {
        self.row.alive
    }

    async fn schedulable(&self) -> bool {
        self.row.schedulable
    }

    async fn labels(&self) -> JsonString {
        JsonString::of(&self.row.labels)
    }

    /// Workloads that do not tolerate them stay away.
    async fn taints(&self) -> JsonString {
        JsonString::of(&self.row.taints)
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.row.updated_at)
    }

    /// Likely mistakes, as a name that stands for several agents; never a refusal.
    async fn warnings(&self) -> Vec<InputWarning> {
        input_warnings(agents::name_warnings([("/agent_id".to_owned(), &*self.row.agent_id)].into_iter()))
    }
}

/// The result of a write of agents.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct UpsertAgentsResult {
    /// Agents that were created or replaced.
    pub upserted_count: u64,
    /// The group with its new capacity.
    pub resource_group: ScalingGroup,
    /// Likely mistakes; never a refusal.
    pub warnings: Vec<InputWarning>,
}
