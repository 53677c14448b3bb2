//! Kernels with their accounting cursors.

use std::sync::Arc;

use hashbrown::HashMap;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Condition, Expr, JoinType, OnConflict, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect,
    RelationDef, Select, Statement,
};
use uuid::Uuid;

use super::decode::SlotDecoder;
use super::entity::kernel::{ActiveModel, Column, Entity, Model};
use super::entity::{kernel_cursor, resource_group};
use super::{Result, StoreError, bulk};
use crate::domain::changes::Changes;
use crate::domain::decimal::Amount;
use crate::domain::ids::{KernelId, Member, ProjectId, SessionId, UserId};
use crate::domain::kernel::{Kernel, Phase, Report, Traits, Unsettled};
use crate::domain::time::Timestamp;

pub(super) fn phase(status: &str) -> Result<Phase> {
    Phase::parse(status).ok_or_else(|| StoreError::Damaged(format!("kernel status {status}")))
}

fn changes(stored: Option<&str>) -> Result<Changes> {
    let parse = |text: &str| text.parse().map_err(|_| StoreError::Damaged(format!("changes of status {text}")));
    stored.map_or_else(|| Ok(Changes::default()), parse)
}

fn stored_changes(changes: &Changes) -> Option<String> {
    (!changes.is_empty()).then(|| changes.to_string())
}

fn decode(row: Row, slots: &mut SlotDecoder<Amount>) -> Result<Kernel> {
    let Row { kernel: row, open, cursor, applied, seen_at } = row;
    let phase = phase(&row.status)?;
    let report = Report {
        id: KernelId(row.kernel_id),
        session: SessionId(row.session_id),
        owner: Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) },
        domain: row.domain_name,
        slots: (*slots.decode(&row.occupied_slots)?).clone(),
        phase,
        started_at: row.started_at.map(Timestamp::from_micros),
        terminated_at: row.terminated_at.map(Timestamp::from_micros),
        changes: changes(row.status_changes.as_deref())?,
        traits: Traits {
            agent_id: row.agent_id,
            queue: row.queue,
            priority: row.priority,
            preemptible: row.preemptible,
            critical: row.critical,
            gang_id: row.gang_id,
            gang_min: row.gang_min.and_then(|g| u32::try_from(g).ok()),
        },
    };
    // Usage of a settled kernel is recorded to its end.
    let cursor = if open { cursor } else { row.started_at.and(row.terminated_at) };
    Ok(Kernel {
        report,
        cursor: cursor.map(Timestamp::from_micros),
        settled: !open,
        end_inferred: row.end_inferred,
        applied: applied.as_deref().map(|text| changes(Some(text))).transpose()?,
        seen_at: seen_at.map(Timestamp::from_micros),
    })
}

/// A kernel with what its row of `kernel_cursors` says.
#[derive(FromQueryResult)]
struct Row {
    #[sea_orm(nested)]
    kernel: Model,
    open: bool,
    cursor: Option<i64>,
    applied: Option<String>,
    seen_at: Option<i64>,
}

/// The cursor of a kernel that runs still have to record.
const CURSOR: &str =
    "CASE WHEN kernel_cursors.in_step THEN resource_groups.recorded_until ELSE kernel_cursors.recorded_until END";

pub(super) fn cursor_of_kernel() -> RelationDef {
    Entity::belongs_to(kernel_cursor::Entity)
        .from((Column::ResourceGroup, Column::KernelId))
        .to((kernel_cursor::Column::ResourceGroup, kernel_cursor::Column::KernelId))
        .into()
}

fn group_of_cursor() -> RelationDef {
    kernel_cursor::Entity::belongs_to(resource_group::Entity)
        .from(kernel_cursor::Column::ResourceGroup)
        .to(resource_group::Column::Name)
        .into()
}

async fn rows(db: &impl ConnectionTrait, query: Select<Entity>) -> Result<Vec<Row>> {
    let joined = query
        .join(JoinType::LeftJoin, cursor_of_kernel())
        .join(JoinType::LeftJoin, group_of_cursor())
        .column_as(Expr::cust("kernel_cursors.kernel_id IS NOT NULL"), "open")
        .column_as(Expr::cust(CURSOR), "cursor")
        .column_as(kernel_cursor::Column::AppliedChanges, "applied")
        .column_as(kernel_cursor::Column::SeenAt, "seen_at");
    Ok(joined.into_model::<Row>().all(db).await?)
}

async fn fetch(db: &impl ConnectionTrait, query: Select<Entity>) -> Result<Vec<Kernel>> {
    let mut slots = SlotDecoder::new();
    rows(db, query).await?.into_iter().map(|row| decode(row, &mut slots)).collect()
}

