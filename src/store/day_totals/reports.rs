//! Day totals of several groups for reports: read one by one, those of runs and those of complete histories alike.

use std::ops::ControlFlow;
use std::sync::Arc;

use futures::TryStreamExt;
use sea_orm::sea_query::{Condition, Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QueryOrder, QuerySelect, StreamTrait,
};
use uuid::Uuid;

use super::{MemberDomain, RECORDED, member};
use crate::domain::ids::{GroupKey, ProjectId, UserId};
use crate::domain::slots::SlotUsages;
use crate::domain::time::Day;
use crate::store::decode::{self, DimensionsDecoder};
use crate::store::entity::day_total::{Column, Entity};
use crate::store::entity::resource_group;
use crate::store::{Result, StoreError, bulk};

/// Totals between which the task yields.
const TOTALS_BETWEEN_YIELDS: usize = 500;

/// The conditions of the totals. Both days are included.
#[derive(Clone, Debug)]
pub struct TotalsQuery {
    pub groups: Vec<GroupKey>,
    pub from: Day,
    pub to: Day,
    /// The domain that the usage counted for.
    pub domain: Option<Arc<str>>,
    /// The charge class that the usage was recorded with; empty: none.
    pub charge_class: Option<Arc<str>>,
    pub user: Option<UserId>,
    pub project: Option<ProjectId>,
}

/// The usage of one place on one day.
pub struct DayTotal {
    pub group: GroupKey,
    pub day: Day,
    pub place: MemberDomain,
    pub usage: SlotUsages,
}

impl TotalsQuery {
    fn keys(&self) -> impl Iterator<Item = i32> {
        self.groups.iter().map(|group| group.0)
    }

    async fn condition(&self, db: &impl ConnectionTrait) -> Result<Condition> {
        let complete = Expr::cust(
            "source IN (SELECT h.source FROM usage_histories h WHERE h.group_key = day_totals.group_key AND h.complete)",
        );
        Ok(Condition::all()
            .add(Column::GroupKey.is_in(self.keys()))
            .add(self.days(db).await?)
            .add_option(self.domain.as_deref().map(|wanted| Column::DomainName.eq(wanted)))
            .add_option(self.charge_class.as_deref().map(|wanted| Column::ChargeClass.eq(wanted)))
            .add_option(self.user.map(|wanted| Column::UserUuid.eq(wanted.0)))
            .add_option(self.project.map(|wanted| Column::ProjectId.eq(wanted.0)))
            .add(Column::Source.eq(RECORDED).or(complete)))
    }

    /// The condition on days. For a single user the days are looked up one by one, from the first one with a total on,
    /// because a range would read the totals of all users.
    async fn days(&self, db: &impl ConnectionTrait) -> Result<Expr> {
        if self.user.is_none() {
            return Ok(Column::Day.between(self.from.0, self.to.0));
        }
        let first = "(SELECT MIN(t.day) FROM day_totals t WHERE t.group_key = resource_groups.group_key)";
        let firsts = resource_group::Entity::find()
            .select_only()
            .expr(Expr::cust(first))
            .filter(resource_group::Column::GroupKey.is_in(self.keys()));
        let firsts: Vec<Option<i32>> = firsts.into_tuple().all(db).await?;
        let first = firsts.into_iter().flatten().min().map_or(self.to, Day).max(self.from);
        Ok(bulk::one_of(db, Column::Day, first.0..=self.to.0))
    }
}

/// All totals of one group and day as lines of one text: user, project, usage, domain and charge class, with tabs between
/// them, which no name contains. A driver takes longer to pass on one row than the database takes to read ten.
fn lines(backend: DbBackend) -> Expr {
    Expr::cust(match backend {
        DbBackend::Postgres => {
            r"string_agg(user_uuid || E'\t' || project_id || E'\t' || resource_usage || E'\t' || domain_name || E'\t' || charge_class, E'\n')"
        }
        _ => {
            "string_agg(hex(user_uuid) || char(9) || hex(project_id) || char(9) || resource_usage || char(9) || \
             domain_name || char(9) || charge_class, char(10))"
        }
    })
}

/// Passes the totals to `visit`, by group and then by day, until it returns `Break`. All are as of one moment, and those of
/// one day are in memory at a time.
#[tracing::instrument(name = "db.day_totals.each", level = "debug", skip_all, err(level = "debug"))]
pub async fn for_each_total(
    db: &(impl ConnectionTrait + StreamTrait),
    wanted: &TotalsQuery,
    mut visit: impl FnMut(DayTotal) -> ControlFlow<()>,
) -> Result<()> {
    let mut days = Entity::find()
        .select_only()
        .columns([Column::GroupKey, Column::Day])
        .expr(lines(ConnectionTrait::get_database_backend(db)))
        .filter(wanted.condition(db).await?)
        .group_by(Column::GroupKey)
        .group_by(Column::Day)
        .order_by_asc(Column::GroupKey)
        .order_by_asc(Column::Day)
        .into_tuple::<(i32, i32, String)>()
        .stream(db)
        .await?;
    let mut dimensions = DimensionsDecoder::default();
    let mut count: usize = 0;
    while let Some((group, day, lines)) = days.try_next().await? {
        for line in lines.lines() {
            let (place, usage) = read(line, &mut dimensions)?;
            if visit(DayTotal { group: GroupKey(group), day: Day(day), place, usage }).is_break() {
                return Ok(());
            }
            count += 1;
            if count.is_multiple_of(TOTALS_BETWEEN_YIELDS) {
                tokio::task::yield_now().await;
            }
        }
    }
    Ok(())
}

fn read(line: &str, dimensions: &mut DimensionsDecoder) -> Result<(MemberDomain, SlotUsages)> {
    let damaged = || StoreError::Damaged(format!("the day total {line}"));
    let mut columns = line.split('\t');
    let mut next = || columns.next().ok_or_else(damaged);
    let (user, project, usage, domain, class) = (next()?, next()?, next()?, next()?, next()?);
    let id = |text: &str| text.parse::<Uuid>().map_err(|_| damaged());
    Ok(((member(id(user)?, id(project)?), dimensions.decode(domain, class)), decode::slots(usage)?))
}
