//! Shadow reports: the last comparison of a group's order with that of another scheduler, and sums over the rounds of each day.

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, Statement};
use uuid::Uuid;

use super::connectors::parse_mode;
use super::day_rows::RowsByDay;
use super::entity::{shadow_comparison, shadow_day, shadow_owner_day};
use super::{Result, StoreError, bulk};
use crate::domain::agreement::OrderAgreement;
use crate::domain::connectors::ConnectorMode;
use crate::domain::fairness::DaySpan;
use crate::domain::ids::{GroupKey, Member, ProjectId, UserId};
use crate::domain::maps::FastSet;
use crate::domain::time::{Day, Timestamp};

/// The last comparison of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadowComparison {
    pub cluster: String,
    pub mode: ConnectorMode,
    /// The time at which the group's order was computed.
    pub taken_at: Timestamp,
    pub agreement: OrderAgreement,
    /// The first places: a JSON array.
    pub first_places: String,
}

/// The sums over the rounds of one day.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadowDay {
    pub day: Day,
    /// The number of rounds with a comparison.
    pub rounds: u64,
    pub compared: u64,
    pub same_place: u64,
    /// The mean over the rounds that have one.
    pub kendall_tau: Option<f64>,
}

/// The places that an owner gained on one day; below 0 for a loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowOwnerDay {
    pub day: Day,
    pub owner: Member,
    pub user_name: String,
    pub project_name: String,
    pub places_gained: i64,
}

impl RowsByDay for ShadowDay {
    type Entity = shadow_day::Entity;
    const TABLE: &'static str = "shadow_days";
    const GROUP: shadow_day::Column = shadow_day::Column::GroupKey;
    const DAY: shadow_day::Column = shadow_day::Column::Day;
}

impl RowsByDay for ShadowOwnerDay {
    type Entity = shadow_owner_day::Entity;
    const TABLE: &'static str = "shadow_owner_days";
    const GROUP: shadow_owner_day::Column = shadow_owner_day::Column::GroupKey;
    const DAY: shadow_owner_day::Column = shadow_owner_day::Column::Day;
}

fn stored_count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn read_count(stored: i64) -> usize {
    usize::try_from(stored).unwrap_or_default()
}

impl TryFrom<shadow_comparison::Model> for ShadowComparison {
    type Error = StoreError;
    fn try_from(row: shadow_comparison::Model) -> Result<Self> {
        let (compared, same_place) = (read_count(row.compared), read_count(row.same_place));
        Ok(Self {
            mode: parse_mode(&row.mode)?,
            cluster: row.cluster,
            taken_at: Timestamp::from_micros(row.taken_at),
            agreement: OrderAgreement { compared, same_place, kendall_tau: row.kendall_tau },
            first_places: row.first_places,
        })
    }
}

impl From<shadow_day::Model> for ShadowDay {
    fn from(row: shadow_day::Model) -> Self {
        Self {
            day: Day(row.day),
            rounds: row.rounds.unsigned_abs(),
            compared: row.compared.unsigned_abs(),
            same_place: row.same_place.unsigned_abs(),
            kendall_tau: (row.tau_rounds > 0).then(|| (row.tau_sum / row.tau_rounds as f64).clamp(-1.0, 1.0)),
        }
    }
}

impl From<OwnerDayRow> for ShadowOwnerDay {
    fn from(row: OwnerDayRow) -> Self {
        Self {
            day: Day(row.day),
            owner: Member { user: UserId(row.user_uuid), project: ProjectId(row.project_id) },
            user_name: row.user_name,
            project_name: row.project_name,
            places_gained: row.places_gained,
        }
    }
}

