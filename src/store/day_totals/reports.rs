//! Day totals of several groups as reports read them: one by one, those of runs and those of whole histories alike.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use futures::TryStreamExt;
use hashbrown::HashSet;
use sea_orm::sea_query::{Condition, Expr, ExprTrait, Order, SelectStatement, UnionType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Select, StreamTrait,
};
use uuid::Uuid;

use super::{Place, RECORDED, member};
use crate::domain::ids::{GroupKey, ProjectId, UserId};
use crate::domain::slots::Usages;
use crate::domain::time::Day;
use crate::store::entity::{bucket_total, day_total};
use crate::store::{Result, StoreError, bulk, decode};

/// Totals between which other tasks of the thread get their turn.
const TOTALS_BETWEEN_YIELDS: usize = 500;

/// Which totals are wanted. Both days are included.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub groups: Vec<GroupKey>,
    pub from: Day,
    pub to: Day,
    /// The domain that the usage counted for.
    pub domain: Option<Arc<str>>,
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

/// The columns of what reports read.
struct Columns<C> {
    group: C,
    day: C,
    user: C,
    project: C,
    domain: C,
}

impl Wanted {
    fn condition<C: ColumnTrait>(&self, db: &impl ConnectionTrait, columns: &Columns<C>) -> Condition {
        let Columns { group, day, user, project, domain } = columns;
        // Of one user the days are looked up one by one, instead of reading those of all users.
        let days = if self.user.is_some() {
            bulk::one_of(db, *day, self.from.0..=self.to.0)
        } else {
            day.between(self.from.0, self.to.0)
        };
        Condition::all()
            .add(group.is_in(self.groups.iter().map(|group| group.0)))
            .add(days)
            .add_option(self.domain.as_deref().map(|wanted| domain.eq(wanted)))
            .add_option(self.user.map(|wanted| user.eq(wanted.0)))
            .add_option(self.project.map(|wanted| project.eq(wanted.0)))
    }

    /// The lines of each group and day: of rows, and then of totals that buckets tell.
    fn lines(&self, db: &impl ConnectionTrait) -> SelectStatement {
        let rows = {
            use day_total::{Column, Entity};
            let columns = Columns {
                group: Column::GroupKey,
                day: Column::Day,
                user: Column::UserUuid,
                project: Column::ProjectId,
                domain: Column::DomainName,
            };
            let whole = Expr::cust(
                "source IN (SELECT h.source FROM usage_histories h WHERE h.group_key = day_totals.group_key AND h.complete)",
            );
            let condition = self.condition(db, &columns).add(Column::Source.eq(RECORDED).or(whole));
            lines(db, Entity::find().filter(condition), &columns)
        };
        let by_buckets = {
            use bucket_total::{Column, Entity};
            let columns = Columns {
                group: Column::GroupKey,
                day: Column::Day,
                user: Column::UserUuid,
                project: Column::ProjectId,
                domain: Column::DomainName,
            };
            lines(db, Entity::find().filter(self.condition(db, &columns)), &columns)
        };
        // Each part comes in this order from an index, so they only need to be merged.
        let mut all = rows;
        all.union(UnionType::All, by_buckets).order_by("group_key", Order::Asc).order_by("day", Order::Asc).to_owned()
    }
}

/// All places of each group and day as lines of one text: user, project, usage and domain, with tabs between them, which no name
/// has. A driver takes longer to hand over a row than the database takes to read ten.
fn lines<E: EntityTrait>(db: &impl ConnectionTrait, which: Select<E>, columns: &Columns<E::Column>) -> SelectStatement {
    let lines = Expr::cust(match db.get_database_backend() {
        DbBackend::Postgres => {
            r"string_agg(user_uuid || E'\t' || project_id || E'\t' || resource_usage || E'\t' || domain_name, E'\n')"
        }
        _ => {
            "string_agg(hex(user_uuid) || char(9) || hex(project_id) || char(9) || resource_usage || char(9) || \
             domain_name, char(10))"
        }
    });
    let days = which.select_only().columns([columns.group, columns.day]).expr(lines);
    days.group_by(columns.group).group_by(columns.day).into_query()
}

/// Gives the totals to `each`, by group and then by day, until it has enough.
#[tracing::instrument(name = "db.day_totals.each", level = "debug", skip_all, err(level = "debug"))]
pub async fn each(
    db: &(impl ConnectionTrait + StreamTrait),
    wanted: &Wanted,
    mut each: impl FnMut(DayTotal) -> ControlFlow<()>,
) -> Result<()> {
    let mut days = pin!(db.stream(&wanted.lines(db)).await?);
    let mut domains = Domains::default();
    let mut count: usize = 0;
    while let Some(row) = days.try_next().await? {
        let (group, day): (i32, i32) = (row.try_get_by_index(0)?, row.try_get_by_index(1)?);
        let lines: String = row.try_get_by_index(2)?;
        for line in lines.split('\n') {
            let (place, usage) = domains.read(line)?;
            if each(DayTotal { group: GroupKey(group), day: Day(day), place, usage }).is_break() {
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

/// The names of domains, which a report meets very often.
#[derive(Default)]
struct Domains(HashSet<Arc<str>>);

impl Domains {
    fn read(&mut self, line: &str) -> Result<(Place, Usages)> {
        let damaged = || StoreError::Damaged(format!("the day total {line}"));
        let mut parts = line.split('\t');
        let mut next = || parts.next().ok_or_else(damaged);
        let (user, project, usage, domain) = (next()?, next()?, next()?, next()?);
        let id = |text: &str| text.parse::<Uuid>().map_err(|_| damaged());
        let domain = Arc::clone(self.0.get_or_insert_with(domain, |name| Arc::from(name)));
        Ok(((member(id(user)?, id(project)?), domain), decode::slots(usage)?))
    }
}
