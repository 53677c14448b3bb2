//! Resource groups, their options and their revisions.

use std::collections::BTreeMap;

use sea_orm::ActiveValue::{NotSet, Set, Unchanged};
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder};
use serde_json::{Map, Value};

use super::entity::resource_group::{ActiveModel, Column, Entity, Model};
use super::{Result, decode};
use crate::domain::kernel::Phase;
use crate::domain::time::{Day, Timestamp};

/// A resource group as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub name: String,
    pub scheduler: String,
    /// What an admin set; defaults are not in it.
    pub scheduler_opts: Map<String, Value>,
    /// Grows with every change of shares, options, capacities or names.
    pub shares_revision: i64,
    /// Grows with every write of the group.
    pub kernels_revision: i64,
    /// Grows with every change of the queues.
    pub queues_revision: i64,
    /// Until when the group's capacity has been observed.
    pub capacity_observed_at: Option<Timestamp>,
    /// Until when usage is recorded of every kernel that is in step with the group's runs.
    pub recorded_until: Option<Timestamp>,
    /// When the last snapshot of what runs was taken.
    pub snapshot_at: Option<Timestamp>,
    /// When reports last came in, to a few minutes.
    pub reported_at: Option<Timestamp>,
    /// Records of earlier days were purged.
    pub records_from: Option<Day>,
    pub calculated_at: Option<Timestamp>,
    /// The options of the last calculation, as JSON.
    pub calculated_with: Option<Map<String, Value>>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl TryFrom<Model> for Group {
    type Error = super::StoreError;
    fn try_from(row: Model) -> Result<Self> {
        Ok(Self {
            scheduler_opts: decode::json(&row.scheduler_opts)?,
            calculated_with: row.calculated_with.as_deref().map(decode::json).transpose()?,
            name: row.name,
            scheduler: row.scheduler,
            shares_revision: row.shares_revision,
            kernels_revision: row.kernels_revision,
            queues_revision: row.queues_revision,
            capacity_observed_at: row.capacity_observed_at.map(Timestamp::from_micros),
            recorded_until: row.recorded_until.map(Timestamp::from_micros),
            snapshot_at: row.snapshot_at.map(Timestamp::from_micros),
            reported_at: row.reported_at.map(Timestamp::from_micros),
            records_from: row.records_from_day.map(Day),
            calculated_at: row.calculated_at.map(Timestamp::from_micros),
            created_at: Timestamp::from_micros(row.created_at),
            updated_at: Timestamp::from_micros(row.updated_at),
        })
    }
}

pub async fn list(db: &impl ConnectionTrait) -> Result<Vec<Group>> {
    Entity::find().order_by_asc(Column::Name).all(db).await?.into_iter().map(Group::try_from).collect()
}

pub async fn find(db: &impl ConnectionTrait, name: &str) -> Result<Option<Group>> {
    Entity::find_by_id(name.to_owned()).one(db).await?.map(Group::try_from).transpose()
}

/// Takes the group's write lock for the transaction: writers of one group run one after the other.
/// Returns `None` for an unknown group.
pub async fn lock(db: &impl ConnectionTrait, name: &str) -> Result<Option<Group>> {
    lock_and_note(db, name, None).await
}

/// Takes the lock for reports that come in at `reported_at`, if that is what the transaction is for.
pub async fn lock_and_note(
    db: &impl ConnectionTrait,
    name: &str,
    reported_at: Option<Timestamp>,
) -> Result<Option<Group>> {
    let mut update = Entity::update_many().col_expr(Column::KernelsRevision, Expr::col(Column::KernelsRevision).add(1));
    if let Some(at) = reported_at {
        update = update.col_expr(Column::ReportedAt, Expr::value(at.micros()));
    }
    update.filter(Column::Name.eq(name)).exec(db).await?;
    find(db, name).await
}

/// Notes when the last snapshot was taken.
pub async fn set_snapshot_at(db: &impl ConnectionTrait, name: &str, taken_at: Timestamp) -> Result<()> {
    let note = Entity::update_many().col_expr(Column::SnapshotAt, Expr::value(taken_at.micros()));
    note.filter(Column::Name.eq(name)).exec(db).await?;
    Ok(())
}

/// Creates the group unless there is one. Returns whether it is new.
pub async fn create(
    db: &impl ConnectionTrait,
    name: &str,
    scheduler: &str,
    opts: &Map<String, Value>,
    now: Timestamp,
) -> Result<bool> {
    let row = ActiveModel {
        name: Set(name.to_owned()),
        scheduler: Set(scheduler.to_owned()),
        scheduler_opts: Set(Value::Object(opts.clone()).to_string()),
        shares_revision: Set(1),
        kernels_revision: Set(1),
        queues_revision: Set(0),
        capacity_observed_at: Set(None),
        recorded_until: Set(None),
        snapshot_at: Set(None),
        reported_at: Set(None),
        records_from_day: Set(None),
        calculated_at: Set(None),
        calculated_with: Set(None),
        created_at: Set(now.micros()),
        updated_at: Set(now.micros()),
    };
    let keep = OnConflict::column(Column::Name).do_nothing().to_owned();
    let created = Entity::insert(row).on_conflict(keep).exec_without_returning(db).await?;
    Ok(created > 0)
}

/// What a write of the group may change in its row; `None` leaves a value as it is.
#[derive(Clone, Debug, Default)]
pub struct Update {
    pub scheduler: Option<String>,
    pub scheduler_opts: Option<Map<String, Value>>,
    pub capacity_observed_at: Option<Timestamp>,
    pub recorded_until: Option<Timestamp>,
    pub records_from: Option<Day>,
    pub calculated: Option<(Timestamp, Map<String, Value>)>,
}

