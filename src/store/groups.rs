//! Resource groups, their options and their revisions.

use std::collections::BTreeMap;
use std::time::Duration;

use sea_orm::ActiveValue::{self, NotSet, Set, Unchanged};
use sea_orm::sea_query::{Expr, LockBehavior, LockType};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DbBackend, DerivePartialModel, EntityTrait, PaginatorTrait,
    QueryFilter, QueryOrder, QuerySelect, Statement,
};
use serde_json::{Map, Value};

use super::entity::resource_group::{ActiveModel, Column, Entity, Model};
use super::postgres::LIMIT_LOCKS_AGAIN;
use super::revision::TaggedRevision;
use super::{Result, decode};
use crate::domain::ids::GroupKey;
use crate::domain::kernel::KernelPhase;
use crate::domain::time::{Day, Timestamp};
use crate::process::random;

/// A resource group as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredGroup {
    pub name: String,
    pub key: GroupKey,
    /// The number of the last kernel of the group.
    pub kernels_made: i64,
    /// The number of the last kind of slices of the group.
    pub kinds_made: i32,
    pub scheduler: String,
    /// As set by an admin, without defaults.
    pub scheduler_opts: Map<String, Value>,
    /// Changes with every change of shares, options, capacities or names.
    pub shares_revision: TaggedRevision,
    /// Changes with every write of the group.
    pub kernels_revision: TaggedRevision,
    /// Changes with every change of the queues.
    pub queues_revision: TaggedRevision,
    /// Changes with every change of weights, options, agents, capacities, queues and people.
    pub config_revision: TaggedRevision,
    /// The time until which the group's capacity has been observed.
    pub capacity_observed_at: Option<Timestamp>,
    /// The group's cursor: the time until which the usage of every kernel on it is recorded.
    pub recorded_until: Option<Timestamp>,
    /// The time of the last snapshot of the running kernels.
    pub snapshot_at: Option<Timestamp>,
    /// The time of the last reports, to a few minutes.
    pub reported_at: Option<Timestamp>,
    /// The first day whose records are not purged.
    pub records_from: Option<Day>,
    /// The first day whose buckets and day totals are not purged.
    pub totals_from: Option<Day>,
    /// The first day whose records are not compacted yet.
    pub compacted_before: Option<Day>,
    /// Kernels that ended before this time were removed.
    pub kernels_from: Option<Timestamp>,
    /// Kernels that ended before this time count in a history, or may.
    pub earlier_until: Option<Timestamp>,
    /// The time of the last reports of new kernels that ended before every look-back. A purge waits a day from then on.
    pub backfilled_at: Option<Timestamp>,
    /// True if `run_times` has all kernels that have ended in the look-back window; otherwise the next run rebuilds it.
    pub run_times_made: bool,
    /// True if `day_totals` has all recorded usage; otherwise the next run completes it.
    pub day_totals_made: bool,
    pub calculated_at: Option<Timestamp>,
    /// The options of the last calculation, as JSON.
    pub calculated_with: Option<Map<String, Value>>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl StoredGroup {
    pub fn revisions(&self) -> GroupRevisions {
        GroupRevisions { created_at: self.created_at, shares: self.shares_revision, kernels: self.kernels_revision }
    }

    /// True if all values are equal that shares depend on, or are shown with.
    pub fn has_same_conditions(&self, other: &Self) -> bool {
        fn conditions(group: &StoredGroup) -> impl PartialEq + '_ {
            (
                (&group.scheduler, &group.scheduler_opts),
                (group.capacity_observed_at, group.recorded_until, group.records_from, group.totals_from),
                (group.calculated_at, &group.calculated_with),
            )
        }
        conditions(self) == conditions(other)
    }
}