/// Makes `latest` the last comparison of a group, adds it to the sums of the day, and adds the places of its owners. `owners` has
/// no owner twice.
#[tracing::instrument(name = "db.shadow_reports.add_round", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn add_round(
    db: &impl ConnectionTrait,
    group: GroupKey,
    day: Day,
    latest: ShadowComparison,
    owners: impl Iterator<Item = ShadowOwnerDay> + Send,
) -> Result<()> {
    let OrderAgreement { compared, same_place, kendall_tau } = latest.agreement;
    let (compared, same_place) = (stored_count(compared), stored_count(same_place));
    replace_latest(db, group, latest).await?;
    let row = shadow_day::ActiveModel {
        group_key: Set(group.0),
        day: Set(day.0),
        rounds: Set(1),
        compared: Set(compared),
        same_place: Set(same_place),
        tau_sum: Set(kendall_tau.unwrap_or_default()),
        tau_rounds: Set(i64::from(kendall_tau.is_some())),
    };
    let mut add = OnConflict::columns([shadow_day::Column::GroupKey, shadow_day::Column::Day]);
    let sum = |column: &str| Expr::cust(format!("shadow_days.{column} + excluded.{column}"));
    add.value(shadow_day::Column::Rounds, sum("rounds"))
        .value(shadow_day::Column::Compared, sum("compared"))
        .value(shadow_day::Column::SamePlace, sum("same_place"))
        .value(shadow_day::Column::TauSum, sum("tau_sum"))
        .value(shadow_day::Column::TauRounds, sum("tau_rounds"));
    shadow_day::Entity::insert(row).on_conflict(add).exec_without_returning(db).await?;
    add_owners(db, group, day, owners).await
}

async fn replace_latest(db: &impl ConnectionTrait, group: GroupKey, latest: ShadowComparison) -> Result<()> {
    use shadow_comparison::{ActiveModel, Column, Entity};
    let row = ActiveModel {
        group_key: Set(group.0),
        cluster: Set(latest.cluster),
        mode: Set(latest.mode.as_str().to_owned()),
        taken_at: Set(latest.taken_at.micros()),
        compared: Set(stored_count(latest.agreement.compared)),
        same_place: Set(stored_count(latest.agreement.same_place)),
        kendall_tau: Set(latest.agreement.kendall_tau),
        first_places: Set(latest.first_places),
    };
    let mut replace = OnConflict::column(Column::GroupKey);
    replace.update_columns([
        Column::Cluster,
        Column::Mode,
        Column::TakenAt,
        Column::Compared,
        Column::SamePlace,
        Column::KendallTau,
        Column::FirstPlaces,
    ]);
    Entity::insert(row).on_conflict(replace).exec_without_returning(db).await?;
    Ok(())
}

async fn add_owners(
    db: &impl ConnectionTrait,
    group: GroupKey,
    day: Day,
    owners: impl Iterator<Item = ShadowOwnerDay> + Send,
) -> Result<()> {
    use shadow_owner_day::{ActiveModel, Column};
    let rows = owners.map(|row| ActiveModel {
        group_key: Set(group.0),
        day: Set(day.0),
        user_uuid: Set(row.owner.user.0),
        project_id: Set(row.owner.project.0),
        user_name: Set(row.user_name),
        project_name: Set(row.project_name),
        places_gained: Set(row.places_gained),
    });
    let mut add = OnConflict::columns([Column::GroupKey, Column::Day, Column::UserUuid, Column::ProjectId]);
    add.update_columns([Column::UserName, Column::ProjectName]);
    add.value(Column::PlacesGained, Expr::cust("shadow_owner_days.places_gained + excluded.places_gained"));
    bulk::insert(db, rows, Some(add)).await?;
    Ok(())
}

/// Removes the shadow report of a group: the last comparison, and all days.
#[tracing::instrument(name = "db.shadow_reports.remove", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn remove(db: &impl ConnectionTrait, group: GroupKey) -> Result<()> {
    shadow_comparison::Entity::delete_by_id(group.0).exec(db).await?;
    shadow_day::Entity::delete_many().filter(shadow_day::Column::GroupKey.eq(group.0)).exec(db).await?;
    shadow_owner_day::Entity::delete_many().filter(shadow_owner_day::Column::GroupKey.eq(group.0)).exec(db).await?;
    Ok(())
}

