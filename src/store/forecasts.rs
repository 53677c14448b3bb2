//! The forecasts of groups, and what became of them.

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::entity::{forecast, forecast_outcome};
use super::{Result, bulk};
use crate::domain::forecast::StartPercentiles;
use crate::domain::ids::{GroupKey, UserId};
use crate::domain::time::Timestamp;

/// The first forecast of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstForecast {
    pub workload_id: String,
    pub made_at: Timestamp,
    pub user: UserId,
    pub start: StartPercentiles,
}

/// The first forecast of a workload that has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForecastOutcome {
    pub start: StartPercentiles,
    pub started_at: Timestamp,
}

impl From<&forecast_outcome::Model> for StartPercentiles {
    fn from(row: &forecast_outcome::Model) -> Self {
        let [p10, p50, p90] = [row.p10, row.p50, row.p90].map(Timestamp::from_micros);
        Self { p10, p50, p90 }
    }
}

/// The time and the document of the group's last forecasts.
#[tracing::instrument(name = "db.forecasts.find", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn find(db: &impl ConnectionTrait, group: GroupKey) -> Result<Option<(Timestamp, String)>> {
    let row = forecast::Entity::find_by_id(group.0).one(db).await?;
    Ok(row.map(|row| (Timestamp::from_micros(row.made_at), row.document)))
}

/// Replaces the group's last forecasts.
#[tracing::instrument(name = "db.forecasts.save", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn save(db: &impl ConnectionTrait, group: GroupKey, made_at: Timestamp, document: String) -> Result<()> {
    use forecast::{ActiveModel, Column};
    let row = ActiveModel { group_key: Set(group.0), made_at: Set(made_at.micros()), document: Set(document) };
    let mut replace = OnConflict::column(Column::GroupKey);
    replace.update_columns([Column::MadeAt, Column::Document]);
    forecast::Entity::insert(row).on_conflict(replace).exec_without_returning(db).await?;
    Ok(())
}

/// The first forecasts of workloads that have not started as far as is known, by workload.
#[tracing::instrument(name = "db.forecasts.open", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load_open(db: &impl ConnectionTrait, group: GroupKey) -> Result<Vec<FirstForecast>> {
    use forecast_outcome::Column;
    let open =
        forecast_outcome::Entity::find().filter(Column::GroupKey.eq(group.0)).filter(Column::StartedAt.is_null());
    let first = |row: forecast_outcome::Model| FirstForecast {
        made_at: Timestamp::from_micros(row.made_at),
        user: UserId(row.user_uuid),
        start: StartPercentiles::from(&row),
        workload_id: row.workload_id,
    };
    Ok(open.order_by_asc(Column::WorkloadId).all(db).await?.into_iter().map(first).collect())
}

/// The outcomes of the last `most` starts, the last one first.
#[tracing::instrument(name = "db.forecasts.outcomes", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn load_outcomes(db: &impl ConnectionTrait, group: GroupKey, most: u64) -> Result<Vec<ForecastOutcome>> {
    use forecast_outcome::Column;
    let started =
        forecast_outcome::Entity::find().filter(Column::GroupKey.eq(group.0)).filter(Column::StartedAt.is_not_null());
    let last = started.order_by_desc(Column::StartedAt).order_by_asc(Column::WorkloadId).limit(most);
    let outcome = |row: &forecast_outcome::Model| {
        let started_at = Timestamp::from_micros(row.started_at?);
        Some(ForecastOutcome { start: row.into(), started_at })
    };
    Ok(last.all(db).await?.iter().filter_map(outcome).collect())
}

/// Adds first forecasts.
#[tracing::instrument(name = "db.forecasts.add_first", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn add_first(db: &impl ConnectionTrait, group: GroupKey, first: &[FirstForecast]) -> Result<()> {
    bulk::insert(db, first.iter().map(|forecast| row(group, forecast, None)), None).await?;
    Ok(())
}

/// Notes the starts of workloads.
#[tracing::instrument(name = "db.forecasts.note_starts", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn note_starts(
    db: &impl ConnectionTrait,
    group: GroupKey,
    started: &[(&FirstForecast, Timestamp)],
) -> Result<()> {
    use forecast_outcome::Column;
    let mut replace = OnConflict::columns([Column::GroupKey, Column::WorkloadId, Column::MadeAt]);
    replace.update_column(Column::StartedAt);
    bulk::insert(db, started.iter().map(|(forecast, at)| row(group, forecast, Some(*at))), Some(replace)).await?;
    Ok(())
}

fn row(group: GroupKey, forecast: &FirstForecast, started_at: Option<Timestamp>) -> forecast_outcome::ActiveModel {
    let StartPercentiles { p10, p50, p90 } = forecast.start;
    forecast_outcome::ActiveModel {
        group_key: Set(group.0),
        workload_id: Set(forecast.workload_id.clone()),
        made_at: Set(forecast.made_at.micros()),
        user_uuid: Set(forecast.user.0),
        p10: Set(p10.micros()),
        p50: Set(p50.micros()),
        p90: Set(p90.micros()),
        started_at: Set(started_at.map(Timestamp::micros)),
    }
}

/// Removes the forecasts of workloads that will not start.
#[tracing::instrument(name = "db.forecasts.forget", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn forget(db: &impl ConnectionTrait, group: GroupKey, gone: &[&FirstForecast]) -> Result<()> {
    use forecast_outcome::Column;
    for part in gone.chunks(bulk::MAX_IDS) {
        let open = forecast_outcome::Entity::delete_many()
            .filter(Column::GroupKey.eq(group.0))
            .filter(Column::StartedAt.is_null())
            .filter(Column::WorkloadId.is_in(part.iter().map(|forecast| forecast.workload_id.as_str())));
        open.exec(db).await?;
    }
    Ok(())
}

/// Removes the outcomes of starts before `before`.
#[tracing::instrument(name = "db.forecasts.purge", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, group: GroupKey, before: Timestamp) -> Result<()> {
    use forecast_outcome::Column;
    let old = forecast_outcome::Entity::delete_many().filter(Column::GroupKey.eq(group.0));
    old.filter(Column::StartedAt.lt(before.micros())).exec(db).await?;
    Ok(())
}
