//! Day totals of several groups as reports read them: one by one, those of runs and those of whole histories alike.

use std::ops::ControlFlow;
use std::sync::Arc;

use futures::TryStreamExt;
use hashbrown::HashSet;
use sea_orm::sea_query::{Condition, Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, StreamTrait};
use uuid::Uuid;

use super::{Place, RECORDED, member};
use crate::domain::ids::{GroupKey, ProjectId, UserId};
use crate::domain::slots::Usages;
use crate::domain::time::Day;
use crate::store::entity::day_total::{Column, Entity};
use crate::store::{Result, bulk, decode};

/// Totals between which other tasks of the thread get their turn.
const TOTALS_BETWEEN_YIELDS: usize = 500;

/// Which totals are wanted. Both days are included.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub groups: Vec<GroupKey>,
    pub from: Day,
    pub to: Day,
    pub user: Option<UserId>,
    pub project: Option<ProjectId>,
}

/// What counts of one place on one day.
pub struct DayTotal {
    pub group: GroupKey,
    pub day: Day,
    pub place: Place,
    pub usage: Usages,
}

impl Wanted {
    fn condition(&self, db: &impl ConnectionTrait) -> Condition {
        // Of one user the days are looked up one by one, instead of reading those of all users.
        let days = if self.user.is_some() {
            bulk::one_of(db, Column::Day, self.from.0..=self.to.0)
        } else {
            Column::Day.between(self.from.0, self.to.0)
        };
        let whole = Expr::cust(
            "source IN (SELECT h.source FROM usage_histories h WHERE h.group_key = day_totals.group_key AND h.complete)",
        );
        Condition::all()
            .add(Column::GroupKey.is_in(self.groups.iter().map(|group| group.0)))
            .add(days)
            .add_option(self.user.map(|user| Column::UserUuid.eq(user.0)))
            .add_option(self.project.map(|project| Column::ProjectId.eq(project.0)))
            .add(Column::Source.eq(RECORDED).or(whole))
    }
}

/// Gives the totals to `each`, by group and then by day, until it has enough.
#[tracing::instrument(name = "db.day_totals.each", level = "debug", skip_all, err(level = "debug"))]
pub async fn each(
    db: &(impl ConnectionTrait + StreamTrait),
    wanted: &Wanted,
    mut each: impl FnMut(DayTotal) -> ControlFlow<()>,
) -> Result<()> {
    type Row = (i32, i32, Uuid, Uuid, String, String);
    let mut rows = Entity::find()
        .select_only()
        .columns([
            Column::GroupKey,
            Column::Day,
            Column::UserUuid,
            Column::ProjectId,
            Column::DomainName,
            Column::ResourceUsage,
        ])
        .filter(wanted.condition(db))
        .order_by_asc(Column::GroupKey)
        .order_by_asc(Column::Day)
        .into_tuple::<Row>()
        .stream(db)
        .await?;
    let mut domains: HashSet<Arc<str>> = HashSet::new();
    let mut count: usize = 0;
    while let Some((group, day, user, project, domain, usage)) = rows.try_next().await? {
        let domain = Arc::clone(domains.get_or_insert_with(domain.as_str(), |name| Arc::from(name)));
        let place = (member(user, project), domain);
        let total = DayTotal { group: GroupKey(group), day: Day(day), place, usage: decode::slots(&usage)? };
        if each(total).is_break() {
            return Ok(());
        }
        count += 1;
        if count.is_multiple_of(TOTALS_BETWEEN_YIELDS) {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}
