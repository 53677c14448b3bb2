//! Kinds of slices: the values that many records share, namely the dimensions of their usage and the slots that were held.
//! Each kind is stored once, and records have its number.

use std::collections::BTreeMap;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::decode::{DimensionsDecoder, SlotDecoder};
use super::entity::slice_kind::{ActiveModel, Column, Entity};
use super::retention::remove_some;
use super::{Result, bulk};
use crate::domain::decimal::Amount;
use crate::domain::ids::GroupKey;
use crate::domain::maps::FastMap;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Day;
use crate::domain::usage_dimensions::UsageDimensions;

/// The most kinds of one group that are in memory. A kind that is not in memory may be stored a second time, which does no
/// harm.
const MAX_KINDS_IN_MEMORY: usize = 50_000;

/// The kinds of one group, and those among them that have to be stored.
#[derive(Clone, Debug, Default)]
pub struct SliceKinds {
    known: FastMap<UsageDimensions, FastMap<SlotAmounts, SliceKind>>,
    count: usize,
    /// The number of the last kind.
    last: i32,
    /// The kinds that have to be stored, by number.
    unsaved: BTreeMap<i32, (UsageDimensions, SlotAmounts, Day)>,
}

#[derive(Clone, Copy, Debug)]
struct SliceKind {
    number: i32,
    used_on: Day,
}

impl SliceKinds {
    /// Loads the most recent kinds; `last` is the number of the last one.
    #[tracing::instrument(name = "db.slice_kinds.load", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
    pub async fn load(db: &impl ConnectionTrait, group: GroupKey, last: i32) -> Result<Self> {
        let (mut slots, mut dimensions) = (SlotDecoder::<Amount>::new(), DimensionsDecoder::default());
        let mut kinds = Self { last, ..Self::default() };
        let rows = Entity::find()
            .filter(Column::GroupKey.eq(group.0))
            .order_by_desc(Column::Kind)
            .limit(MAX_KINDS_IN_MEMORY as u64)
            .all(db)
            .await?;
        for row in rows {
            let kind = SliceKind { number: row.kind, used_on: Day(row.used_on) };
            kinds.remember_kind(
                &dimensions.decode(&row.domain_name, &row.charge_class),
                &*slots.decode(&row.slots)?,
                kind,
            );
        }
        Ok(kinds)
    }

    fn remember_kind(&mut self, dimensions: &UsageDimensions, slots: &SlotAmounts, kind: SliceKind) {
        if self.count >= MAX_KINDS_IN_MEMORY {
            self.known.clear();
            self.count = 0;
        }
        let those = self.known.entry(dimensions.clone()).or_default();
        self.count += usize::from(those.insert(slots.clone(), kind).is_none());
    }

    /// The number of the last kind.
    pub fn last(&self) -> i32 {
        self.last
    }

    /// The number of a kind that is used on `day`.
    pub fn number(&mut self, dimensions: &UsageDimensions, slots: &SlotAmounts, day: Day) -> i32 {
        let known = self.known.get_mut(dimensions).and_then(|kinds| kinds.get_mut(slots));
        let number = match known {
            Some(kind) if kind.used_on >= day => return kind.number,
            Some(kind) => {
                kind.used_on = day;
                kind.number
            }
            None => {
                self.last += 1;
                self.remember_kind(dimensions, slots, SliceKind { number: self.last, used_on: day });
                self.last
            }
        };
        self.unsaved.insert(number, (dimensions.clone(), slots.clone(), day));
        number
    }

    /// Stores new kinds, and the last days of use of others.
    #[tracing::instrument(name = "db.slice_kinds.save", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
    pub async fn save(&mut self, db: &impl ConnectionTrait, group: GroupKey) -> Result<()> {
        let unsaved = std::mem::take(&mut self.unsaved);
        let rows = unsaved.iter().map(|(number, (dimensions, slots, used_on))| ActiveModel {
            group_key: Set(group.0),
            kind: Set(*number),
            used_on: Set(used_on.0),
            domain_name: Set(dimensions.domain.to_string()),
            charge_class: Set(dimensions.charge_class.to_string()),
            slots: Set(slots.to_json()),
        });
        let mut again = OnConflict::columns([Column::GroupKey, Column::Kind]);
        again.update_column(Column::UsedOn);
        bulk::insert(db, rows, Some(again)).await?;
        Ok(())
    }

    /// Forgets the kinds that were last used before `day`.
    pub fn forget_before(&mut self, day: Day) {
        for kinds in self.known.values_mut() {
            kinds.retain(|_, kind| kind.used_on >= day);
        }
        self.count = self.known.values().map(FastMap::len).sum();
    }
}

/// Removes at most `most` kinds of a group that were last used before `day`, because no record has them any more. Returns
/// their number.
#[tracing::instrument(name = "db.slice_kinds.purge", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, group: GroupKey, day: Day, most: u64) -> Result<u64> {
    let old = Entity::find().filter(Column::GroupKey.eq(group.0)).filter(Column::UsedOn.lt(day.0));
    remove_some(db, old, most).await
}
