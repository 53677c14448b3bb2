//! Nodes of a resource group.

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder};

use super::entity::agent::{ActiveModel, Column, Entity, Model};
use super::{Result, bulk, decode};
use crate::domain::placement_rules::{Labels, Taint};
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;

/// A node with the slots that it offers.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredAgent {
    pub agent_id: String,
    pub available_slots: SlotAmounts,
    pub alive: bool,
    pub schedulable: bool,
    pub labels: Labels,
    pub taints: Vec<Taint>,
    pub updated_at: Timestamp,
}

impl StoredAgent {
    /// True if the node counts for the group's capacity (FAIR_SHARE §1).
    pub fn offers(&self) -> bool {
        self.alive && self.schedulable
    }
}

impl TryFrom<Model> for StoredAgent {
    type Error = super::StoreError;
    fn try_from(row: Model) -> Result<Self> {
        Ok(Self {
            available_slots: decode::slots(&row.available_slots)?,
            labels: decode::json(&row.labels)?,
            taints: decode::json(&row.taints)?,
            agent_id: row.agent_id,
            alive: row.alive,
            schedulable: row.schedulable,
            updated_at: Timestamp::from_micros(row.updated_at),
        })
    }
}

/// All agents of a group by id.
#[tracing::instrument(name = "db.agents.list", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn list(db: &impl ConnectionTrait, group: &str) -> Result<Vec<StoredAgent>> {
    let rows = Entity::find().filter(Column::ResourceGroup.eq(group)).order_by_asc(Column::AgentId).all(db).await?;
    rows.into_iter().map(StoredAgent::try_from).collect()
}

#[tracing::instrument(name = "db.agents.upsert", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn upsert(db: &impl ConnectionTrait, group: &str, agents: &[StoredAgent]) -> Result<()> {
    let rows = agents.iter().map(|agent| ActiveModel {
        resource_group: Set(group.to_owned()),
        agent_id: Set(agent.agent_id.clone()),
        available_slots: Set(agent.available_slots.to_json()),
        alive: Set(agent.alive),
        schedulable: Set(agent.schedulable),
        labels: Set(serde_json::to_string(&agent.labels).unwrap_or_else(|_| "{}".to_owned())),
        taints: Set(serde_json::to_string(&agent.taints).unwrap_or_else(|_| "[]".to_owned())),
        updated_at: Set(agent.updated_at.micros()),
    });
    let mut replace = OnConflict::columns([Column::ResourceGroup, Column::AgentId]);
    replace.update_columns([
        Column::AvailableSlots,
        Column::Alive,
        Column::Schedulable,
        Column::Labels,
        Column::Taints,
        Column::UpdatedAt,
    ]);
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

#[tracing::instrument(name = "db.agents.delete", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn delete(db: &impl ConnectionTrait, group: &str, agent_id: &str) -> Result<()> {
    Entity::delete_by_id((group.to_owned(), agent_id.to_owned())).exec(db).await?;
    Ok(())
}
