//! Job runs: their time, their counts and their outcome.

use sea_orm::ActiveValue::{NotSet, Set};
use sea_orm::sea_query::{Condition, Expr};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::Value;
use uuid::Uuid;

use super::entity::job_run;
use super::key_list::{IdWindow, KeyPage};
use super::retention::remove_all;
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

#[tracing::instrument(name = "db.jobs.start", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn start(
    db: &impl ConnectionTrait,
    job: &str,
    group: Option<&str>,
    trigger: &str,
    holder: Uuid,
    now: Timestamp,
) -> Result<OpenRun> {
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
        holder: Set(Some(holder)),
    };
    Ok(OpenRun { id: row.insert(db).await?.id, holder })
}

/// The open record of a run.
#[derive(Clone, Copy, Debug)]
pub struct OpenRun {
    pub id: i64,
    /// The process that opened the record. Another process may have used the same id after the database was taken back to an
    /// earlier state.
    pub holder: Uuid,
}

/// Closes the record of a run, unless it was closed as abandoned.
#[tracing::instrument(name = "db.jobs.finish", level = "debug", skip_all, err(level = "debug"))]
pub async fn finish(
    db: &impl ConnectionTrait,
    run: OpenRun,
    status: &str,
    counts: &Value,
    error: Option<String>,
    now: Timestamp,
) -> Result<()> {
    job_run::Entity::update_many()
        .col_expr(job_run::Column::Status, Expr::value(status))
        .col_expr(job_run::Column::EndedAt, Expr::value(now.micros()))
        .col_expr(job_run::Column::Counts, Expr::value(counts.to_string()))
        .col_expr(job_run::Column::Error, Expr::value(error))
        .filter(job_run::Column::Id.eq(run.id))
        .filter(job_run::Column::Holder.eq(run.holder))
        .filter(is_open())
        .exec(db)
        .await?;
    Ok(())
}

#[tracing::instrument(name = "db.jobs.find", level = "debug", skip_all, err(level = "debug"))]
pub async fn find(db: &impl ConnectionTrait, id: i64) -> Result<Option<JobRun>> {
    job_run::Entity::find_by_id(id).one(db).await?.map(decode_row).transpose()
}

/// Runs whose record is open, with the process of each; `None`: the record is older than the registration of processes.
#[tracing::instrument(name = "db.jobs.open", level = "debug", skip_all, err(level = "debug"))]
pub async fn open(db: &impl ConnectionTrait) -> Result<Vec<(i64, Option<Uuid>)>> {
    let columns = [job_run::Column::Id, job_run::Column::Holder];
    let running = job_run::Entity::find().select_only().columns(columns).filter(is_open());
    Ok(running.into_tuple().all(db).await?)
}

/// Closes runs whose process is dead. Returns their number.
#[tracing::instrument(name = "db.jobs.abandon", level = "debug", skip_all, err(level = "debug"))]
pub async fn close_abandoned(db: &impl ConnectionTrait, ids: Vec<i64>, now: Timestamp) -> Result<u64> {
    abandon_where(db, job_run::Column::Id.is_in(ids).into(), now).await
}

/// Closes the open runs of a job and group; `None`: of a job of the server. The caller holds the lease, so no process continues them. Returns their number.
#[tracing::instrument(name = "db.jobs.abandon_open", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn abandon_open(db: &impl ConnectionTrait, job: &str, group: Option<&str>, now: Timestamp) -> Result<u64> {
    let group = match group {
        Some(group) => job_run::Column::ResourceGroup.eq(group),
        None => job_run::Column::ResourceGroup.is_null(),
    };
    let of = Condition::all().add(job_run::Column::Job.eq(job)).add(group);
    abandon_where(db, of, now).await
}

async fn abandon_where(db: &impl ConnectionTrait, which: Condition, now: Timestamp) -> Result<u64> {
    let done = job_run::Entity::update_many()
        .col_expr(job_run::Column::Status, Expr::value("abandoned"))
        .col_expr(job_run::Column::EndedAt, Expr::value(now.micros()))
        .col_expr(job_run::Column::Error, Expr::value("the process that ran the job is gone"))
        .filter(is_open())
        .filter(which)
        .exec(db)
        .await?;
    Ok(done.rows_affected)
}

/// Must repeat the condition of the index over open runs literally.
fn is_open() -> Expr {
    Expr::cust("status = 'running'")
}

/// The conditions of a list of runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunFilter<'a> {
    pub job: Option<&'a str>,
    pub group: Option<&'a str>,
    /// Only runs that have ended without success.
    pub failed: bool,
}

/// One page of runs, newest first.
#[tracing::instrument(name = "db.jobs.page", level = "debug", skip_all, err(level = "debug"))]
pub async fn page(
    db: &impl ConnectionTrait,
    groups: Option<&[String]>,
    filter: RunFilter<'_>,
    window: &IdWindow,
) -> Result<KeyPage<JobRun>> {
    let matching = of_groups(groups)
        .add_option(filter.job.map(|job| job_run::Column::Job.eq(job)))
        .add_option(filter.group.map(|group| job_run::Column::ResourceGroup.eq(group)))
        .add_option(filter.failed.then(|| job_run::Column::Status.is_not_in(["running", "succeeded"])));
    key_list::newest_first(db, job_run::Entity::find().filter(matching), job_run::Column::Id, window)
        .await?
        .try_map(decode_row)
}

/// Runs for these groups; `None`: all runs.
fn of_groups(groups: Option<&[String]>) -> Condition {
    Condition::all().add_option(groups.map(|names| job_run::Column::ResourceGroup.is_in(names)))
}

/// The runs for `groups` with these ids that exist.
#[tracing::instrument(name = "db.jobs.by_ids", level = "debug", skip_all, err(level = "debug"))]
pub async fn by_ids(
    db: &impl ConnectionTrait,
    groups: Option<&[String]>,
    ids: impl IntoIterator<Item = i64>,
) -> Result<Vec<JobRun>> {
    let rows = job_run::Entity::find().filter(job_run::Column::Id.is_in(ids)).filter(of_groups(groups)).all(db).await?;
    rows.into_iter().map(decode_row).collect()
}

/// The last run of each job and each of `groups`.
#[tracing::instrument(name = "db.jobs.last_runs", level = "debug", skip_all, err(level = "debug"))]
pub async fn last_runs(db: &impl ConnectionTrait, groups: Option<&[String]>) -> Result<Vec<JobRun>> {
    let newest: Vec<i64> = job_run::Entity::find()
        .filter(of_groups(groups))
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

#[tracing::instrument(name = "db.jobs.purge_runs", level = "debug", skip_all, err(level = "debug"))]
pub async fn purge_runs(db: &impl ConnectionTrait, before: Timestamp) -> Result<u64> {
    remove_all(db, job_run::Entity::find().filter(job_run::Column::StartedAt.lt(before.micros()))).await
}
