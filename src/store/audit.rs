//! The audit log: entries with the author, the time and the reason of each change.

use std::sync::Arc;

use sea_orm::ActiveValue::{NotSet, Set};
use sea_orm::sea_query::{Condition, Expr, OnConflict, UnionType};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, QueryTrait};
use serde_json::{Value, json};
use uuid::Uuid;

use super::audit_targets::TargetNames;
use super::entity::audit_entry::{ActiveModel, Column, Entity, Model};
use super::key_list::{IdWindow, KeyPage};
use super::retention::remove_all;
use super::{Result, audit_targets, decode, key_list};
use crate::domain::time::{MICROS_PER_MINUTE, Timestamp};

#[derive(Clone, Debug, PartialEq)]
pub struct StoredEntry {
    /// Assigned by the database.
    pub id: i64,
    pub at: Timestamp,
    /// The label of the key, or `cli`, or the job.
    pub actor: String,
    pub key_id: Option<Uuid>,
    pub request_id: String,
    pub action: String,
    pub resource_group: Option<String>,
    pub target: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub reason: Option<String>,
}

fn decode_row(row: Model) -> Result<StoredEntry> {
    Ok(StoredEntry {
        before: row.before.as_deref().map(decode::json).transpose()?,
        after: match (row.accepted, row.rejected) {
            (Some(accepted), Some(rejected)) => Some(json!({"accepted": accepted, "rejected": rejected})),
            _ => row.after.as_deref().map(decode::json).transpose()?,
        },
        id: row.id,
        at: Timestamp::from_micros(row.at),
        actor: row.actor,
        key_id: row.key_id,
        request_id: row.request_id,
        action: row.action,
        resource_group: row.resource_group,
        target: row.target,
        reason: row.reason,
    })
}

/// Returns the id that the database assigns to the entry.
#[tracing::instrument(name = "db.audit.add", level = "debug", skip_all, err(level = "debug"))]
pub async fn add(db: &impl ConnectionTrait, entry: StoredEntry) -> Result<i64> {
    let text = |value: Option<Value>| value.map(|v| v.to_string());
    let row = ActiveModel {
        id: NotSet,
        at: Set(entry.at.micros()),
        actor: Set(entry.actor),
        key_id: Set(entry.key_id),
        request_id: Set(entry.request_id),
        action: Set(entry.action),
        resource_group: Set(entry.resource_group),
        target: Set(entry.target),
        before: Set(text(entry.before)),
        after: Set(text(entry.after)),
        reason: Set(entry.reason),
        tally_of: Set(None),
        accepted: Set(None),
        rejected: Set(None),
    };
    Ok(Entity::insert(row).exec(db).await?.last_insert_id)
}

/// The deliveries of one key.
#[derive(Clone, Debug)]
pub struct DeliveryTally {
    pub actor: String,
    pub key_id: Option<Uuid>,
    pub request_id: String,
    pub accepted: u64,
    pub rejected: u64,
}

/// Adds to the counts of `action` in this minute. There is one entry for each key, group and minute.
#[tracing::instrument(name = "db.audit.tally", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn tally(
    db: &impl ConnectionTrait,
    action: &str,
    group: &str,
    tallies: &[DeliveryTally],
    now: Timestamp,
) -> Result<()> {
    if tallies.is_empty() {
        return Ok(());
    }
    let minute = now.micros().div_euclid(MICROS_PER_MINUTE);
    let count = |n: u64| Set(Some(i64::try_from(n).unwrap_or(i64::MAX)));
    let rows = tallies.iter().map(|tally| {
        let key = tally.key_id.map_or_else(|| tally.actor.clone(), |id| id.to_string());
        ActiveModel {
            id: NotSet,
            at: Set(now.micros()),
            actor: Set(tally.actor.clone()),
            key_id: Set(tally.key_id),
            request_id: Set(tally.request_id.clone()),
            action: Set(action.to_owned()),
            resource_group: Set(Some(group.to_owned())),
            target: Set(group.to_owned()),
            before: Set(None),
            after: Set(None),
            reason: Set(None),
            tally_of: Set(Some(format!("{action} {group} {minute} {key}"))),
            accepted: count(tally.accepted),
            rejected: count(tally.rejected),
        }
    });
    let mut add = OnConflict::column(Column::TallyOf);
    let sum = |column: &str| Expr::cust(format!("audit_log.{column} + excluded.{column}"));
    add.value(Column::Accepted, sum("accepted")).value(Column::Rejected, sum("rejected"));
    Entity::insert_many(rows).on_conflict(add).exec_without_returning(db).await?;
    Ok(())
}