/// The last comparison of a group.
#[tracing::instrument(name = "db.shadow_reports.find_latest", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn find_latest(db: &impl ConnectionTrait, group: GroupKey) -> Result<Option<ShadowComparison>> {
    let found = shadow_comparison::Entity::find_by_id(group.0).one(db).await?;
    found.map(ShadowComparison::try_from).transpose()
}

/// The sums of the days of `span`, by day.
#[tracing::instrument(name = "db.shadow_reports.days", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load_days(db: &impl ConnectionTrait, group: GroupKey, span: DaySpan) -> Result<Vec<ShadowDay>> {
    use shadow_day::Column;
    let days = shadow_day::Entity::find().filter(Column::GroupKey.eq(group.0));
    let days = days.filter(Column::Day.between(span.first.0, span.last.0)).order_by_asc(Column::Day);
    Ok(days.all(db).await?.into_iter().map(ShadowDay::from).collect())
}

/// The rows of some owners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerDayRows {
    pub rows: Vec<ShadowOwnerDay>,
    /// The number of owners whose rows are not among these.
    pub left_out: u64,
}

#[derive(FromQueryResult)]
struct OwnerDayRow {
    day: i32,
    user_uuid: Uuid,
    project_id: Uuid,
    user_name: String,
    project_name: String,
    places_gained: i64,
    /// The number of owners with rows.
    owner_count: i64,
}

/// The rows of owners with all their days. The owners stand by the places that they gained or lost in all, then by their ids, and
/// the first of them are taken for as long as their rows together are not too many.
const OWNER_DAYS_SQL: &str = "\
WITH totals AS (
    SELECT user_uuid, project_id, COUNT(*) AS own_rows, ABS(SUM(places_gained)) AS places
    FROM shadow_owner_days
    WHERE group_key = $1 AND day BETWEEN $2 AND $3
    GROUP BY user_uuid, project_id
), ranked AS (
    SELECT user_uuid, project_id, COUNT(*) OVER () AS owner_count,
           SUM(own_rows) OVER (ORDER BY places DESC, user_uuid, project_id
                               ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS rows_so_far
    FROM totals
)
SELECT d.day, d.user_uuid, d.project_id, d.user_name, d.project_name, d.places_gained, r.owner_count
FROM ranked r
JOIN shadow_owner_days d ON d.user_uuid = r.user_uuid AND d.project_id = r.project_id
WHERE r.rows_so_far <= CAST($4 AS BIGINT) AND d.group_key = $1 AND d.day BETWEEN $2 AND $3";

/// The places that owners gained on the days of `span`: all rows of the owners with the most places, at most `max_rows` rows.
#[tracing::instrument(name = "db.shadow_reports.owner_days", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load_owner_days(
    db: &impl ConnectionTrait,
    group: GroupKey,
    span: DaySpan,
    max_rows: u64,
) -> Result<OwnerDayRows> {
    let max_rows = i64::try_from(max_rows).unwrap_or(i64::MAX);
    let values = [group.0.into(), span.first.0.into(), span.last.0.into(), max_rows.into()];
    let statement = Statement::from_sql_and_values(db.get_database_backend(), OWNER_DAYS_SQL, values);
    let found = OwnerDayRow::find_by_statement(statement).all(db).await?;
    let owner_count = found.first().map_or(0, |row| row.owner_count.unsigned_abs());
    let rows: Vec<ShadowOwnerDay> = found.into_iter().map(ShadowOwnerDay::from).collect();
    let owners: FastSet<Member> = rows.iter().map(|row| row.owner).collect();
    Ok(OwnerDayRows { left_out: owner_count.saturating_sub(owners.len() as u64), rows })
}
