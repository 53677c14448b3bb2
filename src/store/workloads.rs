//! Kernels that have ended, by the workload that they belong to: the gang, or the session where there is no gang.

use sea_orm::sea_query::{Condition, Expr, ExprTrait, Query, SimpleExpr};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, Select,
};
use uuid::Uuid;

use super::decode::SlotDecoder;
use super::entity::kernel::{Column, Entity};
use super::entity::queue;
use super::kernel_keys::of_group;
use super::live_kernels::live_kernel;
use super::{Result, bulk};
use crate::domain::ids::{GroupKey, KernelKey, ProjectId, UserId};
use crate::domain::time::Timestamp;
use crate::domain::workloads::WorkloadMember;

/// The session, and the user, of a kernel without a gang; NULL for a kernel of a gang.
const SESSION: &str = "CASE WHEN kernels.gang_id IS NULL THEN kernels.session_id END";
const USER: &str = "CASE WHEN kernels.gang_id IS NULL THEN kernels.user_uuid END";

/// A workload of which all kernels have ended.
#[derive(Clone, Debug)]
pub struct EndedWorkload {
    pub gang: Option<String>,
    /// The session, if there is no gang.
    pub session: Option<Uuid>,
    /// The user of the session, if there is no gang.
    pub user: Option<UserId>,
    pub ended_at: Timestamp,
    /// The first key of its kernels.
    pub first: KernelKey,
}

/// The kernels of a queue: those that name it, and those of projects that name no queue.
#[derive(Clone, Debug)]
pub struct QueueCondition {
    pub group: String,
    pub queue: String,
    /// The projects whose kernels count for the queue if they name none.
    pub projects: Vec<ProjectId>,
}

/// The conditions of a list of ended workloads.
#[derive(Clone, Debug, Default)]
pub struct EndedFilter {
    pub user: Option<UserId>,
    pub project: Option<ProjectId>,
    /// The projects of the wanted domain.
    pub projects_of_domain: Option<Vec<ProjectId>>,
    pub queue: Option<QueueCondition>,
}

impl EndedFilter {
    fn condition(&self, db: &impl ConnectionTrait) -> Condition {
        let one_of_projects =
            |projects: &[ProjectId]| bulk::one_of(db, Column::ProjectId, projects.iter().map(|id| id.0));
        let of_queue = |of: &QueueCondition| {
            let configured = Query::select()
                .column(queue::Column::Name)
                .from(queue::Entity)
                .and_where(queue::Column::ResourceGroup.eq(&of.group))
                .to_owned();
            let names_none =
                Condition::any().add(Column::Queue.is_null()).add(Column::Queue.not_in_subquery(configured));
            let by_project = Condition::all().add(names_none).add(one_of_projects(&of.projects));
            Condition::any().add(Column::Queue.eq(&of.queue)).add(by_project)
        };
        Condition::all()
            .add_option(self.user.map(|user| Column::UserUuid.eq(user.0)))
            .add_option(self.project.map(|project| Column::ProjectId.eq(project.0)))
            .add_option(self.projects_of_domain.as_ref().map(|projects| one_of_projects(projects)))
            .add_option(self.queue.as_ref().map(of_queue))
    }
}

/// The next workloads of which all kernels have ended, the last to end first, after the end and the first key of `after`; and
/// the number of all of them.
#[tracing::instrument(name = "db.workloads.ended_page", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn ended_page(
    db: &impl ConnectionTrait,
    group: GroupKey,
    filter: &EndedFilter,
    after: Option<(Timestamp, KernelKey)>,
    limit: u64,
) -> Result<(Vec<EndedWorkload>, u64)> {
    let (end, first): (SimpleExpr, SimpleExpr) = (Column::TerminatedAt.max(), Column::KernelKey.min());
    let ended = Entity::find()
        .select_only()
        .column(Column::GangId)
        .column_as(Expr::cust(SESSION), "session")
        .column_as(Expr::cust(USER), "owner")
        .column_as(end.clone(), "ended_at")
        .column_as(first.clone(), "first_key")
        .filter(of_group(Column::KernelKey, group))
        .filter(filter.condition(db))
        .group_by(Column::GangId)
        .group_by(Expr::cust(SESSION))
        .group_by(Expr::cust(USER))
        .having(Expr::cust("COUNT(*) = COUNT(kernels.terminated_at)"));
    let total = ended.clone().count(db).await?;
    let behind = |(at, key): (Timestamp, KernelKey)| {
        let same = Condition::all().add(end.clone().eq(at.micros())).add(first.clone().gt(key.0));
        Condition::any().add(end.clone().lt(at.micros())).add(same)
    };
    let page = match after {
        Some(after) => ended.having(behind(after)),
        None => ended,
    };
    let rows: Vec<EndedRow> =
        page.order_by_desc(end.clone()).order_by_asc(first.clone()).limit(limit).into_tuple().all(db).await?;
    let workload = |(gang, session, user, ended_at, first): (_, _, Option<Uuid>, _, _)| EndedWorkload {
        gang,
        session,
        user: user.map(UserId),
        ended_at: Timestamp::from_micros(ended_at),
        first: KernelKey(first),
    };
    Ok((rows.into_iter().map(workload).collect(), total))
}