/// Removes entries of `actions` from before `before`, in steps. Returns their number.
#[tracing::instrument(name = "db.audit.purge", level = "debug", skip_all, err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, actions: &[&str], before: Timestamp) -> Result<u64> {
    let is_one = Column::Action.is_in(actions.iter().copied());
    remove_all(db, Entity::find().filter(Column::At.lt(before.micros())).filter(is_one)).await
}

/// The entries of `groups` with these ids that exist; `None`: those of all groups.
#[tracing::instrument(name = "db.audit.by_ids", level = "debug", skip_all, err(level = "debug"))]
pub async fn by_ids(
    db: &impl ConnectionTrait,
    groups: Option<&[String]>,
    ids: impl IntoIterator<Item = i64>,
) -> Result<Vec<StoredEntry>> {
    let of_groups = Condition::all().add_option(groups.map(|names| Column::ResourceGroup.is_in(names)));
    let rows = Entity::find().filter(Column::Id.is_in(ids)).filter(of_groups).all(db).await?;
    rows.into_iter().map(decode_row).collect()
}

/// The conditions of a list of entries.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub resource_group: Option<String>,
    pub action: Option<String>,
    pub actor: Option<String>,
    /// The targets of the change, alone or among others.
    pub target: Option<TargetNames>,
    pub from: Option<Timestamp>,
    /// The first moment after the period.
    pub until: Option<Timestamp>,
    /// Only entries of these groups.
    pub groups: Option<Arc<[String]>>,
}

impl AuditFilter {
    fn condition(&self) -> Condition {
        Condition::all()
            .add_option(self.resource_group.as_ref().map(|group| Column::ResourceGroup.eq(group)))
            .add_option(self.action.as_ref().map(|action| Column::Action.eq(action)))
            .add_option(self.actor.as_ref().map(|actor| Column::Actor.eq(actor)))
            .add_option(self.from.map(|from| Column::At.gte(from.micros())))
            .add_option(self.until.map(|until| Column::At.lt(until.micros())))
            .add_option(self.groups.as_ref().map(|names| Column::ResourceGroup.is_in(names.iter())))
            .add_option(self.target.as_ref().map(|targets| self.about(targets)))
    }

    /// Uses two indexes: an entry about one target contains its name, and the targets of an entry about several have rows of
    /// their own.
    fn about(&self, targets: &TargetNames) -> Expr {
        let group = self.resource_group.as_deref();
        let mut alone = Entity::find().select_only().column(Column::Id).filter(targets.condition(Column::Target));
        if let Some(group) = group {
            alone = alone.filter(Column::ResourceGroup.eq(group));
        }
        let either = alone.into_query().union(UnionType::All, audit_targets::entries_about(targets, group)).to_owned();
        Column::Id.in_subquery(either)
    }
}

/// One page, newest first.
#[tracing::instrument(name = "db.audit.page", level = "debug", skip_all, err(level = "debug"))]
pub async fn page(db: &impl ConnectionTrait, filter: &AuditFilter, window: &IdWindow) -> Result<KeyPage<StoredEntry>> {
    let matching = Entity::find().filter(filter.condition());
    key_list::newest_first(db, matching, Column::Id, window).await?.try_map(decode_row)
}
