//! The fairness of each tier of a group on each day, for charts.

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Condition, Expr, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoSimpleExpr, QueryFilter};

use super::day_rows::RowsByDay;
use super::entity::fairness_day::{ActiveModel, Column, Entity, Model};
use super::key_list::{KeyOrder, KeyPage, KeyWindow};
use super::{Result, StoreError, bulk, key_list};
use crate::domain::tier::Tier;
use crate::domain::time::{Day, Timestamp};

/// The fairness of one tier on one day.
#[derive(Clone, Debug, PartialEq)]
pub struct FairnessDay {
    pub day: Day,
    pub tier: Tier,
    pub misallocated_share: f64,
    pub jains_index: f64,
    /// The number of active owners.
    pub active: u32,
    pub calculated_at: Timestamp,
}

impl RowsByDay for FairnessDay {
    type Entity = Entity;
    const TABLE: &'static str = "fairness_days";
    const GROUP: Column = Column::ResourceGroup;
    const DAY: Column = Column::Day;
}

impl TryFrom<Model> for FairnessDay {
    type Error = StoreError;
    fn try_from(row: Model) -> Result<Self> {
        Ok(Self {
            day: Day(row.day),
            tier: row.tier.parse().map_err(|_| StoreError::Damaged(format!("the tier {}", row.tier)))?,
            misallocated_share: row.misallocated_share,
            jains_index: row.jains_index,
            active: row.active.unsigned_abs(),
            calculated_at: Timestamp::from_micros(row.calculated_at),
        })
    }
}

/// Inserts or replaces the rows of their days and tiers.
#[tracing::instrument(name = "db.fairness_days.put", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn replace_days(db: &impl ConnectionTrait, group: &str, rows: Vec<FairnessDay>) -> Result<()> {
    let rows = rows.into_iter().map(|row| ActiveModel {
        resource_group: Set(group.to_owned()),
        day: Set(row.day.0),
        tier: Set(row.tier.as_str().to_owned()),
        misallocated_share: Set(row.misallocated_share),
        jains_index: Set(row.jains_index),
        active: Set(i32::try_from(row.active).unwrap_or(i32::MAX)),
        calculated_at: Set(row.calculated_at.micros()),
    });
    let mut replace = OnConflict::columns([Column::ResourceGroup, Column::Day, Column::Tier]);
    replace.update_columns([Column::MisallocatedShare, Column::JainsIndex, Column::Active, Column::CalculatedAt]);
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}

/// The conditions of a list of rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct FairnessFilter {
    /// The first and the last day, both inclusive.
    pub from: Option<Day>,
    pub to: Option<Day>,
    pub tier: Option<Tier>,
}

/// One window on the rows by day and tier.
#[tracing::instrument(name = "db.fairness_days.page", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn page(
    db: &impl ConnectionTrait,
    group: &str,
    filter: FairnessFilter,
    window: &KeyWindow<(Day, String)>,
) -> Result<KeyPage<FairnessDay>> {
    let matching = Condition::all()
        .add(Column::ResourceGroup.eq(group))
        .add_option(filter.from.map(|day| Column::Day.gte(day.0)))
        .add_option(filter.to.map(|day| Column::Day.lte(day.0)))
        .add_option(filter.tier.map(|tier| Column::Tier.eq(tier.as_str())));
    let columns = vec![Column::Day.into_simple_expr(), Column::Tier.into_simple_expr()];
    let order = KeyOrder { columns, descending: false };
    let values = |(day, tier): &(Day, String)| vec![Expr::value(day.0), Expr::value(tier.as_str())];
    key_list::page(db, Entity::find().filter(matching), order, window, values).await?.try_map(FairnessDay::try_from)
}