impl TryFrom<Model> for StoredGroup {
    type Error = super::StoreError;
    fn try_from(row: Model) -> Result<Self> {
        let damaged =
            |error: super::StoreError| error.at_place(&format!("the options of the resource group {:?}", row.name));
        Ok(Self {
            scheduler_opts: decode::json(&row.scheduler_opts).map_err(damaged)?,
            calculated_with: row.calculated_with.as_deref().map(decode::json).transpose().map_err(damaged)?,
            name: row.name,
            key: GroupKey(row.group_key),
            kernels_made: row.kernels_made,
            kinds_made: row.kinds_made,
            scheduler: row.scheduler,
            shares_revision: TaggedRevision::stored(row.shares_revision, row.shares_tag),
            kernels_revision: TaggedRevision::stored(row.kernels_revision, row.kernels_tag),
            queues_revision: TaggedRevision::stored(row.queues_revision, row.queues_tag),
            config_revision: TaggedRevision::stored(row.config_revision, row.config_tag),
            capacity_observed_at: row.capacity_observed_at.map(Timestamp::from_micros),
            recorded_until: row.recorded_until.map(Timestamp::from_micros),
            snapshot_at: row.snapshot_at.map(Timestamp::from_micros),
            reported_at: row.reported_at.map(Timestamp::from_micros),
            records_from: row.records_from_day.map(Day),
            totals_from: row.totals_from_day.map(Day),
            compacted_before: row.compacted_before.map(Day),
            kernels_from: row.kernels_from.map(Timestamp::from_micros),
            earlier_until: row.earlier_until.map(Timestamp::from_micros),
            backfilled_at: row.backfilled_at.map(Timestamp::from_micros),
            run_times_made: row.run_times_made,
            day_totals_made: row.day_totals_made,
            calculated_at: row.calculated_at.map(Timestamp::from_micros),
            created_at: Timestamp::from_micros(row.created_at),
            updated_at: Timestamp::from_micros(row.updated_at),
        })
    }
}

#[tracing::instrument(name = "db.groups.list", level = "debug", skip_all, err(level = "debug"))]
pub async fn list(db: &impl ConnectionTrait) -> Result<Vec<StoredGroup>> {
    Entity::find().order_by_asc(Column::Name).all(db).await?.into_iter().map(StoredGroup::try_from).collect()
}

#[tracing::instrument(name = "db.groups.find", level = "debug", skip_all, fields(group = name), err(level = "debug"))]
pub async fn find(db: &impl ConnectionTrait, name: &str) -> Result<Option<StoredGroup>> {
    decode_row(Entity::find_by_id(name.to_owned()).one(db).await?)
}

/// Takes the group's write lock for the transaction, because writers of one group run one after the other. Fails if another
/// session holds the lock for longer than `patience`. Returns `None` for an unknown group.
#[tracing::instrument(name = "db.groups.lock", level = "debug", skip_all, fields(group = name), err(level = "debug"))]
pub async fn lock(
    db: &impl ConnectionTrait,
    name: &str,
    lock_timeout: Option<Duration>,
) -> Result<Option<StoredGroup>> {
    let group = || Entity::find_by_id(name.to_owned());
    let Some(lock_timeout) = lock_timeout else { return decode_row(group().lock_exclusive().one(db).await?) };
    // Mostly the lock is free, and then no timeout has to be set.
    let free = group().lock_with_behavior(LockType::Update, LockBehavior::SkipLocked).one(db).await?;
    if free.is_some() {
        return decode_row(free);
    }
    db.execute_unprepared(&format!("SET LOCAL lock_timeout = {}", lock_timeout.as_millis())).await?;
    let locked = group().lock_exclusive().one(db).await?;
    db.execute_unprepared(LIMIT_LOCKS_AGAIN).await?;
    decode_row(locked)
}

fn decode_row(row: Option<Model>) -> Result<Option<StoredGroup>> {
    row.map(StoredGroup::try_from).transpose()
}

