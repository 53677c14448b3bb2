//! Kernels with their accounting cursors.

use std::collections::BTreeMap;
use std::sync::Arc;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Condition, Expr, ExprTrait, OnConflict};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, Select,
};
use uuid::Uuid;

use super::decode::SlotDecoder;
use super::entity::kernel::{ActiveModel, Column, Entity, Model};
use super::{Result, StoreError, bulk};
use crate::domain::decimal::Amount;
use crate::domain::ids::{KernelId, Member, ProjectId, SessionId, UserId};
use crate::domain::kernel::{Kernel, Phase, Report, Traits, Unsettled};
use crate::domain::time::Timestamp;

/// Rows that one statement reads.
const PAGE: u64 = 20_000;

pub(super) fn phase(status: &str) -> Result<Phase> {
    Phase::parse(status).ok_or_else(|| StoreError::Damaged(format!("kernel status {status}")))
}

fn decode(row: Model, slots: &mut SlotDecoder<Amount>) -> Result<Kernel> {
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
    Ok(Kernel { report, cursor: row.last_usage_recorded_at.map(Timestamp::from_micros), settled: row.settled })
}

async fn fetch(db: &impl ConnectionTrait, query: Select<Entity>) -> Result<Vec<Kernel>> {
    let mut slots = SlotDecoder::new();
    query.all(db).await?.into_iter().map(|row| decode(row, &mut slots)).collect()
}

/// Those of `ids` that are known, with the group each is in.
pub async fn find_many(db: &impl ConnectionTrait, ids: &[KernelId]) -> Result<Vec<(String, Kernel)>> {
    let mut slots = SlotDecoder::new();
    let mut found = Vec::new();
    for part in ids.chunks(30_000) {
        for row in Entity::find().filter(Column::KernelId.is_in(part.iter().map(|k| k.0))).all(db).await? {
            found.push((row.resource_group.clone(), decode(row, &mut slots)?));
        }
    }
    Ok(found)
}

/// Stores kernels of the group. Returns how many were stored: one that another group has stays as it is.
pub async fn upsert<'a>(
    db: &impl ConnectionTrait,
    group: &str,
    kernels: impl Iterator<Item = &'a Kernel>,
) -> Result<u64> {
    let rows = kernels.map(|kernel| {
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
            last_usage_recorded_at: Set(kernel.cursor.map(Timestamp::micros)),
            settled: Set(kernel.settled),
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
        Column::Settled,
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
    bulk::insert(db, rows.collect(), Some(replace)).await
}

/// The group's kernels whose last slice is not recorded yet.
pub async fn unsettled(db: &impl ConnectionTrait, group: &str) -> Result<BTreeMap<KernelId, Unsettled>> {
    type Row = (Uuid, Uuid, Uuid, Uuid, String, String, String, i64, Option<i64>, Option<i64>);
    let mut found = BTreeMap::new();
    let mut slots = SlotDecoder::new();
    let mut domains: hashbrown::HashSet<Arc<str>> = hashbrown::HashSet::new();
    loop {
        let after = found.last_key_value().map(|(id, _): (&KernelId, _)| Column::KernelId.gt(id.0));
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
                Column::LastUsageRecordedAt,
            ])
            .filter(Column::ResourceGroup.eq(group))
            // Spelled as in the partial index, or the index does not serve.
            .filter(Expr::cust("NOT settled"))
            .filter(Column::StartedAt.is_not_null())
            .filter(Condition::all().add_option(after))
            .order_by_asc(Column::KernelId)
            .limit(PAGE)
            .into_tuple()
            .all(db)
            .await?;
        if rows.is_empty() {
            return Ok(found);
        }
        for (id, session, user, project, domain, occupied, status, started_at, terminated_at, cursor) in rows {
            let kernel = Unsettled {
                id: KernelId(id),
                session: SessionId(session),
                owner: Member { user: UserId(user), project: ProjectId(project) },
                domain: Arc::clone(domains.get_or_insert_with(domain.as_str(), |d| Arc::from(d))),
                slots: (*slots.decode(&occupied)?).clone(),
                phase: phase(&status)?,
                started_at: Timestamp::from_micros(started_at),
                terminated_at: terminated_at.map(Timestamp::from_micros),
                cursor: cursor.map(Timestamp::from_micros),
            };
            found.insert(kernel.id, kernel);
        }
    }
}

/// Moves every cursor of the group to where a run at `now` leaves it (§3): set-based, the rule is that of
/// `domain::slice::plan` and [`Unsettled::advance`].
pub async fn advance_cursors(db: &impl ConnectionTrait, group: &str, now: Timestamp) -> Result<()> {
    let unsettled = || Condition::all().add(Column::ResourceGroup.eq(group)).add(Expr::cust("NOT settled"));
    let cursor = || Expr::cust("COALESCE(last_usage_recorded_at, started_at)");
    let still_running = Condition::any().add(Column::TerminatedAt.is_null()).add(Column::TerminatedAt.gt(now.micros()));
    Entity::update_many()
        .col_expr(Column::LastUsageRecordedAt, Expr::value(now.micros()))
        .filter(unsettled().add(Column::StartedAt.is_not_null()).add(still_running).add(cursor().lt(now.micros())))
        .exec(db)
        .await?;
    Entity::update_many()
        .col_expr(Column::LastUsageRecordedAt, Expr::col(Column::TerminatedAt))
        .col_expr(Column::Settled, Expr::value(true))
        .filter(unsettled().add(Column::TerminatedAt.lte(now.micros())))
        .exec(db)
        .await?;
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

/// One page by kernel id after `after`, and how many match in all.
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
        .add_option(filter.phase.map(|p| Column::Status.eq(p.as_str())));
    let total = Entity::find().filter(matching.clone()).count(db).await?;
    let query = Entity::find()
        .filter(matching)
        .filter(Condition::all().add_option(after.map(|a| Column::KernelId.gt(a.0))))
        .order_by_asc(Column::KernelId)
        .limit(limit);
    Ok((fetch(db, query).await?, total))
}

pub async fn find(db: &impl ConnectionTrait, group: &str, id: KernelId) -> Result<Option<Kernel>> {
    let found = fetch(db, Entity::find_by_id(id.0).filter(Column::ResourceGroup.eq(group))).await?;
    Ok(found.into_iter().next())
}
