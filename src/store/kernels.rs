//! Kernels, read with their accounting cursors.

use std::ops::Range;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Condition, Expr, JoinType, OnConflict};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect,
    RelationDef, Select,
};
use uuid::Uuid;

use super::cursors::{CURSOR_SQL, cursor_of_kernel, open};
use super::decode::{self, SlotDecoder};
use super::entity::kernel::{ActiveModel, Column, Entity, Model};
use super::entity::{kernel_cursor, resource_group};
use super::kernel_keys::of_group;
use super::{Result, StoreError, bulk};
use crate::domain::changes::SuspensionChanges;
use crate::domain::decimal::Amount;
use crate::domain::ids::{GroupKey, KernelId, KernelKey, Member, ProjectId, SessionId, UserId};
use crate::domain::kernel::{ChangedKernels, Kernel, KernelPhase, KernelReport, KernelTraits};
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::placement_rules::PlacementRules;
use crate::domain::time::Timestamp;

pub(super) fn phase(status: &str) -> Result<KernelPhase> {
    KernelPhase::parse(status).ok_or_else(|| StoreError::Damaged(format!("kernel status {status}")))
}

pub(super) fn changes(stored: Option<&str>) -> Result<SuspensionChanges> {
    let parse = |text: &str| text.parse().map_err(|_| StoreError::Damaged(format!("changes of status {text}")));
    stored.map_or_else(|| Ok(SuspensionChanges::default()), parse)
}

fn stored_changes(changes: &SuspensionChanges) -> Option<String> {
    (!changes.is_empty()).then(|| changes.to_string())
}

/// The agents of a kernel. A single one that a server of an older version has stored goes before a list.
pub(super) fn agents(one: Option<String>, several: Option<&str>) -> Result<KernelAgents> {
    let parse =
        |text: &str| serde_json::from_str(text).map_err(|_| StoreError::Damaged(format!("agents of a kernel {text}")));
    let names: Option<Vec<String>> = several.filter(|_| one.is_none()).map(parse).transpose()?;
    Ok(names.map_or_else(|| KernelAgents::of_one(one), KernelAgents::from))
}

fn stored_agents(agents: &KernelAgents) -> Option<String> {
    // A list of texts is always JSON.
    let text = |names: &[String]| serde_json::to_string(names).unwrap_or_default();
    Some(agents.names()).filter(|names| names.len() > 1).map(text)
}

fn kernel_of_row(row: StoredRow, slots: &mut SlotDecoder<Amount>) -> Result<Kernel> {
    let StoredRow { kernel: row, open, cursor, applied, seen_at, .. } = row;
    let phase = phase(&row.status)?;
    let report = Box::new(KernelReport {
        id: KernelId(row.kernel_id),
        session: SessionId(row.session_id),
        owner: Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) },
        domain: row.domain_name,
        slots: (*slots.decode(&row.occupied_slots)?).clone(),
        phase,
        started_at: row.started_at.map(Timestamp::from_micros),
        terminated_at: row.terminated_at.map(Timestamp::from_micros),
        changes: changes(row.status_changes.as_deref())?,
        expected_seconds: expected(row.expected_seconds),
        charge_class: Some(row.charge_class).filter(|class| !class.is_empty()),
        submitted_at: row.submitted_at.map(Timestamp::from_micros),
        rules: rules(row.placement_rules.as_deref())?,
        traits: KernelTraits {
            agents: agents(row.agent_id, row.agent_ids.as_deref())?,
            queue: row.queue,
            priority: row.priority,
            preemptible: row.preemptible,
            critical: row.critical,
            gang_id: row.gang_id,
            gang_min: row.gang_min.and_then(|g| u32::try_from(g).ok()),
        },
    });
    // The usage of a settled kernel is recorded to its end.
    let cursor = if open { cursor } else { row.started_at.and(row.terminated_at) };
    Ok(Kernel {
        key: Some(KernelKey(row.kernel_key)),
        report,
        cursor: cursor.map(Timestamp::from_micros),
        settled: !open,
        end_inferred: row.end_inferred,
        applied: applied.as_deref().map(|text| changes(Some(text))).transpose()?,
        seen_at: seen_at.map(Timestamp::from_micros),
        reported_at: row.reported_at.map(Timestamp::from_micros),
    })
}

/// The reported expected run time of a kernel, in seconds.
pub(super) fn expected(stored: Option<i32>) -> Option<u32> {
    stored.and_then(|seconds| u32::try_from(seconds).ok())
}

/// The rules of a kernel's place from their JSON.
pub(super) fn rules(stored: Option<&str>) -> Result<Option<Box<PlacementRules>>> {
    stored.map(|text| decode::json(text).map(Box::new)).transpose()
}

fn stored_rules(rules: &PlacementRules) -> String {
    // Maps with text keys, lists and texts are always JSON.
    serde_json::to_string(rules).unwrap_or_default()
}

/// A kernel with the columns of its row in `kernel_cursors`.
#[derive(FromQueryResult)]
struct StoredRow {
    #[sea_orm(nested)]
    kernel: Model,
    group_name: String,
    open: bool,
    cursor: Option<i64>,
    applied: Option<String>,
    seen_at: Option<i64>,
}