/// Creates the group if it does not exist. Returns true if it is new.
#[tracing::instrument(name = "db.groups.create", level = "debug", skip_all, fields(group = name), err(level = "debug"))]
pub async fn create(
    db: &impl ConnectionTrait,
    name: &str,
    scheduler: &str,
    opts: &Map<String, Value>,
    now: Timestamp,
) -> Result<bool> {
    let key = match db.get_database_backend() {
        DbBackend::Postgres => "nextval('resource_group_keys')",
        _ => "(SELECT COALESCE(MAX(group_key), 0) + 1 FROM resource_groups)",
    };
    let sql = format!(
        "INSERT INTO resource_groups (name, scheduler, scheduler_opts, shares_revision, kernels_revision, queues_revision, \
         shares_tag, kernels_tag, queues_tag, config_tag, created_at, updated_at, group_key) \
         VALUES ($1, $2, $3, 1, 1, 0, $5, $5, $5, $5, $4, $4, {key}) ON CONFLICT (name) DO NOTHING"
    );
    let opts = Value::Object(opts.clone()).to_string();
    let values = [name.into(), scheduler.into(), opts.into(), now.micros().into(), random::tag().into()];
    let created = db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), sql, values)).await?;
    Ok(created.rows_affected() > 0)
}

/// Stores the columns in which `group` differs from the row as it was loaded. The caller has set the next revisions.
#[tracing::instrument(name = "db.groups.save", level = "debug", skip_all, err(level = "debug"))]
pub async fn save(db: &impl ConnectionTrait, loaded: &StoredGroup, group: &StoredGroup, now: Timestamp) -> Result<()> {
    let object = |map: &Map<String, Value>| Value::Object(map.clone()).to_string();
    let micros = |time: &Option<Timestamp>| time.map(Timestamp::micros);
    let (number, tag) = (|of: &TaggedRevision| of.number(), |of: &TaggedRevision| of.tag());
    let row = ActiveModel {
        name: Unchanged(group.name.clone()),
        group_key: NotSet,
        kernels_made: is_changed(&loaded.kernels_made, &group.kernels_made, |n| *n),
        kinds_made: is_changed(&loaded.kinds_made, &group.kinds_made, |n| *n),
        scheduler: is_changed(&loaded.scheduler, &group.scheduler, String::clone),
        scheduler_opts: is_changed(&loaded.scheduler_opts, &group.scheduler_opts, object),
        shares_revision: is_changed(&loaded.shares_revision, &group.shares_revision, number),
        shares_tag: is_changed(&loaded.shares_revision, &group.shares_revision, tag),
        kernels_revision: is_changed(&loaded.kernels_revision, &group.kernels_revision, number),
        kernels_tag: is_changed(&loaded.kernels_revision, &group.kernels_revision, tag),
        queues_revision: is_changed(&loaded.queues_revision, &group.queues_revision, number),
        queues_tag: is_changed(&loaded.queues_revision, &group.queues_revision, tag),
        config_revision: is_changed(&loaded.config_revision, &group.config_revision, number),
        config_tag: is_changed(&loaded.config_revision, &group.config_revision, tag),
        capacity_observed_at: is_changed(&loaded.capacity_observed_at, &group.capacity_observed_at, micros),
        recorded_until: is_changed(&loaded.recorded_until, &group.recorded_until, micros),
        snapshot_at: is_changed(&loaded.snapshot_at, &group.snapshot_at, micros),
        reported_at: is_changed(&loaded.reported_at, &group.reported_at, micros),
        records_from_day: is_changed(&loaded.records_from, &group.records_from, |day| day.map(|d| d.0)),
        totals_from_day: is_changed(&loaded.totals_from, &group.totals_from, |day| day.map(|d| d.0)),
        compacted_before: is_changed(&loaded.compacted_before, &group.compacted_before, |day| day.map(|d| d.0)),
        kernels_from: is_changed(&loaded.kernels_from, &group.kernels_from, micros),
        earlier_until: is_changed(&loaded.earlier_until, &group.earlier_until, micros),
        backfilled_at: is_changed(&loaded.backfilled_at, &group.backfilled_at, micros),
        run_times_made: is_changed(&loaded.run_times_made, &group.run_times_made, |made| *made),
        day_totals_made: is_changed(&loaded.day_totals_made, &group.day_totals_made, |made| *made),
        calculated_at: is_changed(&loaded.calculated_at, &group.calculated_at, micros),
        calculated_with: is_changed(&loaded.calculated_with, &group.calculated_with, |with| with.as_ref().map(object)),
        created_at: NotSet,
        updated_at: Set(now.micros()),
    };
    row.update(db).await?;
    Ok(())
}