/// Those of `ids` that are known, with the group each is in.
#[tracing::instrument(name = "db.kernels.find_many", level = "debug", skip_all, err(level = "debug"))]
pub async fn find_many(db: &impl ConnectionTrait, ids: &[KernelId]) -> Result<Vec<(String, Kernel)>> {
    let mut slots = SlotDecoder::new();
    let mut found = Vec::new();
    for part in ids.chunks(bulk::MOST_IDS) {
        let query = Entity::find().filter(bulk::one_of(db, Column::KernelId, part.iter().map(|k| k.0)));
        for row in rows(db, query).await? {
            found.push((row.kernel.resource_group.clone(), decode(row, &mut slots)?));
        }
    }
    Ok(found)
}

/// Kernels, each with what it was before.
pub type Changed = [(Option<Kernel>, Kernel)];

/// Stores kernels of the group. Returns how many were stored: one that another group has stays as it is.
#[tracing::instrument(name = "db.kernels.upsert", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn upsert(db: &impl ConnectionTrait, group: &str, kernels: &Changed) -> Result<u64> {
    let rows = kernels.iter().map(|(_, kernel)| {
        let report = &kernel.report;
        ActiveModel {
            kernel_id: Set(report.id.0),
            resource_group: Set(group.to_owned()),
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
            agent_id: Set(report.traits.agent_id.clone()),
            queue: Set(report.traits.queue.clone()),
            priority: Set(report.traits.priority),
            preemptible: Set(report.traits.preemptible),
            critical: Set(report.traits.critical),
            gang_id: Set(report.traits.gang_id.clone()),
            gang_min: Set(report.traits.gang_min.map(|g| i32::try_from(g).unwrap_or(i32::MAX))),
        }
    });
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
        Column::AgentId,
        Column::Queue,
        Column::Priority,
        Column::Preemptible,
        Column::Critical,
        Column::GangId,
        Column::GangMin,
    ]);
    // Two groups may claim one id at the same time; the first keeps it.
    replace.action_and_where(Expr::cust("kernels.resource_group = excluded.resource_group"));
    bulk::insert(db, rows, Some(replace)).await
}

/// Cursors come and go with what there is to record. New ones are of kernels that were reported at `seen_at`.
#[tracing::instrument(name = "db.kernels.save_cursors", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn save_cursors(db: &impl ConnectionTrait, group: &str, kernels: &Changed, seen_at: Timestamp) -> Result<()> {
    let was_open = |old: &Option<Kernel>| old.as_ref().is_some_and(|k| !k.settled);
    let cursor = |kernel: &Kernel| kernel_cursor::ActiveModel {
        resource_group: Set(group.to_owned()),
        kernel_id: Set(kernel.report.id.0),
        recorded_until: Set(kernel.cursor.map(Timestamp::micros)),
        in_step: Set(false),
        // That nothing was applied is not the same as that all of it was.
        applied_changes: Set(kernel.applied.as_ref().map(Changes::to_string)),
        seen_at: Set(Some(seen_at.micros())),
    };
    let opened = kernels.iter().filter(|(old, new)| !new.settled && !was_open(old)).map(|(_, kernel)| cursor(kernel));
    bulk::insert(db, opened, None).await?;
    let has_more_applied = |old: &Option<Kernel>, new: &Kernel| old.as_ref().is_some_and(|k| k.applied != new.applied);
    let reapplied = kernels.iter().filter(|(old, new)| was_open(old) && has_more_applied(old, new));
    let mut replace = OnConflict::columns([kernel_cursor::Column::ResourceGroup, kernel_cursor::Column::KernelId]);
    replace.update_column(kernel_cursor::Column::AppliedChanges);
    bulk::insert(db, reapplied.map(|(_, kernel)| cursor(kernel)), Some(replace)).await?;
    let closed = kernels.iter().filter(|(old, new)| new.settled && was_open(old)).map(|(_, k)| k.report.id);
    close(db, group, &closed.collect::<Vec<_>>()).await
}

/// Notes that kernels were reported at `at`.
#[tracing::instrument(name = "db.kernels.set_seen", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn set_seen(db: &impl ConnectionTrait, group: &str, ids: &[KernelId], at: Timestamp) -> Result<()> {
    for part in ids.chunks(bulk::MOST_IDS) {
        let note =
            kernel_cursor::Entity::update_many().col_expr(kernel_cursor::Column::SeenAt, Expr::value(at.micros()));
        note.filter(cursors_of(db, group, part)).exec(db).await?;
    }
    Ok(())
}