/// Stores `update` and moves the group to `shares_revision`.
pub async fn update(
    db: &impl ConnectionTrait,
    name: &str,
    update: Update,
    shares_revision: i64,
    now: Timestamp,
) -> Result<()> {
    let object = |map: Map<String, Value>| Value::Object(map).to_string();
    let (calculated_at, calculated_with) = match update.calculated {
        Some((at, with)) => (Set(Some(at.micros())), Set(Some(object(with)))),
        None => (NotSet, NotSet),
    };
    let row = ActiveModel {
        name: Unchanged(name.to_owned()),
        scheduler: update.scheduler.map_or(NotSet, Set),
        scheduler_opts: update.scheduler_opts.map_or(NotSet, |o| Set(object(o))),
        shares_revision: Set(shares_revision),
        kernels_revision: NotSet,
        queues_revision: NotSet,
        capacity_observed_at: update.capacity_observed_at.map_or(NotSet, |t| Set(Some(t.micros()))),
        recorded_until: update.recorded_until.map_or(NotSet, |t| Set(Some(t.micros()))),
        snapshot_at: NotSet,
        reported_at: NotSet,
        records_from_day: update.records_from.map_or(NotSet, |d| Set(Some(d.0))),
        calculated_at,
        calculated_with,
        created_at: NotSet,
        updated_at: Set(now.micros()),
    };
    row.update(db).await?;
    Ok(())
}

/// Keeps the group from being deleted until the transaction ends. Returns whether it is there.
pub async fn hold(db: &impl ConnectionTrait, name: &str) -> Result<bool> {
    let held = Entity::update_many()
        .col_expr(Column::Name, Expr::col(Column::Name))
        .filter(Column::Name.eq(name))
        .exec(db)
        .await?;
    Ok(held.rows_affected > 0)
}

/// Notes that the queues of the group are those of `revision`.
pub async fn set_queues_revision(db: &impl ConnectionTrait, name: &str, revision: i64, now: Timestamp) -> Result<()> {
    Entity::update_many()
        .col_expr(Column::QueuesRevision, Expr::value(revision))
        .col_expr(Column::UpdatedAt, Expr::value(now.micros()))
        .filter(Column::Name.eq(name))
        .exec(db)
        .await?;
    Ok(())
}

/// What would be lost with a group and cannot be had again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    pub kernels: u64,
    /// Those of `kernels` that run.
    pub running: u64,
    pub usage_records: u64,
    /// Of all three tiers.
    pub usage_buckets: u64,
}

pub async fn contents(db: &impl ConnectionTrait, name: &str) -> Result<Contents> {
    use super::entity as e;
    macro_rules! rows {
        ($table:ident) => {
            e::$table::Entity::find().filter(e::$table::Column::ResourceGroup.eq(name))
        };
    }
    let running = rows!(kernel).filter(e::kernel::Column::Status.eq(Phase::Running.as_str()));
    Ok(Contents {
        kernels: rows!(kernel).count(db).await?,
        running: running.count(db).await?,
        usage_records: rows!(usage_record).count(db).await?,
        usage_buckets: rows!(domain_usage_bucket).count(db).await?
            + rows!(project_usage_bucket).count(db).await?
            + rows!(user_usage_bucket).count(db).await?,
    })
}

/// Removes the group with its agents, capacities, kernels, records, buckets, shares and queues. Returns how many rows
/// of each kind that were, without those kinds of which there were none.
pub async fn delete(db: &impl ConnectionTrait, name: &str) -> Result<BTreeMap<&'static str, u64>> {
    use super::entity as e;
    let mut gone = BTreeMap::new();
    macro_rules! clear {
        ($($table:ident: $kind:literal)*) => {$(
            let table = e::$table::Entity::delete_many().filter(e::$table::Column::ResourceGroup.eq(name));
            *gone.entry($kind).or_default() += table.exec(db).await?.rows_affected;
        )*};
    }
    clear!(agent: "agents" capacity_day: "capacity_days" kernel: "kernels" usage_record: "usage_records");
    clear!(usage_gap: "usage_gaps" queue: "queues" division_day: "division_days");
    clear!(domain_usage_bucket: "usage_buckets" project_usage_bucket: "usage_buckets" user_usage_bucket: "usage_buckets");
    clear!(domain_fair_share: "fair_shares" project_fair_share: "fair_shares" user_fair_share: "fair_shares");
    e::kernel_cursor::Entity::delete_many().filter(e::kernel_cursor::Column::ResourceGroup.eq(name)).exec(db).await?;
    Entity::delete_by_id(name.to_owned()).exec(db).await?;
    gone.retain(|_, rows| *rows > 0);
    Ok(gone)
}

/// What tells one state of a group from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisions {
    /// A group that was deleted and created again starts from the first revision.
    pub created_at: Timestamp,
    pub shares: i64,
    pub kernels: i64,
}

/// The revisions of every group by name, to see what has to be read again.
pub async fn revisions(db: &impl ConnectionTrait) -> Result<BTreeMap<String, Revisions>> {
    use sea_orm::QuerySelect;
    let columns = [Column::Name, Column::CreatedAt, Column::SharesRevision, Column::KernelsRevision];
    let rows: Vec<(String, i64, i64, i64)> = Entity::find().select_only().columns(columns).into_tuple().all(db).await?;
    let revisions = rows.into_iter().map(|(name, created_at, shares, kernels)| {
        (name, Revisions { created_at: Timestamp::from_micros(created_at), shares, kernels })
    });
    Ok(revisions.collect())
}
