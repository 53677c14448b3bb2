//! The targets of audit entries: weights, options, projects and queues by their names.

use std::collections::{BTreeMap, BTreeSet};

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::SelectStatement;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, QueryTrait};

use super::entity::audit_entry;
use super::entity::audit_target::{ActiveModel, Column, Entity};
use super::{Result, bulk};
use crate::domain::time::Timestamp;

/// The author, the time and the reason of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeAuthor {
    /// The id of the audit entry.
    pub id: i64,
    pub at: Timestamp,
    pub actor: String,
    pub reason: Option<String>,
}

/// Stores the targets of an entry; no target may occur twice.
#[tracing::instrument(name = "db.audit_targets.add", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn add(db: &impl ConnectionTrait, group: &str, id: i64, targets: &[String]) -> Result<()> {
    // In the order of the index, so that neighbours are written to one page.
    let mut targets: Vec<&String> = targets.iter().collect();
    targets.sort_unstable();
    let row = |target: &String| ActiveModel {
        target: Set(target.clone()),
        resource_group: Set(group.to_owned()),
        audit_id: Set(id),
    };
    bulk::insert(db, targets.into_iter().map(row), None).await?;
    Ok(())
}

/// The last author of a change for each of `targets` that was ever changed. Takes two statements for each 30,000 targets.
#[tracing::instrument(name = "db.audit_targets.last", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn last(
    db: &impl ConnectionTrait,
    group: &str,
    targets: &[String],
) -> Result<BTreeMap<String, ChangeAuthor>> {
    let mut authors = BTreeMap::new();
    for part in targets.chunks(bulk::MAX_IDS) {
        let newest = newest_entries(db, group, part).await?;
        let heads = authors_of(db, newest.iter().map(|(_, id)| *id)).await?;
        authors.extend(newest.into_iter().filter_map(|(target, id)| Some((target, heads.get(&id)?.clone()))));
    }
    Ok(authors)
}

/// The names among `targets` whose last change is an entry with this action. Takes two statements for each 30,000 targets.
#[tracing::instrument(
    name = "db.audit_targets.last_changed_by",
    level = "debug",
    skip_all,
    fields(group),
    err(level = "debug")
)]
pub async fn last_changed_by(
    db: &impl ConnectionTrait,
    group: &str,
    targets: &[String],
    action: &str,
) -> Result<BTreeSet<String>> {
    use audit_entry::Column as Entry;
    let mut changed = BTreeSet::new();
    for part in targets.chunks(bulk::MAX_IDS) {
        let newest = newest_entries(db, group, part).await?;
        let ids: BTreeSet<i64> = newest.iter().map(|(_, id)| *id).collect();
        let of_action: Vec<i64> = audit_entry::Entity::find()
            .select_only()
            .column(Entry::Id)
            .filter(bulk::one_of(db, Entry::Id, ids.into_iter()))
            .filter(Entry::Action.eq(action))
            .into_tuple()
            .all(db)
            .await?;
        let of_action: BTreeSet<i64> = of_action.into_iter().collect();
        changed.extend(newest.into_iter().filter(|(_, id)| of_action.contains(id)).map(|(target, _)| target));
    }
    Ok(changed)
}

/// The last entry about each of `targets` that has one.
async fn newest_entries(db: &impl ConnectionTrait, group: &str, targets: &[String]) -> Result<Vec<(String, i64)>> {
    let place = [(Column::ResourceGroup, group.into())];
    let newest = Entity::find()
        .select_only()
        .column(Column::Target)
        .column_as(Column::AuditId.max(), "newest")
        .filter(bulk::one_of_place(db, &place, Column::Target, targets.iter().cloned()))
        .group_by(Column::Target);
    Ok(newest.into_tuple().all(db).await?)
}

async fn authors_of(db: &impl ConnectionTrait, ids: impl Iterator<Item = i64>) -> Result<BTreeMap<i64, ChangeAuthor>> {
    use audit_entry::Column as Entry;
    let rows: Vec<(i64, i64, String, Option<String>)> = audit_entry::Entity::find()
        .select_only()
        .columns([Entry::Id, Entry::At, Entry::Actor, Entry::Reason])
        .filter(bulk::one_of(db, Entry::Id, ids))
        .into_tuple()
        .all(db)
        .await?;
    let author = |(id, at, actor, reason)| (id, ChangeAuthor { id, at: Timestamp::from_micros(at), actor, reason });
    Ok(rows.into_iter().map(author).collect())
}

/// Targets with one of some names, or with a name that begins with a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetNames {
    pub names: Vec<String>,
    pub prefix: Option<String>,
}

impl TargetNames {
    pub(super) fn condition(&self, column: impl ColumnTrait) -> Condition {
        let named = Condition::any().add(column.is_in(&self.names));
        // Not a range, because the order of texts differs between databases.
        named.add_option(self.prefix.as_ref().map(|prefix| column.starts_with(prefix)))
    }
}

/// The entries that have changed one of `targets`, among others, in `group` or in any group.
pub(super) fn entries_about(targets: &TargetNames, group: Option<&str>) -> SelectStatement {
    let mut found = Entity::find().select_only().column(Column::AuditId).filter(targets.condition(Column::Target));
    if let Some(group) = group {
        found = found.filter(Column::ResourceGroup.eq(group));
    }
    found.into_query()
}