async fn close(db: &impl ConnectionTrait, group: &str, ids: &[KernelId]) -> Result<()> {
    for part in ids.chunks(bulk::MOST_IDS) {
        kernel_cursor::Entity::delete_many().filter(cursors_of(db, group, part)).exec(db).await?;
    }
    Ok(())
}

/// Opens cursors again, in step with the group, for kernels that end after `now` and were taken for recorded to their ends.
#[tracing::instrument(name = "db.kernels.reopen", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn reopen(db: &impl ConnectionTrait, group: &str, now: Timestamp) -> Result<()> {
    let sql = "INSERT INTO kernel_cursors (resource_group, kernel_id, recorded_until, in_step) \
               SELECT k.resource_group, k.kernel_id, NULL, TRUE FROM kernels k WHERE k.resource_group = $1 \
               AND k.started_at IS NOT NULL AND k.terminated_at > $2 AND NOT EXISTS (SELECT 1 FROM kernel_cursors c \
               WHERE c.resource_group = k.resource_group AND c.kernel_id = k.kernel_id)";
    let values = [group.into(), now.micros().into()];
    db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).await?;
    Ok(())
}

fn cursors_of(db: &impl ConnectionTrait, group: &str, ids: &[KernelId]) -> Condition {
    let one_of = bulk::one_of(db, kernel_cursor::Column::KernelId, ids.iter().map(|k| k.0));
    Condition::all().add(kernel_cursor::Column::ResourceGroup.eq(group)).add(one_of)
}

/// The next kernels of the group, by id, whose last slice is not recorded yet, and the id to go on after; none at the
/// end.
#[tracing::instrument(name = "db.kernels.unsettled", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn unsettled(
    db: &impl ConnectionTrait,
    group: &str,
    after: Option<KernelId>,
    limit: u64,
) -> Result<(Vec<Unsettled>, Option<KernelId>)> {
    type Row = (Uuid, Uuid, Uuid, Uuid, String, String, String, i64, Option<i64>, Option<String>);
    type Cursor = (bool, Option<i64>, Option<String>);
    // Two statements: one that joins kernels may read all of them for each page.
    let cursors: Vec<(Uuid, bool, Option<i64>, Option<String>)> = kernel_cursor::Entity::find()
        .select_only()
        .columns([kernel_cursor::Column::KernelId, kernel_cursor::Column::InStep])
        .column_as(Expr::cust(CURSOR), "cursor")
        .column(kernel_cursor::Column::AppliedChanges)
        .join(JoinType::InnerJoin, group_of_cursor())
        .filter(kernel_cursor::Column::ResourceGroup.eq(group))
        .filter(Condition::all().add_option(after.map(|id| kernel_cursor::Column::KernelId.gt(id.0))))
        .order_by_asc(kernel_cursor::Column::KernelId)
        .limit(limit)
        .into_tuple()
        .all(db)
        .await?;
    let Some((last, ..)) = cursors.last().cloned() else { return Ok((Vec::new(), None)) };
    let mut cursors: HashMap<Uuid, Cursor> =
        cursors.into_iter().map(|(id, in_step, cursor, applied)| (id, (in_step, cursor, applied))).collect();
    let mut slots = SlotDecoder::new();
    let mut domains: hashbrown::HashSet<Arc<str>> = hashbrown::HashSet::new();
    let rows: Vec<Row> = Entity::find()
        .select_only()
        .columns([
            Column::KernelId,
            Column::SessionId,
            Column::UserUuid,
            Column::ProjectId,
            Column::DomainName,
            Column::OccupiedSlots,
            Column::Status,
            Column::StartedAt,
            Column::TerminatedAt,
            Column::StatusChanges,
        ])
        .filter(bulk::one_of(db, Column::KernelId, cursors.keys().copied()))
        .filter(Column::ResourceGroup.eq(group))
        .filter(Column::StartedAt.is_not_null())
        .into_tuple()
        .all(db)
        .await?;
    let decode = |row: Row| {
        let (id, session, user, project, domain, occupied, status, started_at, terminated_at, status_changes) = row;
        let (in_step, cursor, applied) = cursors.remove(&id).unwrap_or_default();
        Ok(Unsettled {
            id: KernelId(id),
            session: SessionId(session),
            owner: Member { user: UserId(user), project: ProjectId(project) },
            domain: Arc::clone(domains.get_or_insert_with(domain.as_str(), |d| Arc::from(d))),
            slots: (*slots.decode(&occupied)?).clone(),
            phase: phase(&status)?,
            started_at: Timestamp::from_micros(started_at),
            terminated_at: terminated_at.map(Timestamp::from_micros),
            cursor: cursor.map(Timestamp::from_micros),
            in_step,
            changes: changes(status_changes.as_deref())?,
            applied: applied.as_deref().map(|text| changes(Some(text))).transpose()?,
        })
    };
    let mut found: Vec<Unsettled> = rows.into_iter().map(decode).collect::<Result<_>>()?;
    found.sort_unstable_by_key(|kernel| kernel.id);
    Ok((found, Some(KernelId(last))))
}

