//! What many records have in common: for which domain they count, and what was held. It is stored once, and records have its
//! number.

use std::sync::Arc;

use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::decode::SlotDecoder;
use super::entity::slice_kind::{ActiveModel, Column, Entity};
use super::{Result, bulk};
use crate::domain::decimal::Amount;
use crate::domain::ids::GroupKey;
use crate::domain::maps::FastMap;
use crate::domain::slots::Amounts;
use crate::domain::time::Day;

/// Kinds of one group that are in memory at the same time. One that is not may be stored a second time, which does no harm.
const MOST_KNOWN: usize = 50_000;

/// The kinds of one group, and what of them has to be stored.
#[derive(Clone, Debug, Default)]
pub struct SliceKinds {
    known: FastMap<Arc<str>, FastMap<Amounts, Kind>>,
    count: usize,
    unsaved: Vec<(Arc<str>, Amounts, Kind)>,
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    number: i32,
    used_on: Day,
}

impl SliceKinds {
    /// The kinds that were made last.
    #[tracing::instrument(name = "db.slice_kinds.load", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
    pub async fn load(db: &impl ConnectionTrait, group: GroupKey) -> Result<Self> {
        let mut slots = SlotDecoder::<Amount>::new();
        let mut kinds = Self::default();
        let rows = Entity::find()
            .filter(Column::GroupKey.eq(group.0))
            .order_by_desc(Column::Kind)
            .limit(MOST_KNOWN as u64)
            .all(db)
            .await?;
        for row in rows {
            let kind = Kind { number: row.kind, used_on: Day(row.used_on) };
            kinds.know(&Arc::from(row.domain_name), &*slots.decode(&row.slots)?, kind);
        }
        Ok(kinds)
    }

    fn know(&mut self, domain: &Arc<str>, slots: &Amounts, kind: Kind) {
        if self.count >= MOST_KNOWN {
            self.known.clear();
            self.count = 0;
        }
        let of_domain = self.known.entry(Arc::clone(domain)).or_default();
        self.count += usize::from(of_domain.insert(slots.clone(), kind).is_none());
    }

    /// The number of a kind that is used on `day`. A new one gets the number after `last`.
    pub fn number(&mut self, domain: &Arc<str>, slots: &Amounts, day: Day, last: &mut i32) -> i32 {
        let known = self.known.get_mut(domain).and_then(|kinds| kinds.get_mut(slots));
        let kind = match known {
            Some(kind) if kind.used_on >= day => return kind.number,
            Some(kind) => {
                kind.used_on = day;
                *kind
            }
            None => {
                *last += 1;
                let kind = Kind { number: *last, used_on: day };
                self.know(domain, slots, kind);
                kind
            }
        };
        self.unsaved.push((Arc::clone(domain), slots.clone(), kind));
        kind.number
    }

    /// Stores what is new, and when it was last used.
    #[tracing::instrument(name = "db.slice_kinds.save", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
    pub async fn save(&mut self, db: &impl ConnectionTrait, group: GroupKey) -> Result<()> {
        let mut unsaved = std::mem::take(&mut self.unsaved);
        // The last word on each counts: it names the latest day.
        unsaved.reverse();
        unsaved.sort_by_key(|(_, _, kind)| kind.number);
        unsaved.dedup_by_key(|(_, _, kind)| kind.number);
        let rows = unsaved.iter().map(|(domain, slots, kind)| ActiveModel {
            group_key: Set(group.0),
            kind: Set(kind.number),
            used_on: Set(kind.used_on.0),
            domain_name: Set(domain.to_string()),
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

/// Removes the kinds of a group that were last used before `day`, as no record has them any more.
#[tracing::instrument(name = "db.slice_kinds.purge", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn purge(db: &impl ConnectionTrait, group: GroupKey, day: Day) -> Result<()> {
    Entity::delete_many().filter(Column::GroupKey.eq(group.0)).filter(Column::UsedOn.lt(day.0)).exec(db).await?;
    Ok(())
}
