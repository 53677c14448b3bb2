//! Queues as admins configure them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entity::queue::{ActiveModel, Column, Entity, Model};
use super::{Result, StoreError, bulk, decode};
use crate::domain::division::OverQuotaWeight;
use crate::domain::queues::QueueConfig;
use crate::domain::time::Timestamp;

impl TryFrom<Model> for QueueConfig {
    type Error = StoreError;
    fn try_from(row: Model) -> Result<Self> {
        Ok(Self {
            weight: text(row.weight)?,
            mode: text(row.mode)?,
            quota: decode::slots(&row.quota)?,
            limit: decode::slots(&row.limits)?,
            guarantee: decode::slots(&row.guarantee)?,
            over_quota_weight: over_quota_weight(&row.over_quota_weight)?,
            children_over_quota_by: text(row.children_over_quota_by)?,
            min_share_ratio: text(row.min_share_ratio)?,
            name: row.name,
            parent: row.parent,
            priority: row.priority,
            reclaimable: row.reclaimable,
            preempt_min_runtime: row.preempt_min_runtime.map(i64::unsigned_abs),
            reclaim_min_runtime: row.reclaim_min_runtime.map(i64::unsigned_abs),
            created_at: Some(Timestamp::from_micros(row.created_at)),
        })
    }
}

/// Slots in it are known however many there are, as in every stored map.
fn over_quota_weight(stored: &str) -> Result<OverQuotaWeight> {
    if stored.starts_with('{') { decode::slots(stored).map(OverQuotaWeight::BySlot) } else { decode::json(stored) }
}

/// Decimals and names of variants are stored as the texts that they are in JSON.
fn text<T: for<'de> Deserialize<'de>>(stored: String) -> Result<T> {
    serde_json::from_value(Value::String(stored)).map_err(|e| StoreError::Damaged(format!("queue: {e}")))
}

fn name_of(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// All queues of a group by name.
pub async fn list(db: &impl ConnectionTrait, group: &str) -> Result<BTreeMap<Arc<str>, QueueConfig>> {
    let rows = Entity::find().filter(Column::ResourceGroup.eq(group)).all(db).await?;
    rows.into_iter().map(|row| QueueConfig::try_from(row).map(|q| (Arc::from(q.name.as_str()), q))).collect()
}

/// Creates or replaces queues.
pub async fn upsert(db: &impl ConnectionTrait, group: &str, queues: &[QueueConfig], now: Timestamp) -> Result<()> {
    let seconds = |runtime: Option<u64>| runtime.map(|s| i64::try_from(s).unwrap_or(i64::MAX));
    let rows = queues.iter().map(|queue| ActiveModel {
        resource_group: Set(group.to_owned()),
        name: Set(queue.name.clone()),
        parent: Set(queue.parent.clone()),
        priority: Set(queue.priority),
        weight: Set(queue.weight.to_string()),
        mode: Set(name_of(queue.mode)),
        quota: Set(queue.quota.to_json()),
        limits: Set(queue.limit.to_json()),
        guarantee: Set(queue.guarantee.to_json()),
        over_quota_weight: Set(serde_json::to_string(&queue.over_quota_weight).unwrap_or_default()),
        children_over_quota_by: Set(name_of(queue.children_over_quota_by)),
        min_share_ratio: Set(queue.min_share_ratio.to_string()),
        reclaimable: Set(queue.reclaimable),
        preempt_min_runtime: Set(seconds(queue.preempt_min_runtime)),
        reclaim_min_runtime: Set(seconds(queue.reclaim_min_runtime)),
        created_at: Set(queue.created_at.unwrap_or(now).micros()),
        updated_at: Set(now.micros()),
    });
    let mut replace = OnConflict::columns([Column::ResourceGroup, Column::Name]);
    replace.update_columns([
        Column::Parent,
        Column::Priority,
        Column::Weight,
        Column::Mode,
        Column::Quota,
        Column::Limits,
        Column::Guarantee,
        Column::OverQuotaWeight,
        Column::ChildrenOverQuotaBy,
        Column::MinShareRatio,
        Column::Reclaimable,
        Column::PreemptMinRuntime,
        Column::ReclaimMinRuntime,
        Column::CreatedAt,
        Column::UpdatedAt,
    ]);
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

/// Removes the named queues.
pub async fn delete(db: &impl ConnectionTrait, group: &str, names: &[Arc<str>]) -> Result<()> {
    for part in names.chunks(10_000) {
        Entity::delete_many()
            .filter(Column::ResourceGroup.eq(group))
            .filter(Column::Name.is_in(part.iter().map(|n| &**n)))
            .exec(db)
            .await?;
    }
    Ok(())
}
