//! The times in which the service ran, and the gaps that downtime left (FAIR_SHARE §4).

use sea_orm::ActiveValue::{NotSet, Set};
use sea_orm::sea_query::Expr;
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder};

use super::entity::{service_run, usage_gap};
use super::key_list::{IdWindow, KeyPage};
use super::{Result, decode, key_list};
use crate::domain::slots::SlotUsages;
use crate::domain::time::{TimeSpan, Timestamp};

/// A start of the service, alive until `last_heartbeat_at` at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceRun {
    pub id: i64,
    pub started_at: Timestamp,
    pub last_heartbeat_at: Timestamp,
}

/// Notes a start of the service that is alive at `now`.
#[tracing::instrument(name = "db.runs.start", level = "debug", skip_all, err(level = "debug"))]
pub async fn start(db: &impl ConnectionTrait, started_at: Timestamp, now: Timestamp) -> Result<ServiceRun> {
    let row = service_run::ActiveModel {
        id: NotSet,
        started_at: Set(started_at.micros()),
        last_heartbeat_at: Set(now.micros()),
    };
    let row = row.insert(db).await?;
    Ok(ServiceRun { id: row.id, started_at, last_heartbeat_at: now })
}

/// Notes that the run is alive at `now`. Returns false if the stored row differs from `run`.
#[tracing::instrument(name = "db.runs.beat", level = "debug", skip_all, err(level = "debug"))]
pub async fn record_heartbeat(db: &impl ConnectionTrait, run: ServiceRun, now: Timestamp) -> Result<bool> {
    let beat = service_run::Entity::update_many()
        .col_expr(service_run::Column::LastHeartbeatAt, Expr::value(now.micros()))
        .filter(service_run::Column::LastHeartbeatAt.eq(run.last_heartbeat_at.micros()));
    Ok(of_run(beat, run).exec(db).await?.rows_affected > 0)
}

/// The stored time of the last heartbeat; `None`: the run is not stored.
#[tracing::instrument(name = "db.runs.last_heartbeat", level = "debug", skip_all, err(level = "debug"))]
pub async fn last_heartbeat(db: &impl ConnectionTrait, run: ServiceRun) -> Result<Option<Timestamp>> {
    let row = of_run(service_run::Entity::find(), run).one(db).await?;
    Ok(row.map(|row| Timestamp::from_micros(row.last_heartbeat_at)))
}

/// Compares the start too, because another run may have the id of one that was lost.
fn of_run<Q: QueryFilter>(query: Q, run: ServiceRun) -> Q {
    let started = service_run::Column::StartedAt.eq(run.started_at.micros());
    query.filter(service_run::Column::Id.eq(run.id)).filter(started)
}

/// Cuts runs off at `now`, because later times came from a clock that was ahead.
#[tracing::instrument(name = "db.runs.cut", level = "debug", skip_all, err(level = "debug"))]
pub async fn cut_off_runs(db: &impl ConnectionTrait, now: Timestamp) -> Result<()> {
    service_run::Entity::delete_many().filter(service_run::Column::StartedAt.gt(now.micros())).exec(db).await?;
    service_run::Entity::update_many()
        .col_expr(service_run::Column::LastHeartbeatAt, Expr::value(now.micros()))
        .filter(service_run::Column::LastHeartbeatAt.gt(now.micros()))
        .exec(db)
        .await?;
    Ok(())
}

/// Removes runs that ended before `before`. The last of them stays, because the downtime after it may extend beyond
/// `before`.
#[tracing::instrument(name = "db.runs.purge", level = "debug", skip_all, err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, before: Timestamp) -> Result<u64> {
    let ended = || service_run::Column::LastHeartbeatAt.lt(before.micros());
    let last = service_run::Entity::find()
        .filter(ended())
        .order_by_desc(service_run::Column::LastHeartbeatAt)
        .order_by_desc(service_run::Column::Id)
        .one(db)
        .await?;
    let Some(last) = last else { return Ok(0) };
    let old = service_run::Entity::delete_many().filter(ended()).filter(service_run::Column::Id.ne(last.id));
    Ok(old.exec(db).await?.rows_affected)
}

/// All runs by start.
#[tracing::instrument(name = "db.runs.list", level = "debug", skip_all, err(level = "debug"))]
pub async fn list(db: &impl ConnectionTrait) -> Result<Vec<ServiceRun>> {
    let rows = service_run::Entity::find()
        .order_by_asc(service_run::Column::StartedAt)
        .order_by_asc(service_run::Column::Id)
        .all(db)
        .await?;
    Ok(rows
        .into_iter()
        .map(|row| ServiceRun {
            id: row.id,
            started_at: Timestamp::from_micros(row.started_at),
            last_heartbeat_at: Timestamp::from_micros(row.last_heartbeat_at),
        })
        .collect())
}

/// A downtime that kernels spanned, and its treatment.
#[derive(Clone, Debug, PartialEq)]
pub struct DowntimeGap {
    pub id: i64,
    pub downtime: TimeSpan,
    pub handled_at: Timestamp,
    pub policy: String,
    pub kernels: u64,
    /// Slot-seconds recorded and dropped within the downtime, for the kernels that it affected.
    pub recorded_usage: SlotUsages,
    pub dropped_usage: SlotUsages,
}

#[tracing::instrument(name = "db.runs.add_gap", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn add_gap(db: &impl ConnectionTrait, group: &str, gap: &DowntimeGap) -> Result<()> {
    let row = usage_gap::ActiveModel {
        id: NotSet,
        resource_group: Set(group.to_owned()),
        started_at: Set(gap.downtime.start.micros()),
        ended_at: Set(gap.downtime.end.micros()),
        handled_at: Set(gap.handled_at.micros()),
        policy: Set(gap.policy.clone()),
        kernels: Set(gap.kernels.cast_signed()),
        recorded_usage: Set(gap.recorded_usage.to_json()),
        dropped_usage: Set(gap.dropped_usage.to_json()),
    };
    usage_gap::Entity::insert(row).exec_without_returning(db).await?;
    Ok(())
}

/// Removes gaps that were handled after `limit`.
#[tracing::instrument(
    name = "db.runs.forget_gaps_after",
    level = "debug",
    skip_all,
    fields(group),
    err(level = "debug")
)]
pub async fn forget_gaps_after(db: &impl ConnectionTrait, group: &str, limit: Timestamp) -> Result<()> {
    let of_group = usage_gap::Entity::delete_many().filter(usage_gap::Column::ResourceGroup.eq(group));
    of_group.filter(usage_gap::Column::HandledAt.gt(limit.micros())).exec(db).await?;
    Ok(())
}

/// One page of gaps, newest first.
#[tracing::instrument(name = "db.runs.gaps", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn load_gaps(db: &impl ConnectionTrait, group: &str, window: &IdWindow) -> Result<KeyPage<DowntimeGap>> {
    let of_group = usage_gap::Entity::find().filter(usage_gap::Column::ResourceGroup.eq(group));
    key_list::newest_first(db, of_group, usage_gap::Column::Id, window).await?.try_map(|row| {
        let span =
            TimeSpan { start: Timestamp::from_micros(row.started_at), end: Timestamp::from_micros(row.ended_at) };
        Ok(DowntimeGap {
            id: row.id,
            downtime: span,
            handled_at: Timestamp::from_micros(row.handled_at),
            policy: row.policy,
            kernels: u64::try_from(row.kernels).unwrap_or(0),
            recorded_usage: decode::slots(&row.recorded_usage)?,
            dropped_usage: decode::slots(&row.dropped_usage)?,
        })
    })
}