fn group_of_kernel() -> RelationDef {
    Entity::belongs_to(resource_group::Entity).from(Column::GroupKey).to(resource_group::Column::GroupKey).into()
}

async fn rows(db: &impl ConnectionTrait, query: Select<Entity>) -> Result<Vec<StoredRow>> {
    let joined = query
        .join(JoinType::LeftJoin, cursor_of_kernel())
        .join(JoinType::InnerJoin, group_of_kernel())
        .column_as(resource_group::Column::Name, "group_name")
        .column_as(Expr::cust("kernel_cursors.kernel_key IS NOT NULL"), "open")
        .column_as(Expr::cust(CURSOR_SQL), "cursor")
        .column_as(kernel_cursor::Column::AppliedChanges, "applied")
        .column_as(kernel_cursor::Column::SeenAt, "seen_at");
    Ok(joined.into_model::<StoredRow>().all(db).await?)
}

async fn fetch(db: &impl ConnectionTrait, query: Select<Entity>) -> Result<Vec<Kernel>> {
    let mut slots = SlotDecoder::new();
    rows(db, query).await?.into_iter().map(|row| kernel_of_row(row, &mut slots)).collect()
}

/// The known kernels among `ids`, with the group of each.
#[tracing::instrument(name = "db.kernels.find_many", level = "debug", skip_all, err(level = "debug"))]
pub async fn find_many(db: &impl ConnectionTrait, ids: &[KernelId]) -> Result<Vec<(String, Kernel)>> {
    let mut slots = SlotDecoder::new();
    let mut found = Vec::new();
    for part in ids.chunks(bulk::MAX_IDS) {
        let query = Entity::find().filter(bulk::one_of(db, Column::KernelId, part.iter().map(|k| k.0)));
        for row in rows(db, query).await? {
            found.push((row.group_name.clone(), kernel_of_row(row, &mut slots)?));
        }
    }
    Ok(found)
}

/// Stores kernels of the group, each under its key. Returns the number of stored kernels: one that belongs to another group
/// stays as it is.
#[tracing::instrument(name = "db.kernels.upsert", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn upsert(db: &impl ConnectionTrait, group: GroupKey, kernels: &ChangedKernels) -> Result<u64> {
    let row = |kernel: &Kernel| {
        let report = &kernel.report;
        Some(ActiveModel {
            kernel_key: Set(kernel.key?.0),
            group_key: Set(group.0),
            kernel_id: Set(report.id.0),
            session_id: Set(report.session.0),
            user_uuid: Set(report.owner.user.0),
            project_id: Set(report.owner.project.0),
            domain_name: Set(report.domain.clone()),
            occupied_slots: Set(report.slots.to_json()),
            status: Set(report.phase.as_str().to_owned()),
            started_at: Set(report.started_at.map(Timestamp::micros)),
            terminated_at: Set(report.terminated_at.map(Timestamp::micros)),
            status_changes: Set(stored_changes(&report.changes)),
            end_inferred: Set(kernel.end_inferred),
            expected_seconds: Set(report.expected_seconds.map(|s| i32::try_from(s).unwrap_or(i32::MAX))),
            charge_class: Set(report.charge_class.clone().unwrap_or_default()),
            submitted_at: Set(report.submitted_at.map(Timestamp::micros)),
            reported_at: Set(kernel.reported_at.map(Timestamp::micros)),
            placement_rules: Set(report.rules.as_deref().map(stored_rules)),
            agent_id: Set(report.traits.agents.only().cloned()),
            agent_ids: Set(stored_agents(&report.traits.agents)),
            queue: Set(report.traits.queue.clone()),
            priority: Set(report.traits.priority),
            preemptible: Set(report.traits.preemptible),
            critical: Set(report.traits.critical),
            gang_id: Set(report.traits.gang_id.clone()),
            gang_min: Set(report.traits.gang_min.map(|g| i32::try_from(g).unwrap_or(i32::MAX))),
        })
    };
    // Two groups may claim one id at the same time; the first one keeps it.
    let keep = OnConflict::column(Column::KernelId).do_nothing().to_owned();
    let new = kernels.iter().filter(|(before, _)| before.is_none());
    let made = bulk::insert(db, new.filter_map(|(_, kernel)| row(kernel)), Some(keep)).await?;
    let mut replace = OnConflict::column(Column::KernelId);
    replace.update_columns([
        Column::SessionId,
        Column::DomainName,
        Column::OccupiedSlots,
        Column::Status,
        Column::StartedAt,
        Column::TerminatedAt,
        Column::StatusChanges,
        Column::EndInferred,
        Column::ExpectedSeconds,
        Column::ChargeClass,
        Column::SubmittedAt,
        Column::PlacementRules,
        Column::AgentId,
        Column::AgentIds,
        Column::Queue,
        Column::Priority,
        Column::Preemptible,
        Column::Critical,
        Column::GangId,
        Column::GangMin,
    ]);
    replace.action_and_where(Expr::cust("kernels.group_key = excluded.group_key"));
    let known = kernels.iter().filter(|(before, _)| before.is_some());
    Ok(made + bulk::insert(db, known.filter_map(|(_, kernel)| row(kernel)), Some(replace)).await?)
}