fn is_changed<T: PartialEq, V: Into<sea_orm::Value>>(
    before: &T,
    after: &T,
    column: impl FnOnce(&T) -> V,
) -> ActiveValue<V> {
    if before == after { NotSet } else { Set(column(after)) }
}

/// Keeps the group from being deleted until the transaction ends. Returns true if it exists.
#[tracing::instrument(name = "db.groups.hold", level = "debug", skip_all, fields(group = name), err(level = "debug"))]
pub async fn prevent_deletion(db: &impl ConnectionTrait, name: &str) -> Result<bool> {
    let held = Entity::update_many()
        .col_expr(Column::Name, Expr::col(Column::Name))
        .filter(Column::Name.eq(name))
        .exec(db)
        .await?;
    Ok(held.rows_affected > 0)
}

/// The data that would be lost with a group and cannot be recovered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupContents {
    pub kernels: u64,
    /// The running ones among `kernels`.
    pub running: u64,
    pub usage_records: u64,
    /// The buckets of all three tiers.
    pub usage_buckets: u64,
    /// Day totals, recorded by runs or imported.
    pub day_totals: u64,
    /// Imported histories, complete or not.
    pub usage_histories: u64,
}

#[tracing::instrument(name = "db.groups.contents", level = "debug", skip_all, fields(group = name), err(level = "debug"))]
pub async fn count_contents(db: &impl ConnectionTrait, name: &str, key: GroupKey) -> Result<GroupContents> {
    use super::entity as e;
    let kernels = e::kernel::Entity::find().filter(e::kernel::Column::GroupKey.eq(key.0));
    let records = e::usage_slice::Entity::find().filter(e::usage_slice::Column::GroupKey.eq(key.0));
    let totals = e::day_total::Entity::find().filter(e::day_total::Column::GroupKey.eq(key.0));
    let histories = e::usage_history::Entity::find().filter(e::usage_history::Column::GroupKey.eq(key.0));
    // Only kernels with a cursor can be running; the ended ones are many more.
    let running = super::kernels::select_live(key).filter(e::kernel::Column::Status.eq(KernelPhase::Running.as_str()));
    macro_rules! rows {
        ($table:ident) => {
            e::$table::Entity::find().filter(e::$table::Column::ResourceGroup.eq(name))
        };
    }
    Ok(GroupContents {
        kernels: kernels.count(db).await?,
        running: running.count(db).await?,
        usage_records: records.count(db).await?,
        usage_buckets: rows!(domain_usage_bucket).count(db).await?
            + rows!(project_usage_bucket).count(db).await?
            + rows!(user_usage_bucket).count(db).await?,
        day_totals: totals.count(db).await?,
        usage_histories: histories.count(db).await?,
    })
}