/// The gang, or the session and user; then the end of its last kernel, and the key of its first one.
type EndedRow = (Option<String>, Option<Uuid>, Option<Uuid>, i64, i64);

/// Ended kernels of gangs.
fn of_gangs(group: GroupKey, gangs: &[&str]) -> Select<Entity> {
    Entity::find()
        .filter(Column::GroupKey.eq(group.0))
        .filter(Column::GangId.is_in(gangs.iter().copied()))
        .filter(Column::TerminatedAt.is_not_null())
}

/// Ended kernels of sessions, without those of gangs. With `users`, only their kernels are looked at.
fn of_sessions(group: GroupKey, users: Option<&[UserId]>, sessions: &[Uuid]) -> Select<Entity> {
    let of_users = users.map(|users| {
        let owner = Column::UserUuid.is_in(users.iter().map(|user| user.0));
        Condition::all().add(Column::GroupKey.eq(group.0)).add(owner)
    });
    Entity::find()
        .filter(of_users.unwrap_or_else(|| of_group(Column::KernelKey, group)))
        .filter(Column::SessionId.is_in(sessions.iter().copied()))
        .filter(Column::GangId.is_null())
        .filter(Column::TerminatedAt.is_not_null())
}

/// The numbers of ended kernels of gangs, where there are any.
#[tracing::instrument(name = "db.workloads.count_of_gangs", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn count_of_gangs(db: &impl ConnectionTrait, group: GroupKey, gangs: &[&str]) -> Result<Vec<(String, u64)>> {
    let counted = of_gangs(group, gangs).select_only().column(Column::GangId);
    let rows: Vec<(String, i64)> =
        counted.column_as(Column::KernelKey.count(), "kernels").group_by(Column::GangId).into_tuple().all(db).await?;
    Ok(rows.into_iter().map(|(gang, count)| (gang, count.unsigned_abs())).collect())
}

/// The numbers of ended kernels of sessions of these users, where there are any.
#[tracing::instrument(name = "db.workloads.count_of_sessions", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn count_of_sessions(
    db: &impl ConnectionTrait,
    group: GroupKey,
    users: &[UserId],
    sessions: &[Uuid],
) -> Result<Vec<(Uuid, u64)>> {
    let counted = of_sessions(group, Some(users), sessions).select_only().column(Column::SessionId);
    let rows: Vec<(Uuid, i64)> = counted
        .column_as(Column::KernelKey.count(), "kernels")
        .group_by(Column::SessionId)
        .into_tuple()
        .all(db)
        .await?;
    Ok(rows.into_iter().map(|(session, count)| (session, count.unsigned_abs())).collect())
}

/// The ended kernels of gangs.
#[tracing::instrument(name = "db.workloads.members_of_gangs", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn members_of_gangs(
    db: &impl ConnectionTrait,
    group: GroupKey,
    gangs: &[&str],
) -> Result<Vec<WorkloadMember>> {
    members(db, of_gangs(group, gangs)).await
}

/// The ended kernels of sessions that belong to no gang. With `users`, only their kernels are looked at.
#[tracing::instrument(name = "db.workloads.members_of_sessions", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn members_of_sessions(
    db: &impl ConnectionTrait,
    group: GroupKey,
    users: Option<&[UserId]>,
    sessions: &[Uuid],
) -> Result<Vec<WorkloadMember>> {
    members(db, of_sessions(group, users, sessions)).await
}

/// The last kernels to end, at most `most`, of those that have started and ended at `since` or later; the last one first.
#[tracing::instrument(name = "db.workloads.last_ended", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn last_ended(
    db: &impl ConnectionTrait,
    group: GroupKey,
    since: Timestamp,
    most: u64,
) -> Result<Vec<WorkloadMember>> {
    let ended = Entity::find()
        .filter(of_group(Column::KernelKey, group))
        .filter(Column::TerminatedAt.gte(since.micros()))
        .filter(Column::StartedAt.is_not_null());
    members(db, ended.order_by_desc(Column::TerminatedAt).order_by_asc(Column::KernelKey).limit(most)).await
}

async fn members(db: &impl ConnectionTrait, query: Select<Entity>) -> Result<Vec<WorkloadMember>> {
    let mut slots = SlotDecoder::new();
    let member = |row: super::entity::kernel::Model| {
        let ended_at = row.terminated_at.map(Timestamp::from_micros);
        Ok(WorkloadMember { kernel: live_kernel(row, &mut slots)?.into(), ended_at })
    };
    query.all(db).await?.into_iter().map(member).collect()
}
