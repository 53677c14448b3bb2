//! Job runs and the leases that keep two instances from running one job at once.

use sea_orm::ActiveValue::{NotSet, Set, Unchanged};
use sea_orm::sea_query::{Condition, Expr, ExprTrait, OnConflict};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::Value;
use uuid::Uuid;

use super::entity::{job_lease, job_run};
use super::key_list::{IdWindow, KeyPage};
use super::{Result, decode, key_list};
use crate::domain::time::Timestamp;

/// One run of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRun {
    pub id: i64,
    pub job: String,
    pub resource_group: Option<String>,
    pub trigger: String,
    /// `running`, `succeeded`, `failed`, `panicked` or `abandoned`.
    pub status: String,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub counts: Value,
    pub error: Option<String>,
}

fn decode_row(row: job_run::Model) -> Result<JobRun> {
    Ok(JobRun {
        counts: decode::json(&row.counts)?,
        id: row.id,
        job: row.job,
        resource_group: row.resource_group,
        trigger: row.trigger,
        status: row.status,
        started_at: Timestamp::from_micros(row.started_at),
        ended_at: row.ended_at.map(Timestamp::from_micros),
        error: row.error,
    })
}

pub async fn start(
    db: &impl ConnectionTrait,
    job: &str,
    group: Option<&str>,
    trigger: &str,
    now: Timestamp,
) -> Result<i64> {
    let row = job_run::ActiveModel {
        id: NotSet,
        job: Set(job.to_owned()),
        resource_group: Set(group.map(str::to_owned)),
        trigger: Set(trigger.to_owned()),
        status: Set("running".to_owned()),
        started_at: Set(now.micros()),
        ended_at: Set(None),
        counts: Set("{}".to_owned()),
        error: Set(None),
    };
    Ok(row.insert(db).await?.id)
}

pub async fn finish(
    db: &impl ConnectionTrait,
    id: i64,
    status: &str,
    counts: &Value,
    error: Option<String>,
    now: Timestamp,
) -> Result<()> {
    let row = job_run::ActiveModel {
        id: Unchanged(id),
        status: Set(status.to_owned()),
        ended_at: Set(Some(now.micros())),
        counts: Set(counts.to_string()),
        error: Set(error),
        ..Default::default()
    };
    row.update(db).await?;
    Ok(())
}

pub async fn find(db: &impl ConnectionTrait, id: i64) -> Result<Option<JobRun>> {
    job_run::Entity::find_by_id(id).one(db).await?.map(decode_row).transpose()
}

/// Closes runs of a job and group that a process which is gone left open: whoever holds the lease
/// knows that there is no other. Returns how many.
pub async fn abandon_open(db: &impl ConnectionTrait, job: &str, group: &str, now: Timestamp) -> Result<u64> {
    let done = job_run::Entity::update_many()
        .col_expr(job_run::Column::Status, Expr::value("abandoned"))
        .col_expr(job_run::Column::EndedAt, Expr::value(now.micros()))
        .filter(job_run::Column::Status.eq("running"))
        .filter(job_run::Column::Job.eq(job))
        .filter(job_run::Column::ResourceGroup.eq(group))
        .exec(db)
        .await?;
    Ok(done.rows_affected)
}

/// One page of runs, newest first.
pub async fn page(db: &impl ConnectionTrait, job: Option<&str>, window: &IdWindow) -> Result<KeyPage<JobRun>> {
    let matching = Condition::all().add_option(job.map(|j| job_run::Column::Job.eq(j)));
    key_list::newest_first(db, job_run::Entity::find().filter(matching), job_run::Column::Id, window)
        .await?
        .try_map(decode_row)
}

/// The runs with these ids, as far as they are there.
pub async fn by_ids(db: &impl ConnectionTrait, ids: impl IntoIterator<Item = i64>) -> Result<Vec<JobRun>> {
    let rows = job_run::Entity::find().filter(job_run::Column::Id.is_in(ids)).all(db).await?;
    rows.into_iter().map(decode_row).collect()
}

/// The last run of each job and group.
pub async fn last_runs(db: &impl ConnectionTrait) -> Result<Vec<JobRun>> {
    let newest: Vec<i64> = job_run::Entity::find()
        .select_only()
        .column_as(job_run::Column::Id.max(), "id")
        .group_by(job_run::Column::Job)
        .group_by(job_run::Column::ResourceGroup)
        .into_tuple()
        .all(db)
        .await?;
    let rows = job_run::Entity::find()
        .filter(job_run::Column::Id.is_in(newest))
        .order_by_asc(job_run::Column::Job)
        .all(db)
        .await?;
    rows.into_iter().map(decode_row).collect()
}

pub async fn purge_runs(db: &impl ConnectionTrait, before: Timestamp) -> Result<u64> {
    let old = job_run::Entity::delete_many().filter(job_run::Column::StartedAt.lt(before.micros()));
    Ok(old.exec(db).await?.rows_affected)
}

/// Takes or renews the lease `name` until `expires_at`, unless another holder's is still good at `now`.
pub async fn acquire_lease(
    db: &impl ConnectionTrait,
    name: &str,
    holder: Uuid,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<bool> {
    use job_lease::Column;
    let row = job_lease::ActiveModel {
        name: Set(name.to_owned()),
        holder: Set(holder),
        fence: Set(1),
        expires_at: Set(expires_at.micros()),
    };
    let free = Condition::any()
        .add(Expr::col((job_lease::Entity, Column::Holder)).eq(holder))
        .add(Expr::col((job_lease::Entity, Column::ExpiresAt)).lte(now.micros()));
    let mut take = OnConflict::column(Column::Name);
    take.update_columns([Column::Holder, Column::ExpiresAt])
        .value(Column::Fence, Expr::cust("job_leases.fence + 1"))
        .action_cond_where(free);
    let done = job_lease::Entity::insert(row).on_conflict(take).exec_without_returning(db).await?;
    Ok(done > 0)
}

pub async fn release_lease(db: &impl ConnectionTrait, name: &str, holder: Uuid) -> Result<()> {
    job_lease::Entity::update_many()
        .col_expr(job_lease::Column::ExpiresAt, Expr::value(0))
        .filter(job_lease::Column::Name.eq(name))
        .filter(job_lease::Column::Holder.eq(holder))
        .exec(db)
        .await?;
    Ok(())
}
