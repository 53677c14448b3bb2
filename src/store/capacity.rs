//! The capacity of each group on each day.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::entity::capacity_day::{ActiveModel, Column, Entity};
use super::{Result, StoreError, bulk, decode};
use crate::domain::capacity::{CapacityCalendar, CapacitySource, DayCapacity};
use crate::domain::slots::SlotAmounts;
use crate::domain::time::{Day, Timestamp};

#[tracing::instrument(name = "db.capacity.load", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn load(db: &impl ConnectionTrait, group: &str) -> Result<CapacityCalendar> {
    let rows = Entity::find().filter(Column::ResourceGroup.eq(group)).order_by_asc(Column::Day).all(db).await?;
    let mut shared = decode::SlotDecoder::new();
    let mut calendar = CapacityCalendar::default();
    for row in rows {
        let day = DayCapacity {
            source: CapacitySource::parse(&row.source)
                .ok_or_else(|| StoreError::Damaged(format!("capacity source {}", row.source)))?,
            integral: decode::slots(&row.integral)?,
            observed_micros: u64::try_from(row.observed_micros).unwrap_or(0),
            observed_from: row.observed_from.map(Timestamp::from_micros),
            capacity: Arc::clone(&shared.decode(&row.capacity)?),
        };
        calendar.insert(Day(row.day), day);
    }
    Ok(calendar)
}

/// Capacities by group and day.
pub type ByGroup = BTreeMap<Arc<str>, BTreeMap<Day, Arc<SlotAmounts>>>;

/// The capacities of some groups by day, up to and including `to`.
#[tracing::instrument(name = "db.capacity.until", level = "debug", skip_all, err(level = "debug"))]
pub async fn capacities_until(db: &impl ConnectionTrait, groups: &[Arc<str>], to: Day) -> Result<ByGroup> {
    let rows: Vec<(String, i32, String)> = Entity::find()
        .select_only()
        .columns([Column::ResourceGroup, Column::Day, Column::Capacity])
        .filter(Column::ResourceGroup.is_in(groups.iter().map(|name| &**name)))
        .filter(Column::Day.lte(to.0))
        .into_tuple()
        .all(db)
        .await?;
    let mut shared = decode::SlotDecoder::new();
    let mut known = ByGroup::new();
    for (group, day, capacity) in rows {
        known.entry(Arc::from(group)).or_default().insert(Day(day), shared.decode(&capacity)?);
    }
    Ok(known)
}

/// Removes capacities that were observed on days after `today`, or copied to them. Those that came with a back-fill stay.
#[tracing::instrument(
    name = "db.capacity.forget_after",
    level = "debug",
    skip_all,
    fields(group),
    err(level = "debug")
)]
pub async fn forget_after(db: &impl ConnectionTrait, group: &str, today: Day) -> Result<()> {
    Entity::delete_many()
        .filter(Column::ResourceGroup.eq(group))
        .filter(Column::Day.gt(today.0))
        .filter(Column::Source.ne(CapacitySource::Given.as_str()))
        .exec(db)
        .await?;
    Ok(())
}

/// Stores the given days of the calendar.
#[tracing::instrument(name = "db.capacity.save", level = "debug", skip_all, fields(group), err(level = "debug"))]
pub async fn save(
    db: &impl ConnectionTrait,
    group: &str,
    calendar: &CapacityCalendar,
    days: &BTreeSet<Day>,
) -> Result<()> {
    let known = days.iter().filter_map(|day| Some((day, calendar.get(*day)?)));
    let rows = known.map(|(day, capacity)| ActiveModel {
        resource_group: Set(group.to_owned()),
        day: Set(day.0),
        source: Set(capacity.source.as_str().to_owned()),
        integral: Set(capacity.integral.to_json()),
        observed_micros: Set(capacity.observed_micros.cast_signed()),
        observed_from: Set(capacity.observed_from.map(Timestamp::micros)),
        capacity: Set(capacity.capacity.to_json()),
    });
    let mut replace = OnConflict::columns([Column::ResourceGroup, Column::Day]);
    let observed = [Column::Integral, Column::ObservedMicros, Column::ObservedFrom, Column::Capacity];
    replace.update_columns(observed.into_iter().chain([Column::Source]));
    bulk::insert(db, rows, Some(replace)).await?;
    Ok(())
}
