//! The last division of each day, by queue, for charts.

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Condition, Expr};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, IntoSimpleExpr, QueryFilter};

use super::day_rows::RowsByDay;
use super::entity::division_day::{ActiveModel, Column, Entity, Model};
use super::key_list::{KeyOrder, KeyPage, KeyWindow};
use super::{Result, StoreError, bulk, decode, key_list};
use crate::domain::decimal::Amount;
use crate::domain::division::MinShareRatios;
use crate::domain::queues::Bound;
use crate::domain::slots::{SlotAmounts, SlotMap};
use crate::domain::time::{Day, Timestamp};

/// The division's result for one queue on one day.
#[derive(Clone, Debug, PartialEq)]
pub struct DivisionDay {
    pub day: Day,
    pub queue: String,
    pub algorithm: String,
    pub fair_share: SlotAmounts,
    pub allocated: SlotAmounts,
    pub request: SlotAmounts,
    pub quota: SlotMap<Bound>,
    /// `None` for algorithms that do not divide by ratios.
    pub ratios: Option<MinShareRatios>,
    pub calculated_at: Timestamp,
}

impl RowsByDay for DivisionDay {
    type Entity = Entity;
    const TABLE: &'static str = "division_days";
    const GROUP: Column = Column::ResourceGroup;
    const DAY: Column = Column::Day;
}

impl TryFrom<Model> for DivisionDay {
    type Error = StoreError;
    fn try_from(row: Model) -> Result<Self> {
        let ratio = |text: Option<String>| -> Result<Option<Amount>> {
            text.map(|t| t.parse().map_err(|e| StoreError::Damaged(format!("ratio {t} {e}")))).transpose()
        };
        let ratios = (
            ratio(row.usage_ratio)?,
            ratio(row.demand_ratio)?,
            ratio(row.fair_share_ratio)?,
            ratio(row.guaranteed_ratio)?,
        );
        Ok(Self {
            day: Day(row.day),
            queue: row.queue,
            algorithm: row.algorithm,
            fair_share: decode::slots(&row.fair_share)?,
            allocated: decode::slots(&row.allocated)?,
            request: decode::slots(&row.request)?,
            quota: decode::slots(&row.quota)?,
            ratios: match ratios {
                (Some(usage), Some(demand), Some(fair_share), Some(guaranteed)) => {
                    Some(MinShareRatios { usage, demand, fair_share, guaranteed })
                }
                _ => None,
            },
            calculated_at: Timestamp::from_micros(row.calculated_at),
        })
    }
}

/// Replaces the rows of `day`.
#[tracing::instrument(
    name = "db.division_days.replace",
    level = "debug",
    skip_all,
    fields(group),
    err(level = "debug")
)]
pub async fn replace(db: &impl ConnectionTrait, group: &str, day: Day, rows: Vec<DivisionDay>) -> Result<()> {
    Entity::delete_many().filter(Column::ResourceGroup.eq(group)).filter(Column::Day.eq(day.0)).exec(db).await?;
    let ratio =
        |ratios: Option<MinShareRatios>, of: fn(MinShareRatios) -> Amount| Set(ratios.map(|r| of(r).to_string()));
    let rows = rows.into_iter().map(|row| ActiveModel {
        resource_group: Set(group.to_owned()),
        day: Set(day.0),
        queue: Set(row.queue),
        algorithm: Set(row.algorithm),
        fair_share: Set(row.fair_share.to_json()),
        allocated: Set(row.allocated.to_json()),
        request: Set(row.request.to_json()),
        quota: Set(row.quota.to_json()),
        usage_ratio: ratio(row.ratios, |r| r.usage),
        demand_ratio: ratio(row.ratios, |r| r.demand),
        fair_share_ratio: ratio(row.ratios, |r| r.fair_share),
        guaranteed_ratio: ratio(row.ratios, |r| r.guaranteed),
        calculated_at: Set(row.calculated_at.micros()),
    });
    bulk::insert(db, rows, None).await?;
    Ok(())
}

/// The conditions of a list of rows.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// The first and the last day, both inclusive.
    pub from: Option<Day>,
    pub to: Option<Day>,
    pub queue: Option<String>,
}

/// Orders names by their bytes, as everywhere, regardless of the database's locale.
fn by_bytes(db: &impl ConnectionTrait) -> Expr {
    Expr::cust(if db.get_database_backend() == DbBackend::Postgres { r#"queue COLLATE "C""# } else { "queue" })
}

/// One window on the rows by day and queue.
#[tracing::instrument(name = "db.division_days.page", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn page(
    db: &impl ConnectionTrait,
    group: &str,
    filter: &HistoryFilter,
    window: &KeyWindow<(Day, String)>,
) -> Result<KeyPage<DivisionDay>> {
    let matching = Condition::all()
        .add(Column::ResourceGroup.eq(group))
        .add_option(filter.from.map(|day| Column::Day.gte(day.0)))
        .add_option(filter.to.map(|day| Column::Day.lte(day.0)))
        .add_option(filter.queue.as_ref().map(|queue| Column::Queue.eq(queue)));
    let order = KeyOrder { columns: vec![Column::Day.into_simple_expr(), by_bytes(db)], descending: false };
    let values = |(day, queue): &(Day, String)| vec![Expr::value(day.0), Expr::value(queue.as_str())];
    key_list::page(db, Entity::find().filter(matching), order, window, values).await?.try_map(DivisionDay::try_from)
}