/// The running and pending kernels of the group. The query starts from the cursors, which every such kernel has, because
/// ended kernels are many more.
pub(super) fn select_live(group: GroupKey) -> Select<Entity> {
    Entity::find()
        .join(JoinType::InnerJoin, cursor_of_kernel())
        .filter(of_group(kernel_cursor::Column::KernelKey, group))
}

/// The earliest start of a kernel of the group whose usage runs still have to record.
#[tracing::instrument(name = "db.kernels.first_live_start", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn first_live_start(db: &impl ConnectionTrait, group: GroupKey) -> Result<Option<Timestamp>> {
    let first = select_live(group).select_only().column_as(Column::StartedAt.min(), "first");
    let first: Option<Option<i64>> = first.into_tuple().one(db).await?;
    Ok(first.flatten().map(Timestamp::from_micros))
}

/// The next kernels of the group, by key, that ended before `before` and whose usage is recorded to the end.
#[tracing::instrument(name = "db.kernels.ended_before", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn ended_before(
    db: &impl ConnectionTrait,
    group: GroupKey,
    before: Timestamp,
    after: Option<KernelKey>,
    limit: u64,
) -> Result<Vec<KernelKey>> {
    let keys: Vec<i64> = Entity::find()
        .select_only()
        .column(Column::KernelKey)
        .filter(of_group(Column::KernelKey, group))
        .filter(Condition::all().add_option(after.map(|key| Column::KernelKey.gt(key.0))))
        .filter(Column::TerminatedAt.lt(before.micros()))
        .filter(Column::KernelKey.not_in_subquery(open(group)))
        .order_by_asc(Column::KernelKey)
        .limit(limit)
        .into_tuple()
        .all(db)
        .await?;
    Ok(keys.into_iter().map(KernelKey).collect())
}

#[tracing::instrument(name = "db.kernels.remove", level = "debug", skip_all, err(level = "debug"))]
pub async fn remove(db: &impl ConnectionTrait, keys: &[KernelKey]) -> Result<()> {
    for part in keys.chunks(bulk::MAX_IDS) {
        let those = bulk::one_of(db, Column::KernelKey, part.iter().map(|key| key.0));
        Entity::delete_many().filter(those).exec(db).await?;
    }
    Ok(())
}

/// The conditions of a list of kernels.
#[derive(Clone, Debug, Default)]
pub struct KernelFilter {
    pub user: Option<UserId>,
    pub project: Option<ProjectId>,
    pub domain: Option<String>,
    pub phase: Option<KernelPhase>,
}

/// One page by kernel id after `after`, and the number of all matching kernels.
#[tracing::instrument(name = "db.kernels.page", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn page(
    db: &impl ConnectionTrait,
    group: GroupKey,
    filter: &KernelFilter,
    after: Option<KernelId>,
    limit: u64,
) -> Result<(Vec<Kernel>, u64)> {
    let running = filter.phase == Some(KernelPhase::Running);
    let matching = Condition::all()
        .add_option(filter.user.map(|u| Column::UserUuid.eq(u.0)))
        .add_option(filter.project.map(|p| Column::ProjectId.eq(p.0)))
        .add_option(filter.domain.as_ref().map(|d| Column::DomainName.eq(d)))
        .add_option(filter.phase.map(|p| Column::Status.eq(p.as_str())))
        .add_option(running.then(|| Column::KernelKey.in_subquery(open(group))));
    let counted = Entity::find().filter(Column::GroupKey.eq(group.0)).filter(matching.clone());
    let total = counted.count(db).await?;
    // The index by id contains the keys too, so that kernels of other groups are skipped without reading their rows. The
    // sign `+` keeps the database from finding kernels by key and sorting all of them by id.
    let Range { start, end } = group.kernels();
    let in_group = Expr::cust(format!("+kernels.kernel_key >= {start} AND +kernels.kernel_key < {end}"));
    // The ids are selected first, because a join with the cursors might read all kernels for a page.
    let ids: Vec<Uuid> = Entity::find()
        .select_only()
        .column(Column::KernelId)
        .filter(in_group)
        .filter(matching)
        .filter(Condition::all().add_option(after.map(|a| Column::KernelId.gt(a.0))))
        .order_by_asc(Column::KernelId)
        .limit(limit)
        .into_tuple()
        .all(db)
        .await?;
    let query = Entity::find().filter(Column::KernelId.is_in(ids)).order_by_asc(Column::KernelId);
    Ok((fetch(db, query).await?, total))
}

#[tracing::instrument(name = "db.kernels.find", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn find(db: &impl ConnectionTrait, group: GroupKey, id: KernelId) -> Result<Option<Kernel>> {
    let known = Entity::find().filter(Column::KernelId.eq(id.0)).filter(Column::GroupKey.eq(group.0));
    Ok(fetch(db, known).await?.into_iter().next())
}