/// Where a run at one time left the kernels that it looked at.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Recorded to their ends.
    pub settled: Vec<KernelId>,
    /// From now on as far as their group.
    pub in_step: Vec<KernelId>,
    /// Their records follow from the changes that are known now.
    pub recounted: Vec<KernelId>,
    /// As far as the run, which is behind their group because the clock jumped back.
    pub behind: Vec<KernelId>,
    /// Nothing is recorded of them any more.
    pub unrecorded: Vec<KernelId>,
}

impl Progress {
    pub fn count(&self) -> usize {
        let moved = self.in_step.len() + self.behind.len() + self.unrecorded.len();
        self.settled.len() + moved + self.recounted.len()
    }
}

/// Moves cursors (FAIR_SHARE §3). What is in step already moves with its group.
#[tracing::instrument(name = "db.kernels.advance", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn advance(db: &impl ConnectionTrait, group: &str, progress: &Progress, now: Timestamp) -> Result<()> {
    use kernel_cursor::Column as Cursor;
    close(db, group, &progress.settled).await?;
    let apart =
        |until: Option<i64>| vec![(Cursor::InStep, Expr::value(false)), (Cursor::RecordedUntil, Expr::value(until))];
    let moves = [
        (&progress.in_step, vec![(Cursor::InStep, Expr::value(true))]),
        (&progress.behind, apart(Some(now.micros()))),
        (&progress.unrecorded, apart(None)),
        (&progress.recounted, vec![(Cursor::AppliedChanges, Expr::value(None::<String>))]),
    ];
    for (ids, values) in moves {
        for part in ids.chunks(bulk::MOST_IDS) {
            let mut update = kernel_cursor::Entity::update_many().filter(cursors_of(db, group, part));
            for (column, value) in &values {
                update = update.col_expr(*column, value.clone());
            }
            update.exec(db).await?;
        }
    }
    Ok(())
}

/// What a list of kernels may ask for.
#[derive(Clone, Debug, Default)]
pub struct KernelFilter {
    pub user: Option<UserId>,
    pub project: Option<ProjectId>,
    pub domain: Option<String>,
    pub phase: Option<Phase>,
}

/// The ids of what runs or waits: it has a cursor, as there is something left to record. Kernels that ended are many more.
pub(super) fn open(group: &str) -> SelectStatement {
    Query::select()
        .column(kernel_cursor::Column::KernelId)
        .from(kernel_cursor::Entity)
        .and_where(kernel_cursor::Column::ResourceGroup.eq(group))
        .to_owned()
}

/// One page by kernel id after `after`, and how many match in all.
#[tracing::instrument(name = "db.kernels.page", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn page(
    db: &impl ConnectionTrait,
    group: &str,
    filter: &KernelFilter,
    after: Option<KernelId>,
    limit: u64,
) -> Result<(Vec<Kernel>, u64)> {
    let matching = Condition::all()
        .add(Column::ResourceGroup.eq(group))
        .add_option(filter.user.map(|u| Column::UserUuid.eq(u.0)))
        .add_option(filter.project.map(|p| Column::ProjectId.eq(p.0)))
        .add_option(filter.domain.as_ref().map(|d| Column::DomainName.eq(d)))
        .add_option(filter.phase.map(|p| Column::Status.eq(p.as_str())))
        .add_option((filter.phase == Some(Phase::Running)).then(|| Column::KernelId.in_subquery(open(group))));
    let total = Entity::find().filter(matching.clone()).count(db).await?;
    // Ids first: joined with their cursors, all kernels might be read for a page.
    let ids: Vec<Uuid> = Entity::find()
        .select_only()
        .column(Column::KernelId)
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

#[tracing::instrument(name = "db.kernels.find", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn find(db: &impl ConnectionTrait, group: &str, id: KernelId) -> Result<Option<Kernel>> {
    let found = fetch(db, Entity::find_by_id(id.0).filter(Column::ResourceGroup.eq(group))).await?;
    Ok(found.into_iter().next())
}