/// Removes the group with its agents, capacities, kernels, records, buckets, day totals, histories, shares and queues.
/// Returns the number of rows by kind, without kinds that had none.
#[tracing::instrument(name = "db.groups.delete", level = "debug", skip_all, fields(group = name), err(level = "debug"))]
pub async fn delete(db: &impl ConnectionTrait, name: &str, key: GroupKey) -> Result<BTreeMap<&'static str, u64>> {
    use super::entity as e;
    let mut gone = BTreeMap::new();
    macro_rules! clear {
        ($($table:ident: $kind:literal)*) => {$(
            let table = e::$table::Entity::delete_many().filter(e::$table::Column::ResourceGroup.eq(name));
            *gone.entry($kind).or_default() += table.exec(db).await?.rows_affected;
        )*};
    }
    clear!(agent: "agents" capacity_day: "capacity_days");
    clear!(usage_gap: "usage_gaps" queue: "queues" division_day: "division_days");
    clear!(fairness_day: "fairness_days" connector: "connectors");
    clear!(domain_usage_bucket: "usage_buckets" project_usage_bucket: "usage_buckets" user_usage_bucket: "usage_buckets");
    clear!(domain_fair_share: "fair_shares" project_fair_share: "fair_shares" user_fair_share: "fair_shares");
    let records = e::usage_slice::Entity::delete_many().filter(e::usage_slice::Column::GroupKey.eq(key.0));
    gone.insert("usage_records", records.exec(db).await?.rows_affected);
    e::slice_kind::Entity::delete_many().filter(e::slice_kind::Column::GroupKey.eq(key.0)).exec(db).await?;
    let days = e::share_day::Entity::delete_many().filter(e::share_day::Column::GroupKey.eq(key.0));
    gone.insert("share_days", days.exec(db).await?.rows_affected);
    e::run_time::Entity::delete_many().filter(e::run_time::Column::GroupKey.eq(key.0)).exec(db).await?;
    let shadow = e::shadow_day::Entity::delete_many().filter(e::shadow_day::Column::GroupKey.eq(key.0));
    gone.insert("shadow_days", shadow.exec(db).await?.rows_affected);
    let owners = e::shadow_owner_day::Entity::delete_many().filter(e::shadow_owner_day::Column::GroupKey.eq(key.0));
    owners.exec(db).await?;
    e::shadow_comparison::Entity::delete_by_id(key.0).exec(db).await?;
    let outcomes = e::forecast_outcome::Entity::delete_many().filter(e::forecast_outcome::Column::GroupKey.eq(key.0));
    outcomes.exec(db).await?;
    e::forecast::Entity::delete_by_id(key.0).exec(db).await?;
    let totals = e::day_total::Entity::delete_many().filter(e::day_total::Column::GroupKey.eq(key.0));
    gone.insert("day_totals", totals.exec(db).await?.rows_affected);
    let histories = e::usage_history::Entity::delete_many().filter(e::usage_history::Column::GroupKey.eq(key.0));
    gone.insert("usage_histories", histories.exec(db).await?.rows_affected);
    let earlier = e::earlier_kernel::Entity::delete_many().filter(e::earlier_kernel::Column::GroupKey.eq(key.0));
    earlier.exec(db).await?;
    super::cursors::of_all(key).exec(db).await?;
    let kernels = e::kernel::Entity::delete_many().filter(e::kernel::Column::GroupKey.eq(key.0));
    gone.insert("kernels", kernels.exec(db).await?.rows_affected);
    Entity::delete_by_id(name.to_owned()).exec(db).await?;
    gone.retain(|_, rows| *rows > 0);
    Ok(gone)
}

/// The values that distinguish two states of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRevisions {
    /// A group that was deleted and created again starts from the first revision.
    pub created_at: Timestamp,
    pub shares: TaggedRevision,
    pub kernels: TaggedRevision,
}

impl GroupRevisions {
    /// True if writes alone cannot have led from `seen` to this state of the group: the database was taken back in between.
    pub fn contradicts(&self, seen: &Self) -> bool {
        self.created_at == seen.created_at
            && (self.shares.contradicts(seen.shares) || self.kernels.contradicts(seen.kernels))
    }
}

/// The stored revisions of a group, with the time of the last write.
#[derive(Clone, Copy, Debug)]
pub struct StoredRevisions {
    pub revisions: GroupRevisions,
    pub updated_at: Timestamp,
}

/// The revisions of every group by name, to find out which data has to be read again.
#[tracing::instrument(name = "db.groups.revisions", level = "debug", skip_all, err(level = "debug"))]
pub async fn revisions(db: &impl ConnectionTrait) -> Result<BTreeMap<String, StoredRevisions>> {
    let revisions = |row: RevisionRow| {
        let revisions = GroupRevisions {
            created_at: Timestamp::from_micros(row.created_at),
            shares: TaggedRevision::stored(row.shares_revision, row.shares_tag),
            kernels: TaggedRevision::stored(row.kernels_revision, row.kernels_tag),
        };
        (row.name, StoredRevisions { revisions, updated_at: Timestamp::from_micros(row.updated_at) })
    };
    let rows = Entity::find().into_partial_model::<RevisionRow>().all(db).await?;
    Ok(rows.into_iter().map(revisions).collect())
}

#[derive(DerivePartialModel)]
#[sea_orm(entity = "Entity")]
struct RevisionRow {
    name: String,
    created_at: i64,
    updated_at: i64,
    shares_revision: i64,
    shares_tag: i32,
    kernels_revision: i64,
    kernels_tag: i32,
}
